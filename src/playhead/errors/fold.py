"""Errors of memory that folds."""

from __future__ import annotations

from playhead.errors.store import NotFound
from playhead.errors.value import InvalidInput


class InvalidOption(InvalidInput):
    """An option that is unknown, gone, or not built yet; `instead` says what to write in its place."""

    def __init__(self, name: str, *, instead: str) -> None:
        self.name = name
        self.instead = instead
        super().__init__(f"There is no option {name}; use {instead}.", name=name, instead=instead)


class NoCompressionModel(InvalidInput):
    """A summary is due and nobody was named to write it; set `compression_model` to the model whose memory it is, or to "extractive"."""

    def __init__(self) -> None:
        super().__init__(
            'A summary is due and no compression_model is named, so none is written. Name the model whose memory this is, such as compression_model="anthropic:claude-sonnet-4-5", or "extractive", '
            "which picks summaries from what was said, offline. Nothing is lost: what is not summarised stays as it was."
        )


class BodyNotWhole(InvalidInput):
    """A part of a long message was to be changed alone; remove the whole message and add it again."""

    def __init__(self, message: str) -> None:
        self.id = message
        super().__init__(f"Message '{message}' is a part of a long message; remove the whole of it with remove_body('{message}') and add it again.", id=message)


class ManagerClosed(InvalidInput):
    """A manager was used after its close; open another one."""

    def __init__(self) -> None:
        super().__init__("This manager is closed; open another one with ContextManager.open(...).")


class MessageNotFound(NotFound):
    """No message of that id is on the tape; ids are what add_message returned, and the uids of entries."""

    def __init__(self, message: str, *, tape: str) -> None:
        self.id = message
        self.tape = tape
        super().__init__(f"There is no message '{message}' on tape '{tape}'; a message's id is what add_message returned.", id=message, tape=tape)


class SummaryNotFound(NotFound):
    """No summary of that id stands; `search_summaries()` lists those that do."""

    def __init__(self, summary: str) -> None:
        self.id = summary
        super().__init__(f"There is no summary '{summary}'; search_summaries() lists those that stand.", id=summary)
