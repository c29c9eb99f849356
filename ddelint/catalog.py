"""The rules, read once from their TOML files. The engine knows codes only through this table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ddelint.diagnostics import Claim, Severity
from ddelint.errors import DdelintError

DOCS_URL = "https://ddelint.readthedocs.io/rules/"
_CODE = re.compile(r"DDE\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PASSES = ("static", "trace")


class CatalogError(DdelintError):
    """A rule file that doesn't say what it must; the message names the file and the key."""


@dataclass(frozen=True, slots=True)
class Documentation:
    """The fixed sections of a rule's page, in Markdown."""

    what: str
    why: str
    bad: str
    good: str
    fix_safety: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """One finding the tool can make. `message` may use `{expression}`; `moves` are tried in their order."""

    code: str
    name: str
    severity: Severity
    found_by: tuple[str, ...]
    claims: tuple[Claim, ...]
    moves: tuple[str, ...]
    message: str
    since: str
    graph_breaks: tuple[str, ...]
    documentation: Documentation

    @property
    def refutable(self) -> bool:
        """Whether a trace that runs the place and is not asked there proves a static finding wrong."""
        return self.severity is Severity.ERROR and set(self.found_by) == set(_PASSES)

    @property
    def url(self) -> str:
        """The rule's page in the documentation."""
        return f"{DOCS_URL}{self.code}/"


@cache
def rules_folder() -> Path:
    """Where the rule files lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parent
    for folder in (package / "rules", package.parent / "rules"):
        if (folder / "DDE001.toml").is_file():
            return folder
    raise CatalogError(f"no rules found beside {package}: the installation is incomplete")


@cache
def rules() -> Mapping[str, Rule]:
    """All rules by code, in the order of their codes. Raises CatalogError for a malformed file."""
    return {path.stem: _read(path) for path in sorted(rules_folder().glob("DDE*.toml"))}


@cache
def rule(code: str) -> Rule:
    """One rule, reading only its own file. Raises KeyError where there is none."""
    path = rules_folder() / f"{code}.toml"
    if not _CODE.fullmatch(code) or not path.is_file():
        raise KeyError(code)
    return _read(path)


def _read(path: Path) -> Rule:
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise CatalogError(f"{path.name}: {error}") from error

    def want(source: Mapping[str, Any], key: str, kind: type) -> Any:
        value = source.get(key)
        if not isinstance(value, kind):
            raise CatalogError(f"{path.name}: `{key}` must be a {kind.__name__}")
        return value

    doc = want(table, "doc", dict)
    rule = Rule(
        code=want(table, "code", str),
        name=want(table, "name", str),
        severity=Severity(want(table, "severity", str)),
        found_by=tuple(want(table, "found_by", list)),
        claims=tuple(Claim(text) for text in want(table, "claims", list)),
        moves=tuple(want(table, "moves", list)),
        message=want(table, "message", str),
        since=want(table, "since", str),
        graph_breaks=tuple(table.get("graph_breaks", ())),
        documentation=Documentation(
            what=want(doc, "what", str).strip(),
            why=want(doc, "why", str).strip(),
            bad=want(doc, "bad", str).strip(),
            good=want(doc, "good", str).strip(),
            fix_safety=want(doc, "fix_safety", str).strip(),
            references=tuple(want(doc, "references", list)),
        ),
    )
    if rule.code != path.stem or not _CODE.fullmatch(rule.code):
        raise CatalogError(f"{path.name}: `code` must be the file's name")
    if not _NAME.fullmatch(rule.name):
        raise CatalogError(f"{path.name}: `name` must be lower-case words joined by hyphens")
    if not rule.found_by or any(found not in _PASSES for found in rule.found_by):
        raise CatalogError(f"{path.name}: `found_by` must list `static`, `trace` or both")
    return rule
