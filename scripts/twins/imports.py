"""The imports of a module that is written: collected as names are used, printed in order."""

from __future__ import annotations

import sys

WIDTH = 200


class Imports:
    """What a module imports, by where it comes from."""

    def __init__(self, *, indent: int = 0) -> None:
        self._space = " " * indent
        self._names: dict[str, set[tuple[str, str]]] = {}

    def add(self, module: str, name: str, alias: str | None = None) -> str:
        """Import a name, and return what it is called here."""
        called = alias or name
        self._names.setdefault(module, set()).add((name, called))
        return called

    def __str__(self) -> str:
        local, foreign = [m for m in self._names if m.partition(".")[0] == "playhead"], [m for m in self._names if m.partition(".")[0] in sys.stdlib_module_names]
        others = [m for m in self._names if m not in local and m not in foreign]
        blocks = ["\n".join(self._lines(module) for module in sorted(group)) for group in (foreign, others, local)]
        return "\n\n".join(["from __future__ import annotations", *filter(None, blocks)])

    def lines(self) -> str:
        """Return the lines of all, those of one block."""
        return "\n".join(self._lines(module) for module in sorted(self._names))

    def _lines(self, module: str) -> str:
        ordered = sorted(self._names[module], key=lambda pair: (rank(pair[0]), pair))
        plain = [name for name, called in ordered if name == called]
        lines = [(plain[0], self._line(module, plain))] if plain else []
        lines += [(name, f"{self._space}from {module} import {name} as {called}") for name, called in ordered if name != called]
        return "\n".join(line for _, line in sorted(lines, key=lambda pair: (rank(pair[0]), pair[0])))

    def _line(self, module: str, names: list[str]) -> str:
        line = f"{self._space}from {module} import {', '.join(names)}"
        return line if len(line) <= WIDTH else f"{self._space}from {module} import (\n" + "".join(f"{self._space}    {name},\n" for name in names) + f"{self._space})"


def rank(name: str) -> int:
    """Return where a name stands: constants, then classes, then functions."""
    return 0 if name.isupper() and len(name) > 1 else 1 if name[0].isupper() else 2


def call(start: str, arguments: list[str], *, indent: int, end: str = ")") -> str:
    """Return a call or a signature on one line, or where it is too long on several."""
    return nested([start], arguments, indent=indent, end=end)


def nested(starts: list[str], arguments: list[str], *, indent: int, end: str = ")") -> str:
    """Return a call, inside of others that take nothing else, on one line or on several."""
    space, inner = " " * indent, ", ".join(arguments)
    whole = f"{space}{'('.join(starts)}({inner}{')' * (len(starts) - 1)}{end}"
    if len(whole) <= WIDTH:
        return whole
    if len(starts) > 1:
        told = nested(starts[1:], arguments, indent=indent + 4)
    elif len(f"{space}    {inner}") <= WIDTH:
        told = f"{space}    {inner}"
    else:
        told = "\n".join(f"{space}    {argument}," for argument in arguments)
    return f"{space}{starts[0]}(\n{told}\n{space}{end}"
