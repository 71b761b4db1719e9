"""Attachments of a Claude Code session that the model read: which they are, and what they say.

The client keeps them as records and writes them into the request as reminders. Those of other types (counters,
lists of tools, permissions) are events.
"""

from __future__ import annotations

from typing import Any

_REMINDER = "<system-reminder>\n{}\n</system-reminder>"
_LABELS = {
    "edited_text_file": "{filename} was edited:",
    "file": "{filename}:",
    "nested_memory": "{path}:",
    "plan_file_reference": "{planFilePath}:",
    "selected_lines_in_ide": "Selected in {filename}:",
    "skill_listing": "Skills:",
    "hook_additional_context": "{hookName} hook additional context:",
    "hook_blocking_error": "{hookName} hook blocking error:",
}
"""By type, the line that introduces the text; the names in braces are fields of the attachment."""


def attachment_content(record: dict[str, Any]) -> str | list[Any] | None:
    """Return what an attachment tells the model, None where it tells nothing that is known to be shown."""
    attachment = record.get("attachment")
    if not isinstance(attachment, dict):
        return None
    kind = attachment.get("type")
    if kind == "queued_command":
        return _prompt(attachment.get("prompt"))
    label = _LABELS.get(kind) if isinstance(kind, str) else None
    text = _text(attachment) if label is not None else ""
    if label is None or not text:
        return None
    return _REMINDER.format(f"{label.format_map(_Fields(attachment))}\n{text}")


def _prompt(prompt: Any) -> str | list[Any] | None:
    """Return what the user typed while the model was at work."""
    if isinstance(prompt, str) and prompt.strip():
        return prompt
    return prompt if isinstance(prompt, list) and prompt else None


def _text(attachment: dict[str, Any]) -> str:
    for key in ("content", "snippet", "planContent", "blockingError", "file"):
        value = attachment.get(key)
        while isinstance(value, dict):
            value = next((value[k] for k in ("content", "file", "blockingError") if k in value), None)
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            value = "\n".join(value)
        if isinstance(value, str) and value.strip():
            return value
    return ""


class _Fields(dict[str, Any]):
    def __missing__(self, key: str) -> str:
        return key
