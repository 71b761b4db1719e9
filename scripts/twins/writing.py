"""Writing the modules of the blocking twins from the table and from the source of what they are twins of."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from scripts.twins.imports import Imports, call
from scripts.twins.page import BY_NAME, PACKAGE, Page
from scripts.twins.source import Read, found, function, homes, knows, methods
from scripts.twins.table import FUNCTIONS, OPENINGS, PAGES, SCOPES, TWINS, Twin

NOTE = "# Written by `python -m scripts.twins` from the table there and from the source of the async names."
HELPERS = {"portal": ["wait"], "scope": ["Scope"]}
INIT = '''"""{doc}"""

{note}

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
{shown}
__all__ = [
{listed}]

_HOME_OF = {{
{placed}}}

if not TYPE_CHECKING:  # a checker that sees it takes any misspelt name for granted

    def __getattr__(name: str) -> object:
        if name not in _HOME_OF:
            raise AttributeError(f"module 'playhead.sync' has no attribute {{name!r}}")
        value = globals()[name] = getattr(import_module(f"playhead.sync.{{_HOME_OF[name]}}"), name)
        return value


def __dir__() -> list[str]:
    return sorted({{*globals(), *__all__}})
'''
EXIT = ["self", "kind: type[BaseException] | None", "error: BaseException | None", "trace: TracebackType | None"]


def modules() -> dict[Path, str]:
    """Return the text of every module that is written, by its path below the root of the project."""
    names = dict.fromkeys(twin.module for twin in TWINS)
    texts = {name: _of_classes(name, [twin for twin in TWINS if twin.module == name]) for name in names}
    texts |= {f"{PACKAGE}.calls": _of_functions(), f"{PACKAGE}.__init__": _of_package()}
    return {Path("src", *name.split(".")).with_suffix(".py"): text for name, text in texts.items()}


def _of_package() -> str:
    """Return the module that makes the names of all others its own, each when it is first used."""
    homes: dict[str, list[str]] = {"calls": [_place(place)[1] for place in FUNCTIONS], **HELPERS}
    for twin in TWINS:
        package, _, module = twin.module.rpartition(".")
        if package == PACKAGE:
            homes.setdefault(module, []).append(twin.name)
    shown = Imports(indent=4)
    for module, names in homes.items():
        for name in names:
            shown.add(f"{PACKAGE}.{module}", name)
    listed = "".join(f'    "{name}",\n' for name in sorted((name for names in homes.values() for name in names), key=lambda name: (name[0].islower(), name)))
    placed = "".join(f'    "{name}": "{module}",\n' for module in sorted(homes) for name in sorted(homes[module]))
    return INIT.format(doc=PAGES[f"{PACKAGE}.__init__"], note=NOTE, shown=f"{shown.lines()}\n", listed=listed, placed=placed)


def _of_classes(name: str, twins: list[Twin]) -> str:
    page = Page(name=name)
    classes = ["\n".join(_class(page, twin)) for twin in twins]
    return "\n\n\n".join([_top(page), *classes]) + "\n"


def _of_functions() -> str:
    page = Page(name=f"{PACKAGE}.calls")
    written = [_function(page, place) for place in FUNCTIONS]
    return "\n\n\n".join([_top(page), *written]) + "\n"


def _function(page: Page, place: str) -> str:
    read = function(place)
    target = page.imports.add(*_place(place), f"async_{read.name}")
    head = call(f"def {read.name}", page.parameters(read, first=None), indent=0, end=f") -> {page.returned(read.node.returns, read.module)}:")
    body = page.body(read, target, page.arguments(read, is_method=False), indent=4, way="wait" if read.waits else "plain")
    return "\n".join([head, docstring(spoken(read.doc), indent=4), body])


def _top(page: Page) -> str:
    return f'"""{PAGES[page.name]}"""\n\n{NOTE}\n\n{page.imports}'


def _class(page: Page, twin: Twin) -> Iterator[str]:
    """Yield the parts of a class, between which a line is empty."""
    module, name = found(twin.source)
    original = page.imports.add(module.__name__, name, twin.alias)
    parent = BY_NAME[twin.parent] if twin.parent else None
    known = methods(twin.source, above=getattr(*found(parent.source)) if parent else None)
    for place in twin.uses:
        page.imports.add(*_place(place))
    yield f"class {twin.name}{f'({parent.name})' if parent else ''}:"
    yield docstring(twin.doc, indent=4)
    yield f"\n    asynchronous: {original}"
    if parent is None:
        yield from _making(page, twin, known, original)
    yield from _blocks(page, twin, known)
    for attribute, kind, doc in twin.attributes:
        yield _attribute(page, twin, attribute, kind, doc)
    for method, read in known.items():
        if not method.startswith("_") and method not in twin.without:
            yield _method(page, twin, read)


def _making(page: Page, twin: Twin, known: dict[str, Read], original: str) -> Iterator[str]:
    if twin.made:
        made = known["__init__"]
        yield "\n" + call("def __init__", page.parameters(made, first="self"), indent=4, end=") -> None:")
        yield call(f"self.asynchronous = {original}", page.arguments(made, is_method=True), indent=8)
        if not twin.both:
            yield from _of(page, twin, original)
    else:
        yield f"\n    def __init__(self, asynchronous: {original}) -> None:\n        self.asynchronous = asynchronous"
    yield "\n    def __repr__(self) -> str:\n        return repr(self.asynchronous)"


def _of(page: Page, twin: Twin, original: str) -> Iterator[str]:
    page.imports.add("typing", "Self")
    children = [child for child in TWINS if child.parent == twin.name]
    also = "".join(f"; of a {child.name.lower()}, a `{child.name}`" for child in children)
    yield f'\n    @classmethod\n    def of(cls, asynchronous: {original}) -> Self:\n        """Return the twin of what is there already{also}."""'
    if children:
        page.imports.add("typing", "Any")
        (child,) = children
        yield f"        kind: Any = {child.name} if isinstance(asynchronous, {child.alias}) else cls"
    yield f"        twin: Self = {'kind.__new__(kind)' if children else 'cls.__new__(cls)'}\n        twin.asynchronous = asynchronous\n        return twin"


def _blocks(page: Page, twin: Twin, known: dict[str, Read]) -> Iterator[str]:
    """Yield what makes it a block and an iterator, where the original is one."""
    if "__enter__" in twin.bodies or ("__aenter__" in known):
        page.imports.add("typing", "Self")
        page.imports.add("types", "TracebackType")
        yield "\n    def __enter__(self) -> Self:"
        yield twin.bodies["__enter__"][1] if "__enter__" in twin.bodies else f"        {page.use('entered', f'{PACKAGE}.scope')}(self.asynchronous)\n        return self"
        yield "\n" + call("def __exit__", EXIT, indent=4, end=") -> None:")
        yield twin.bodies["__exit__"][1] if "__exit__" in twin.bodies else f"        {page.use('wait', f'{PACKAGE}.portal')}(self.asynchronous.__aexit__, kind, error, trace)"
    if twin.both and "__aenter__" in known:
        yield "\n    async def __aenter__(self) -> Self:\n        await self.asynchronous.__aenter__()\n        return self"
        yield "\n" + call("async def __aexit__", EXIT, indent=4, end=") -> None:") + "\n        await self.asynchronous.__aexit__(kind, error, trace)"
    if "__anext__" in known:
        item = page.returned(known["__anext__"].node.returns, known["__anext__"].module)
        yield f"\n    def __iter__(self) -> {page.imports.add('collections.abc', 'Iterator')}[{item}]:\n        return self"
        yield f"\n    def __next__(self) -> {item}:\n        return {page.use('one', f'{PACKAGE}.scope')}(self.asynchronous)"
    elif "__aiter__" in known:
        told, size = page.returned(known["__aiter__"].node.returns, known["__aiter__"].module), _size(page, twin, "__aiter__")
        yield f"\n    def __iter__(self) -> {told}:\n" + call(f"return {page.use('each', f'{PACKAGE}.scope')}", ["aiter(self.asynchronous)", *([f"at_a_time={size}"] if size else [])], indent=8)


def _attribute(page: Page, twin: Twin, name: str, kind: str, doc: str) -> str:
    node = ast.parse(kind, mode="eval").body
    module = next(home for home in homes(twin.source) if all(knows(home, used.id) for used in ast.walk(node) if isinstance(used, ast.Name)))
    is_twin = kind in BY_NAME
    told, value = (page.twin(kind), f"{BY_NAME[kind].maker}(self.asynchronous.{name})") if is_twin else (page.value(node, module), f"self.asynchronous.{name}")
    return f'\n    @property\n    def {name}(self) -> {told}:\n        """{doc}"""\n        return {value}'


def _method(page: Page, twin: Twin, read: Read) -> str:
    """Return a method or property, and its async form where the twin has both."""
    way = way_of(read, twin)
    if way == "property":
        return "\n".join(_property(page, twin, read))
    if way == "setter":
        return f"\n    @{read.name}.setter\n" + call(f"def {read.name}", page.parameters(read, first="self"), indent=4, end=") -> None:") + f"\n        self.asynchronous.{read.name} = {read.name}"
    arguments = page.arguments(read, is_method=True)
    returned, body = _given_body(page, twin, read) if read.name in twin.bodies else _followed(page, twin, read, way)
    head = "\n    @classmethod\n" if way == "opened" else "\n"
    name, other = twin.names.get(read.name, (read.name, f"{read.name}_async"))
    whole = head + _signed(page, read, name, returned, first="cls" if way == "opened" else "self", said=spoken(read.doc)) + f"\n{body}"
    if not (twin.both and read.waits):
        return whole
    also = "" if page.value(read.node.returns, read.module) == "None" else "return "
    form = _signed(page, read, other, page.value(read.node.returns, read.module), first="self", said=read.doc, start="async def")
    return f"{whole}\n\n{form}\n" + call(f"{also}await self.asynchronous.{read.name}", arguments, indent=8)


def _followed(page: Page, twin: Twin, read: Read, way: str) -> tuple[str, str]:
    """Return what a method returns, and its lines, as they follow from its async form."""
    returned = page.returned(read.node.returns, read.module)
    if "asynccontextmanager" in read.decorators:
        returned = f"{page.use('Scope', f'{PACKAGE}.scope')}[{returned.partition('[')[2]}"
    target = f"{twin.alias if way == 'opened' else 'self.asynchronous'}.{read.name}"
    return returned, page.body(read, target, page.arguments(read, is_method=True), indent=8, way=way, size=_size(page, twin, read.name))


def _signed(page: Page, read: Read, name: str, returned: str, *, first: str, said: str, start: str = "def") -> str:
    """Return the head of a method with its docstring."""
    return call(f"{start} {name}", page.parameters(read, first=first), indent=4, end=f") -> {returned}:") + f"\n{docstring(said, indent=8)}"


def _given_body(page: Page, twin: Twin, read: Read) -> tuple[str, str]:
    annotation, body = twin.bodies[read.name]
    used = [place for place in twin.uses if place.endswith(f":{annotation}")]
    return (annotation if used else page.returned(ast.parse(annotation, mode="eval").body, read.module)), body


def _property(page: Page, twin: Twin, read: Read) -> Iterator[str]:
    maker = page.maker(read) if read.name not in twin.bodies else ""
    if read.name in twin.bodies:
        returned, body = _given_body(page, twin, read)
    else:
        returned = page.returned(read.node.returns, read.module)
        body = f"        return {maker}(self.asynchronous.{read.name})" if maker else f"        return self.asynchronous.{read.name}"
    yield f"\n    @property\n    def {read.name}(self) -> {returned}:\n{docstring(spoken(read.doc), indent=8)}\n{body}"
    if twin.both and maker is not None:
        original = page.value(read.node.returns, read.module)
        yield f"\n    @property\n    def {read.name}_async(self) -> {original}:\n{docstring(read.doc, indent=8)}\n        return self.asynchronous.{read.name}"


def _place(place: str) -> tuple[str, str]:
    """Return the module and the name of a place such as `playhead.tape.tape:Tape`."""
    module, _, name = place.partition(":")
    return module, name


def _size(page: Page, twin: Twin, name: str) -> str | None:
    """Return how many items of an iterator are read at a time, where that is said."""
    size = twin.pages.get(name)
    return page.imports.add(*_place(size)) if size is not None and ":" in size else size


def way_of(read: Read, twin: Twin) -> str:
    """Return how a method becomes a blocking one."""
    named = re.match(r"\w+", ast.unparse(read.node.returns)) if read.node.returns is not None else None
    head = named[0] if named else ""
    if "property" in read.decorators:
        return "property"
    if f"{read.name}.setter" in read.decorators:
        return "setter"
    if head in OPENINGS:
        return "opened"
    if "asynccontextmanager" in read.decorators or head in SCOPES or head == "AbstractAsyncContextManager":
        return "scope"
    if read.yields or head == "AsyncIterator":
        return "each"
    if read.waits:
        return "wait"
    return "soon" if read.name in twin.on_loop else "plain"


def spoken(text: str) -> str:
    """Return what a docstring says of the async form as one of the blocking form."""
    text = text.replace("an `async ", "a `").replace("`async ", "`").replace("async with", "with").replace("async for", "for")
    return text.replace("`await ", "`")


def docstring(text: str, *, indent: int) -> str:
    """Return a docstring with its quotes, indented."""
    space, lines, quotes = " " * indent, text.splitlines(), 'r"""' if "\\" in text else '"""'
    if len(lines) == 1:
        return f'{space}{quotes}{text}"""'
    return "\n".join([f"{space}{quotes}{lines[0]}", *(f"{space}{line}" if line else "" for line in lines[1:]), f'{space}"""'])
