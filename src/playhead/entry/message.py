"""Messages: the neutral form of what was said, and how a message is written as an entry's payload.

docs/reference/message.md is the schema of the payloads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, cast, get_args

from playhead.entry import codec
from playhead.entry.frozen import FrozenDict, freeze, freeze_dict
from playhead.errors import InvalidInput

Role = Literal["system", "user", "assistant", "tool"]
MediaKind = Literal["image", "audio", "video", "document"]
ROLES: tuple[str, ...] = get_args(Role)
MEDIA_KINDS: tuple[str, ...] = get_args(MediaKind)
NOTHING = FrozenDict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """Words. `extra` holds, by provider, the fields of the provider's block that have no neutral form."""

    type: ClassVar[str] = "text"
    text: str
    extra: FrozenDict = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model's reasoning, bound by its signature to the provider and model that made it.

    `redacted` is the provider's opaque text where it shows no words.
    """

    type: ClassVar[str] = "thinking"
    text: str = ""
    signature: str | None = None
    redacted: str | None = None
    provider: str | None = None
    model: str | None = None
    extra: FrozenDict = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A model's request to run a tool. `id` is "" where the source had none."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    arguments: Mapping[str, Any] = NOTHING
    extra: FrozenDict = NOTHING

    def __post_init__(self) -> None:
        _check_texts(id=self.id, name=self.name)
        object.__setattr__(self, "arguments", freeze_dict(self.arguments, path="arguments"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """A picture, sound, film or document: inline base64 `data`, or a `url`, or a `ref` to where it is kept."""

    type: ClassVar[str] = "media"
    kind: MediaKind
    mime: str | None = None
    data: str | None = None
    url: str | None = None
    ref: str | None = None
    name: str | None = None
    extra: FrozenDict = NOTHING


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderItem:
    """A block that only one provider knows, kept word for word and sent to that provider alone."""

    type: ClassVar[str] = "provider"
    provider: str
    value: Mapping[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", freeze_dict(self.value, path="value"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool answered to the call `call_id`: text, or parts."""

    type: ClassVar[str] = "tool_result"
    call_id: str
    content: str | tuple[Text | Media | ProviderItem, ...] = ""
    is_error: bool = False
    name: str | None = None
    extra: FrozenDict = NOTHING

    def __post_init__(self) -> None:
        _check_texts(call_id=self.call_id, name=self.name or "")
        if not isinstance(self.content, str):
            object.__setattr__(self, "content", _checked_answer(self.content))


Part = Text | Thinking | ToolCall | ToolResult | Media | ProviderItem


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a conversation: who speaks, and what, as text or as parts in order.

    `role` is system, user, assistant or tool; `name` is the participant; `extra` holds, by provider, the
    fields of the provider's message that have no neutral form; `sources` are the uids of the entries it
    was made from and take no part in equality. `str(message)` is its text.
    """

    role: Role
    content: str | tuple[Part, ...]
    name: str | None = None
    extra: FrozenDict = NOTHING
    sources: tuple[str, ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise InvalidInput(f"A message's role is one of {', '.join(ROLES)}, not {self.role!r}.")
        if not isinstance(self.content, str):
            object.__setattr__(self, "content", _checked_parts(self.content))
        if self.name is not None and not isinstance(self.name, str):
            raise InvalidInput(f"A message's name is a text, not {self.name!r}.")
        object.__setattr__(self, "extra", freeze_dict(self.extra, path="extra"))

    def __str__(self) -> str:
        return self.text

    @property
    def parts(self) -> tuple[Part, ...]:
        """What the message holds, as parts; a text content is one Text part, an empty one none."""
        if isinstance(self.content, str):
            return (Text(text=self.content),) if self.content else ()
        return self.content

    @property
    def text(self) -> str:
        """The words of the message, parts joined by newlines; results of tools count, calls and thinking do not."""
        return self.content if isinstance(self.content, str) else "\n".join(filter(None, map(_words, self.content)))

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return () if isinstance(self.content, str) else tuple([p for p in self.content if isinstance(p, ToolCall)])

    @property
    def results(self) -> tuple[ToolResult, ...]:
        """The tool results of the message, in order."""
        return () if isinstance(self.content, str) else tuple([p for p in self.content if isinstance(p, ToolResult)])


def _check_texts(**texts: object) -> None:
    for name, value in texts.items():
        if not isinstance(value, str):
            raise InvalidInput(f"A part's {name} is a text, not {value!r}.")


def _checked_parts(content: object) -> tuple[Part, ...]:
    parts = tuple(content) if isinstance(content, Iterable) else (content,)
    for part in parts:
        if not isinstance(part, Part):
            raise InvalidInput(f"A message holds text or parts such as Text(text=...), not {type(part).__name__}; for JSON in a provider's form see messages_from(provider, body).")
    return parts


def _checked_answer(content: object) -> tuple[Text | Media | ProviderItem, ...]:
    parts = tuple(content) if isinstance(content, Iterable) else (content,)
    for part in parts:
        if not isinstance(part, Text | Media | ProviderItem):
            raise InvalidInput(f"A tool's answer holds text, or Text, Media and ProviderItem parts, not {type(part).__name__}.")
    return parts


def _words(part: Part) -> str:
    if isinstance(part, Text):
        return part.text
    if isinstance(part, ToolResult):
        return part.content if isinstance(part.content, str) else "\n".join(filter(None, map(_words, part.content)))
    return ""


def user(content: str | Iterable[Part], *, name: str | None = None) -> Message:
    """Return what a user says."""
    return Message(role="user", content=_content(content), name=name)


def system(content: str | Iterable[Part], *, name: str | None = None) -> Message:
    """Return an instruction to the model."""
    return Message(role="system", content=_content(content), name=name)


def assistant(content: str | Iterable[Part] = (), *, calls: Sequence[ToolCall] = (), name: str | None = None) -> Message:
    """Return what the model says, with the tool calls it makes behind its words."""
    if not calls:
        return Message(role="assistant", content=_content(content), name=name)
    words: tuple[Part, ...] = ((Text(text=content),) if content else ()) if isinstance(content, str) else tuple(content)
    return Message(role="assistant", content=(*words, *calls), name=name)


def tool_result_message(call_id: str, content: object = "", *, is_error: bool = False, name: str | None = None) -> Message:
    """Return a tool's answer to the call of that id: text, parts, or any JSON value, which is kept as its text."""
    is_parts = isinstance(content, list | tuple) and all(isinstance(p, Text | Media | ProviderItem) for p in content)
    answer = tuple(cast("Iterable[Text | Media | ProviderItem]", content)) if is_parts else content if isinstance(content, str) else codec.encode(freeze(content, path="content")).decode()
    return Message(role="tool", content=(ToolResult(call_id=call_id, content=answer, is_error=is_error, name=name),))


def _content(content: str | Iterable[Part]) -> str | tuple[Part, ...]:
    return content if isinstance(content, str) else _checked_parts(content)
