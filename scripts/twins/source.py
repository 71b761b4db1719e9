"""Reading what a twin is made from: the methods of a class, or a function, as their source says."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

Definition = ast.FunctionDef | ast.AsyncFunctionDef
DUNDERS = ("__init__", "__aenter__", "__aexit__", "__aiter__", "__anext__")


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A method or function: its definition, and the module that defines it, in which its names have their meaning."""

    node: Definition
    module: ModuleType

    @property
    def name(self) -> str:
        """What it is called."""
        return self.node.name

    @property
    def doc(self) -> str:
        """Its docstring."""
        return inspect.cleandoc(ast.get_docstring(self.node) or "")

    @property
    def decorators(self) -> frozenset[str]:
        """The names of what decorates it."""
        return frozenset(ast.unparse(decorator) for decorator in self.node.decorator_list)

    @property
    def waits(self) -> bool:
        """Whether it is a coroutine function."""
        return isinstance(self.node, ast.AsyncFunctionDef) and not self.yields

    @property
    def yields(self) -> bool:
        """Whether it is a generator."""
        return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for statement in self.node.body for node in _own(statement))


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what stands in a statement, without the functions that are defined in it."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield from _own(child)


def found(place: str) -> tuple[ModuleType, str]:
    """Return the module and the name of a place such as `playhead.tape.tape:Tape`."""
    module, _, name = place.partition(":")
    return import_module(module), name


def function(place: str) -> Read:
    """Return a function of a module."""
    module, name = found(place)
    return Read(node=next(node for node in _tree(module).body if isinstance(node, Definition) and node.name == name), module=module)


def methods(place: str, *, above: type | None = None) -> dict[str, Read]:
    """Return the public methods and properties of a class, those it has from others first, by name (what sets one: NAME=); without those of a class above it."""
    module, name = found(place)
    known: dict[str, Read] = {}
    for cls in reversed(getattr(module, name).__mro__):
        if not cls.__module__.startswith("playhead") or (above is not None and issubclass(above, cls)):
            continue
        home = import_module(cls.__module__)
        body = next(node for node in _tree(home).body if isinstance(node, ast.ClassDef) and node.name == cls.__name__).body
        for node in body:
            if isinstance(node, Definition) and (not node.name.startswith("_") or node.name in DUNDERS):
                read = Read(node=node, module=home)
                known[f"{node.name}=" if f"{node.name}.setter" in read.decorators else node.name] = read
    return known


def homes(place: str) -> list[ModuleType]:
    """Return the modules in which a class and those above it are defined, its own first."""
    module, name = found(place)
    return [import_module(cls.__module__) for cls in getattr(module, name).__mro__ if cls.__module__.startswith("playhead")]


def knows(module: ModuleType, name: str) -> bool:
    """Whether a name means something in a module, be it for type checkers alone."""
    return hasattr(module, name) or hasattr(builtins, name) or home_of(name, module) != (module.__name__, name)


def home_of(name: str, module: ModuleType) -> tuple[str, str] | None:
    """Return the module that a name of another module is imported from, and what it is called there; None for a builtin."""
    if not hasattr(module, name) and hasattr(builtins, name):
        return None
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return node.module, alias.name
    return module.__name__, name


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))
