"""All formats that can be read."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from playhead.importers import claude_code, codex_records, gemini, gemini_records, pi_records, playhead_export
from playhead.importers.anthropic_messages import ANTHROPIC_MESSAGES
from playhead.importers.certainty import Certainty
from playhead.importers.claude_ai import CLAUDE_AI
from playhead.importers.claude_code import ClaudeCode
from playhead.importers.claude_records import FORMAT as CLAUDE_CODE
from playhead.importers.codex import Codex
from playhead.importers.format import Format, spoken_in
from playhead.importers.gemini_contents import GEMINI_CONTENTS
from playhead.importers.langchain import LANGCHAIN
from playhead.importers.mini_swe_agent import MINI_SWE_AGENT
from playhead.importers.openai_chat import OPENAI_CHAT
from playhead.importers.openai_responses import OPENAI_RESPONSES
from playhead.importers.pi import Pi
from playhead.importers.pydantic_ai import PYDANTIC_AI
from playhead.importers.sharegpt import SHAREGPT
from playhead.importers.swe_agent import SWE_AGENT


def _claude_code(value: Any) -> Certainty:
    # Gemini CLI's log of prompts writes what the user said as a text.
    is_record = claude_code.is_record(value) and not isinstance(value.get("message"), str)
    return Certainty.SURE if is_record else Certainty.NONE


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        format.name: format
        for format in (
            Format(name=CLAUDE_CODE, lists=claude_code.LISTS, judge=_claude_code, reader=ClaudeCode),
            Format(name=codex_records.FORMAT, lists=frozenset(), judge=codex_records.judge, reader=Codex, covers=frozenset({OPENAI_RESPONSES.format})),
            Format(name=pi_records.FORMAT, lists=frozenset(), judge=pi_records.judge, reader=Pi),
            Format(name=gemini_records.FORMAT, lists=gemini.LISTS, judge=gemini_records.judge, reader=gemini.GeminiCLI),
            spoken_in(OPENAI_CHAT, covers=[ANTHROPIC_MESSAGES.format]),
            spoken_in(OPENAI_RESPONSES),
            spoken_in(ANTHROPIC_MESSAGES),
            spoken_in(GEMINI_CONTENTS),
            spoken_in(SWE_AGENT, covers=[OPENAI_CHAT.format, ANTHROPIC_MESSAGES.format]),
            spoken_in(MINI_SWE_AGENT, covers=[OPENAI_CHAT.format, OPENAI_RESPONSES.format, ANTHROPIC_MESSAGES.format]),
            spoken_in(CLAUDE_AI),
            spoken_in(SHAREGPT),
            spoken_in(LANGCHAIN),
            spoken_in(PYDANTIC_AI),
            Format(name=playhead_export.FORMAT, lists=playhead_export.LISTS, judge=playhead_export.judge, reader=playhead_export.PlayheadExport),
        )
    }
)
"""By name. Where a file may be of several, it is read as the first of them."""
