"""What torch prints when data decides, read once from rules/errors.toml. Engine code quotes none of it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import CatalogError, rules_folder

KINDS = frozenset(
    ("", "truth", "integer", "operator", "failure", "specialized", "text", "other", "auto", "guard", "break")
)
ROLES = frozenset(("whole", "user", "birth", "framework"))


@dataclass(frozen=True, slots=True)
class ErrorText:
    """One text by which an error is known. `kind` or `code` is set; see rules/errors.toml for what each key means."""

    name: str
    pattern: re.Pattern[str]
    kind: str = ""
    code: str = ""
    value: str = ""
    read: str = ""
    asks: tuple[str, ...] = ()
    vague: bool = False
    reach: int = 2
    word: str = ""
    flag: str = ""
    flag_for: re.Pattern[str] | None = None

    def flag_of(self, operator: str) -> str:
        """The setting of Dynamo's under which it captures what broke the graph; empty where none helps."""
        helps = self.flag_for is None or self.flag_for.search(operator) is not None
        return self.flag if helps else ""


@dataclass(frozen=True, slots=True)
class RecompilationText:
    """A guard that failed: `code` is the rule it falls under, `expression` a template over the pattern's groups.

    `resumed`: it is about a value made on the line where the graph broke.
    """

    pattern: re.Pattern[str]
    code: str
    expression: str
    resumed: bool


@dataclass(frozen=True, slots=True)
class HintText:
    """What torch itself advises, in a group of that name; `note` is what has become of it since."""

    pattern: re.Pattern[str]
    note: str


@dataclass(frozen=True, slots=True)
class SectionText:
    """A line that introduces a stack, and whose stack that is (one of ROLES)."""

    pattern: re.Pattern[str]
    role: str


@dataclass(frozen=True, slots=True)
class Ownership:
    """How the framework's files are recognized, all with `/` between folders."""

    framework: frozenset[str]
    torch_parts: tuple[str, ...]
    checkouts: tuple[str, ...]
    entrances: tuple[str, ...]
    generated: tuple[str, ...]
    calls: tuple[str, ...]
    """What a line calls that hands a program to the compiler."""


@dataclass(frozen=True, slots=True)
class FrontEnd:
    """A frame that says which front end was at work."""

    name: str
    file: str
    function: str


@dataclass(frozen=True, slots=True)
class Texts:
    """The tables of errors.toml."""

    errors: tuple[ErrorText, ...]
    recompilations: tuple[RecompilationText, ...]
    hints: tuple[HintText, ...]
    sections: tuple[SectionText, ...]
    prefix: re.Pattern[str]
    """Matches one prefix at the start of a line."""
    ownership: Ownership
    front_ends: tuple[FrontEnd, ...]


@cache
def texts() -> Texts:
    """The tables. Raises CatalogError where the file doesn't say what it must."""
    path = rules_folder() / "errors.toml"
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        return _build(table)
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError, re.error) as error:
        raise CatalogError(f"errors.toml: {error!r}") from error


def _build(table: Mapping[str, Any]) -> Texts:
    ownership = table["ownership"]
    return Texts(
        errors=tuple(_error(entry) for entry in table["error"]),
        recompilations=tuple(
            RecompilationText(
                re.compile(entry["pattern"]), entry["code"], entry.get("expression", ""), entry.get("resumed", False)
            )
            for entry in table["recompilation"]
        ),
        hints=tuple(
            HintText(re.compile(entry["pattern"].replace(" ", r"\s+"), re.MULTILINE), entry.get("note", ""))
            for entry in table["hint"]
        ),
        sections=tuple(_section(entry) for entry in table["section"]),
        prefix=re.compile("|".join(f"(?:{pattern})" for pattern in table["prefixes"]["patterns"])),
        ownership=Ownership(
            framework=frozenset(ownership["framework"]),
            torch_parts=tuple(ownership["torch_parts"]),
            checkouts=tuple(ownership["checkouts"]),
            entrances=tuple(ownership["entrances"]),
            generated=tuple(ownership["generated"]),
            calls=tuple(ownership["calls"]),
        ),
        front_ends=tuple(FrontEnd(**entry) for entry in table["front_end"]),
    )


def _error(entry: Mapping[str, Any]) -> ErrorText:
    kind, code = entry.get("kind", ""), entry.get("code", "")
    if kind not in KINDS or bool(kind) == bool(code):
        raise ValueError(f"{entry['name']}: one of `kind` and `code`, and a known one")
    # a space stands for any white space: terminals and mail wrap lines
    anchor, pattern = (entry.get(key, "").replace(" ", r"\s+") for key in ("anchor", "pattern"))
    return ErrorText(
        name=entry["name"],
        pattern=re.compile(anchor + pattern, re.DOTALL | re.MULTILINE),
        kind=kind,
        code=code,
        value=entry.get("value", ""),
        read=entry.get("read", ""),
        asks=tuple(entry.get("asks", ())),
        vague=bool(entry.get("vague", False)),
        reach=int(entry.get("reach", 2)),
        word=entry.get("word", ""),
        flag=entry.get("flag", ""),
        flag_for=re.compile(entry["flag_for"]) if "flag_for" in entry else None,
    )


def _section(entry: Mapping[str, Any]) -> SectionText:
    if entry["role"] not in ROLES:
        raise ValueError(f"unknown role: {entry['role']}")
    return SectionText(re.compile(entry["pattern"]), entry["role"])
