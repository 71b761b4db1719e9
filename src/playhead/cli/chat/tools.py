"""The tools that a chat offers its model: those for the tape, those for large results, and those that the command names."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib import import_module
from typing import Any

from playhead.agent.tape_tools import tape_tools
from playhead.agent.tools import Tool
from playhead.errors import InvalidInput

RESET = "tape.reset"
"""The tool that removes what cannot be had again, and so is put before the user."""

AnyTool = Tool | Callable[..., Any]


def offered(args: Namespace) -> tuple[AnyTool, ...]:
    """Return the tools that the arguments mean, but those of sidecars. Raises InvalidInput for a name that leads to none."""
    own = () if args.bare else tuple(replace(tool, needs_approval=True) if tool.name == RESET else tool for tool in tape_tools())
    return (*own, *(tool for named in args.tools for tool in named_tools(named)))


def named_tools(named: str) -> tuple[AnyTool, ...]:
    """Return the tools behind MODULE:NAME, a tool or several; modules are looked for in the folder, too. Raises InvalidInput."""
    module, _, name = named.partition(":")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as exc:
        raise InvalidInput(f"The tools {named} cannot be loaded: {type(exc).__name__}: {exc}; name a module that Python finds from here, and a function or a list of functions in it.") from exc
    if isinstance(found, Tool) or callable(found):
        return (found,)
    if isinstance(found, Iterable) and not isinstance(found, str | bytes) and (several := tuple(found)) and all(isinstance(one, Tool) or callable(one) for one in several):
        return several
    raise InvalidInput(f"{named} is no tool: it is a {type(found).__name__}, not a function, a tool, or a list of these.")
