"""JSON schemas held to the letter: what a schema does not name is not valid."""

from __future__ import annotations

from typing import Any


def closed(schema: Any) -> Any:
    """The schema with no room for keys that it does not name."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(value) for key, value in schema.items()}
    return {**inner, "additionalProperties": False} if "required" in schema and "properties" in schema else inner
