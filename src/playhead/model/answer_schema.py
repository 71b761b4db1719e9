"""The schema of an answer as Anthropic takes it: what its decoding cannot enforce is told in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_UNTAKEN = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "contentEncoding", "contentMediaType"),
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"})
_NAMED = ("properties", "$defs")
_NESTED = ("items", "prefixItems", "anyOf", "allOf", "additionalProperties")


def taken(schema: Any) -> Any:
    """Return a JSON schema with its limits, such as `minimum`, at the end of what describes the value that they limit."""
    if isinstance(schema, (list, tuple)):
        return [taken(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept: dict[str, Any] = {}
    told: list[str] = []
    for key, value in schema.items():
        if key in _UNTAKEN or (key == "minItems" and value not in (0, 1)) or (key == "format" and value not in _FORMATS):
            told.append(f"{key}: {value}")
        elif key in _NAMED and isinstance(value, Mapping):
            kept[key] = {name: taken(one) for name, one in value.items()}
        elif key == "oneOf":
            kept["anyOf"] = taken(value)
        elif key != "discriminator":
            kept[key] = taken(value) if key in _NESTED else value
    if told:
        kept["description"] = "\n".join(filter(None, [str(kept.get("description", "")), f"{{{', '.join(told)}}}"]))
    return kept
