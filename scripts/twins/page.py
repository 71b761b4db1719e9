"""A module of blocking twins that is being written: its imports, its types, and what its functions do."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from types import ModuleType

from scripts.twins.imports import Imports, call, nested
from scripts.twins.source import Read, home_of
from scripts.twins.table import ALSO, OPENINGS, SCOPES, TOLD, TWINS

PACKAGE = "playhead.sync"
BY_NAME = {twin.original: twin for twin in TWINS}
SEVERAL = ("Iterable", "Sequence")
ITERATORS = {"AsyncIterator": "Iterator", "AsyncIterable": "Iterable", "AbstractAsyncContextManager": "Scope"}


@dataclass(slots=True)
class Page:
    """A module that is being written."""

    name: str
    imports: Imports = field(default_factory=Imports)

    def use(self, name: str, module: str) -> str:
        """Import a name of ours, unless it stands here."""
        return name if module == self.name else self.imports.add(module, name)

    def twin(self, name: str) -> str:
        """Return a twin's name, imported where it stands elsewhere."""
        return self.use(BY_NAME[name].name, BY_NAME[name].module)

    def original(self, name: str, module: ModuleType) -> str:
        """Return a name of another module, imported; a class that has a twin of the same name is called Async... here."""
        home = home_of(name, module)
        if home is None:
            return name
        return self.imports.add(home[0], home[1], BY_NAME[name].alias if name in BY_NAME else name)

    # -- types

    def returned(self, node: ast.expr | None, module: ModuleType) -> str:
        """Return a return annotation as the twin has it."""
        if node is None:
            return "None"
        return _written(_Returned(self, module).visit(_copied(node)))

    def taken(self, node: ast.expr | None, module: ModuleType) -> str:
        """Return a parameter's annotation as the twin has it: where a handle is taken, its twin is."""
        if node is None:
            return "object"
        return " | ".join(part for member in _members(node) for part in self._member(member, module))

    def _member(self, node: ast.expr, module: ModuleType) -> list[str]:
        name = node.id if isinstance(node, ast.Name) else ""
        if name in TOLD:
            return [self.original(name, module), self.twin(TOLD[name])]
        if name in BY_NAME:
            return [*([self.original(name, module)] if BY_NAME[name].either else []), self.twin(name)]
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in SEVERAL:
            return [f"{self.value(node.value, module)}[{self.taken(node.slice, module)}]"]
        return [self.value(node, module)]

    def value(self, node: ast.expr | None, module: ModuleType) -> str:
        """Return an expression as it stands, with what it names imported."""
        if node is None:
            return "None"
        return _written(_Original(self, module).visit(_copied(node)))

    def is_taken(self, node: ast.expr | None) -> bool:
        """Whether a parameter may be given a twin, or several."""
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) in SEVERAL:
            return self.is_taken(node.slice)
        return node is not None and any(isinstance(member, ast.Name) and (member.id in BY_NAME or member.id in TOLD) for member in _members(node))

    # -- functions

    def parameters(self, read: Read, *, first: str | None) -> list[str]:
        """Return the parameters of a function, written out."""
        arguments, written = read.node.args, [first] if first else []
        positional = arguments.args[1:] if first else arguments.args
        defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults][-len(positional) :] if positional else []
        written += [self._parameter(a, d, read.module) for a, d in zip(positional, defaults, strict=True)]
        if arguments.vararg:
            written.append(f"*{self._parameter(arguments.vararg, None, read.module)}")
        elif arguments.kwonlyargs:
            written.append("*")
        written += [self._parameter(a, d, read.module) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
        return written + ([f"**{self._parameter(arguments.kwarg, None, read.module)}"] if arguments.kwarg else [])

    def _parameter(self, argument: ast.arg, default: ast.expr | None, module: ModuleType) -> str:
        told = f"{argument.arg}: {self.taken(argument.annotation, module)}"
        return told if default is None else f"{told} = {self.value(default, module)}"

    def arguments(self, read: Read, *, is_method: bool) -> list[str]:
        """Return what is passed on."""
        arguments = read.node.args
        passed = [self._passed(a) for a in (arguments.args[1:] if is_method else arguments.args)]
        if arguments.vararg:
            passed.append(f"*{arguments.vararg.arg}")
        passed += [f"{a.arg}={self._passed(a)}" for a in arguments.kwonlyargs]
        if is_method and arguments.kwarg and arguments.kwarg.arg == "options":  # those of a run, of which some may be twins
            passed.append(f"**{{name: {self.use('given', f'{PACKAGE}.portal')}(option) for name, option in options.items()}}")
        elif arguments.kwarg:
            passed.append(f"**{arguments.kwarg.arg}")
        return passed

    def _passed(self, argument: ast.arg) -> str:
        return f"{self.use('given', f'{PACKAGE}.portal')}({argument.arg})" if self.is_taken(argument.annotation) else argument.arg

    def body(self, read: Read, target: str, arguments: list[str], *, indent: int, way: str, size: str | None = None) -> str:
        """Return the lines of a function that does what its async form does, in a way: wait, soon, plain, each, scope or opened."""
        if way == "opened":
            return nested(["return cls.of", self.use("opened", f"{PACKAGE}.scope"), target], arguments, indent=indent)
        if way in ("each", "scope"):
            outer = self.use("each" if way == "each" else "Scope", f"{PACKAGE}.scope")
            beside = ([f"at_a_time={size}"] if size else []) if way == "each" else self._given_to_block(read)
            return call(f"return {outer}", [call(target, arguments, indent=0), *beside], indent=indent)
        if way == "soon":
            arguments = [target, *arguments]
            target = self.use("soon", f"{PACKAGE}.portal")
        start, passed = (self.use("wait", f"{PACKAGE}.portal"), [target, *arguments]) if way in ("wait", "soon") else (target, arguments)
        maker = self.maker(read)
        if maker and isinstance(read.node.returns, ast.BinOp):
            return f"{call(f'found = {start}', passed, indent=indent)}\n{' ' * indent}return None if found is None else {maker}(found)"
        if maker:
            return nested([f"return {maker}", start], passed, indent=indent)
        return call(f"{'' if self.returned(read.node.returns, read.module) == 'None' else 'return '}{start}", passed, indent=indent)

    def maker(self, read: Read) -> str | None:
        """Return what makes a twin of what a function returns, None where that has none."""
        for member in _members(read.node.returns) if read.node.returns is not None else ():
            name = ALSO.get(member.id, member.id) if isinstance(member, ast.Name) else ""
            if name in BY_NAME:
                self.twin(name)
                return BY_NAME[name].maker
        return None

    def _given_to_block(self, read: Read) -> list[str]:
        node = read.node.returns
        inner = node.slice if isinstance(node, ast.Subscript) else None
        if isinstance(node, ast.Name) and node.id in SCOPES:
            return [BY_NAME[SCOPES[node.id]].maker]
        if isinstance(inner, ast.Name) and inner.id in BY_NAME:
            return [BY_NAME[inner.id].maker]
        return [self.use("each", f"{PACKAGE}.scope")] if isinstance(inner, ast.Subscript) else []


class _Names(ast.NodeTransformer):
    def __init__(self, page: Page, module: ModuleType) -> None:
        self.page = page
        self.module = module


class _Original(_Names):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(self.page.original(node.id, self.module))


class _Returned(_Names):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in SCOPES:
            scope = self.page.use("Scope", f"{PACKAGE}.scope")
            return ast.Subscript(ast.Name(scope), ast.Name(self.page.twin(SCOPES[node.id])))
        if node.id in OPENINGS:
            return ast.Name(self.page.imports.add("typing", "Self"))
        if node.id in ITERATORS:
            told = ITERATORS[node.id]
            return ast.Name(self.page.use(told, f"{PACKAGE}.scope") if told == "Scope" else self.page.imports.add("collections.abc", told))
        name = ALSO.get(node.id, node.id)
        return ast.Name(self.page.twin(name) if name in BY_NAME else self.page.original(node.id, self.module))


def _members(node: ast.expr) -> list[ast.expr]:
    """Return the members of a union, or the one type."""
    if isinstance(node, ast.BinOp):
        return [*_members(node.left), *_members(node.right)]
    return [node]


def _written(node: ast.expr) -> str:
    """Return an expression as it is written here, texts in double quotes."""
    return re.sub(r"'([^'\"\\]*)'", r'"\1"', ast.unparse(node))


def _copied(node: ast.expr) -> ast.expr:
    return ast.parse(ast.unparse(node), mode="eval").body
