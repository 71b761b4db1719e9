"""The tools of an agent, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from playhead.agent.tools import Tool, tool
from playhead.errors import InvalidTool, NotFound
from playhead.model.protocol import ToolSpec

SUGGESTED = 3
"""How many names that are like an unknown one are suggested."""


class Toolbox(Mapping[str, Tool]):
    """Tools by name, in the order given; a plain function becomes a tool.

    Raises InvalidTool for what cannot be one, and where two have one name, or one as a model sees it.
    """

    def __init__(self, tools: Iterable[Tool | Callable[..., Any]] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        self._by_model_name: dict[str, Tool] = {}
        for item in tools:
            if not callable(item):
                raise InvalidTool(str(item), "it is not a function; give functions, or what ph.tool made of them")
            added = item if isinstance(item, Tool) else tool(item)
            other = self._by_model_name.setdefault(added.model_name, added)
            if other is not added:
                taken = "another tool has that name" if added.name == other.name else f"a model would see it under the name of '{other.name}'"
                raise InvalidTool(added.name, f"{taken}; pass another name=")
            self._tools[added.name] = added

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"Toolbox({', '.join(self._tools)})"

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        """The tools as a model sees them, in order."""
        return tuple(tool.spec for tool in self._tools.values())

    def find(self, name: str) -> Tool:
        """Return the tool that a model calls by a name, or that has it. Raises NotFound, which suggests names that are like it."""
        found = self._by_model_name.get(name) or self._tools.get(name)
        if found is not None:
            return found
        alike = get_close_matches(name.lower(), {n.lower(): n for n in self._by_model_name}, n=SUGGESTED)
        suggested = [n for n in self._by_model_name if n.lower() in alike]
        hint = f" Similar names: {', '.join(sorted(suggested, key=lambda n: alike.index(n.lower())))}." if suggested else ""
        raise NotFound(f"Unknown tool name: {name}.{hint}", name=name, similar=suggested)
