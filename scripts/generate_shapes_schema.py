"""Write docs/shapes.schema.json, the JSON Schema of `ddelint shapes --output-format json`, from the nouns it prints.

With --check: fail where the file is another one.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import Dispatch
from ddelint.nouns.size_readiness import Readiness, Share
from ddelint.nouns.size_specs import CheckedSpec
from ddelint.nouns.size_streams import Forecast

PLACE = Path(__file__).resolve().parents[1] / "docs" / "shapes.schema.json"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """The schema: an array of entries, or what `--readiness` prints."""
    found: dict[str, Any] = {}
    _define(Contract, found)
    entry = found["Contract"]
    entry["description"] = "What one program needs of its inputs' sizes, and what else was asked for."
    told = {
        "declared": ("What is wrong with each spec that is declared (`--check`, `--ranges`).", tuple[CheckedSpec, ...]),
        "stream": ("What a stream of sizes costs; null without `--stream`.", Forecast | None),
        "dispatch": ("The dispatcher; null without `--dispatch`.", Dispatch | None),
    }
    for name, (description, kind) in told.items():
        entry["properties"][name] = {"description": description, **_of(kind, found)}
        entry["required"].append(name)
    shares = {"entries": tuple[Readiness, ...], "dimensions": Share, "lines": Share}
    found["Shares"] = {
        "description": "What `--readiness` prints.",
        "type": "object",
        "required": list(shares),
        "properties": {name: _of(kind, found) for name, kind in shares.items()},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://ddelint.readthedocs.io/shapes.schema.json",
        "title": "ddelint shapes --output-format json",
        "description": "One object for each entry; with --readiness one object for all. New keys may be added; those "
        "that stand here keep their meaning.",
        "oneOf": [{"type": "array", "items": {"$ref": "#/$defs/Contract"}}, {"$ref": "#/$defs/Shares"}],
        "$defs": dict(sorted(found.items())),
    }


def _define(kind: type, found: dict[str, Any]) -> None:
    """The schema of a noun, under its own name."""
    found[kind.__name__] = {}
    hints = typing.get_type_hints(kind)
    said = _descriptions(kind)
    fields = [field.name for field in dataclasses.fields(kind)]
    properties = {
        name: {**({"description": said[name]} if name in said else {}), **_of(hints[name], found)} for name in fields
    }
    found[kind.__name__] = {
        "description": _joined(inspect.getdoc(kind) or kind.__name__),
        "type": "object",
        "required": fields,
        "properties": properties,
    }


def _of(kind: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The schema of a field's type."""
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_of(part, found) for part in parts]}
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return {"type": "array", "items": _of(parts[0], found)}
    if origin is tuple:
        each = [_of(part, found) for part in parts]
        return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(parts[1], found)}
    if dataclasses.is_dataclass(kind):
        assert isinstance(kind, type)
        if kind.__name__ not in found:
            _define(kind, found)
        return {"$ref": f"#/$defs/{kind.__name__}"}
    return {"type": _PLAIN[kind]}


def _descriptions(kind: type) -> dict[str, str]:
    """Field → the text below it."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(body.body, body.body[1:]):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = _joined(text)
    return found


def _joined(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def written() -> str:
    """The file's text."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv[1:]:
        sys.exit(None if PLACE.read_text("utf-8") == written() else f"{PLACE.name} is not what the nouns say")
    PLACE.write_text(written(), "utf-8")
