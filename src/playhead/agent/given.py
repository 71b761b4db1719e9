"""What an agent and its runs are given, checked before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from playhead.agent.tools import Tool
from playhead.entry.message import Media, Message, Part, ProviderItem, Text, user
from playhead.errors import InvalidInput, InvalidTool
from playhead.model.protocol import Model
from playhead.prompt.budget import Budget
from playhead.tape.tape import Branch, Tape
from playhead.view.context import TapeContext

Prompt = str | Message | Sequence[Part]

_SAID = (Text, Media, ProviderItem)


def checked_prompt(prompt: Prompt) -> Message:
    """Return what is asked as a message. Raises InvalidInput for what is not said by a user, such as calls and results."""
    message = prompt if isinstance(prompt, Message) else user(prompt)
    if message.role != "user":
        raise InvalidInput(f"A run is asked something by a user, not by role '{message.role}'; append other messages to the tape.")
    for part in message.parts:
        if not isinstance(part, _SAID):
            raise InvalidInput(f"A run is asked with words and media, not with a {type(part).__name__}; append such messages to the tape.")
    return message


def checked_tape(tape: str | Branch) -> str | Branch:
    """Return the tape of a run. Raises InvalidInput for anything but a name or a branch."""
    if isinstance(tape, (str, Branch)):
        return tape
    hint = f"; give its name, tape={tape.name!r}" if isinstance(tape, Tape) and tape.name else ""
    raise InvalidInput(f"A run takes the name of a tape, or a branch such as agent.session(NAME) yields, not {tape!r:.100}{hint}.")


def checked_state(state: dict[str, Any] | None, tape: str | Branch) -> dict[str, Any]:
    """Return the very dict that tools and context see: the given one, that of the session, or a new one. Raises InvalidInput for anything else."""
    if state is None:
        return {} if isinstance(tape, str) else tape.context.state
    if not isinstance(state, dict):
        raise InvalidInput(f"A run's state is a dict, which its tools and hooks share, not {state!r:.100}.")
    return state


def checked_model(model: str | Model) -> str | Model:
    """Return who is asked. Raises InvalidInput for anything but a spec or a model."""
    if isinstance(model, str) or (not isinstance(model, type) and isinstance(getattr(model, "name", None), str) and callable(getattr(model, "stream", None))):
        return model
    raise InvalidInput(f"A model is a spec such as 'openai:gpt-5-mini', or an object with `name`, `context_limit` and `stream(request)`, not {model!r:.100}.")


def checked_steps(steps: int | None) -> int | None:
    """Return how many steps a run may take. Raises InvalidInput for anything but a whole number from 1, and None."""
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or steps < 1):
        raise InvalidInput(f"max_steps is a whole number from 1, or None for no limit, not {steps!r}.")
    return steps


def checked_text(text: object, what: str) -> str:
    """Return a text. Raises InvalidInput, which says what it is, for anything else."""
    if not isinstance(text, str):
        raise InvalidInput(f"{what} is a text, not {text!r:.100}.")
    return text


def checked_budget(budget: Budget | None) -> Budget | None:
    """Return the budget. Raises InvalidInput for what is none."""
    if budget is not None and not isinstance(budget, Budget):
        raise InvalidInput(f"A budget is a Budget(max_tokens=..., reserve_for_response=...), not {budget!r:.100}.")
    return budget


def checked_context(context: TapeContext | None) -> TapeContext | None:
    """Return the context. Raises InvalidInput for what is none."""
    if context is not None and (isinstance(context, type) or not isinstance(context, TapeContext)):
        raise InvalidInput(f"A context is a TapeContext, such as default_tape_context() returns, not {context!r:.100}.")
    return context


def checked_call(function: object, what: str) -> Any:
    """Return a function. Raises InvalidInput, which says what it is for, for anything that cannot be called."""
    if function is not None and not callable(function):
        raise InvalidInput(f"{what}, not {function!r:.100}.")
    return cast(Any, function)


def checked_tools(tools: Iterable[Tool | Callable[..., Any]]) -> Iterable[Tool | Callable[..., Any]]:
    """Return the tools. Raises InvalidTool for what is no list of them, such as one tool alone."""
    if isinstance(tools, Iterable):
        return tools
    raise InvalidTool(getattr(tools, "name", None) or repr(tools)[:100], "tools are given as a list of functions, such as tools=[search]")
