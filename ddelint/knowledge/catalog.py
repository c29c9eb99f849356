"""The rules, read once from their TOML files. The engine knows codes only through this table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddelint.knowledge import extensions
from ddelint.knowledge.folder import CatalogError as CatalogError
from ddelint.knowledge.folder import rules_folder as rules_folder
from ddelint.nouns.levels import Applicability, Claim, Severity

DOCS_URL = "https://ddelint.readthedocs.io/rules/"
_CODE = re.compile(r"DDE\d{3}")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PASSES = ("static", "trace")


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
class Flags:
    """What a rule finds by its data alone: calls of functions that it names."""

    calls: tuple[str, ...]
    """Full dotted names (`acme.ops.to_host`), or `*.to_host`: any function or method of that name."""
    everywhere: bool = False
    """Outside of what is compiled, too."""
    says: str = ""
    """A sentence for the reader about the place."""

    @property
    def words(self) -> tuple[str, ...]:
        """The last part of each name."""
        return tuple(name.rsplit(".", 1)[-1] for name in self.calls)


@dataclass(frozen=True, slots=True)
class Replacement:
    """What may be called instead; the arguments stay."""

    names: Mapping[str, str]
    """Name as in Flags.calls → what to call."""
    applicability: Applicability
    message: str = ""


_EACH = "{each}"


@dataclass(frozen=True, slots=True)
class ByHand:
    """What one writes by hand instead of questions of one kind: see `report/examples`."""

    asks: Mapping[str, str]
    """A question, a capital letter for whatever stands there → how that is written in the code.

    In the TOML, one with `{each}` in it is one for each of the names under `each`.
    """
    code: str
    """Lines of Python, with `{form}` where that goes."""


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
    flags: Flags | None = None
    replacement: Replacement | None = None
    link: str = ""
    """The page of a rule that is not ours."""
    advice_on_request: bool = False
    """Whether warnings that rest on the text alone wait until somebody names the rule: most cost nothing."""

    disproved_by_trace: bool = False
    """Of a warning: whether it says what the compiler cannot do, so that a trace without a question proves it wrong."""

    example_helps: bool = True
    """Whether the rule's own example says what to do of a finding; it does not where each has a cause of its own."""

    by_hand: tuple[ByHand, ...] = ()
    """What is shown instead of the rule's own example, where there is any: for questions like these, and no others."""

    @property
    def refutable(self) -> bool:
        """Whether a trace that runs the place and is not asked there proves a static finding wrong."""
        return (self.severity is Severity.ERROR or self.disproved_by_trace) and set(self.found_by) == set(_PASSES)

    @property
    def url(self) -> str:
        """The rule's page in the documentation."""
        return self.link or (f"{DOCS_URL}{self.code}/" if self.code.startswith("DDE") else "")


@extensions.remembered
def rules() -> Mapping[str, Rule]:
    """All rules by code, ours first, in the order of their codes. Raises CatalogError for a malformed file."""
    own = {path.stem: _read(path) for path in sorted(rules_folder().glob("DDE*.toml"))}
    return own | {code: _read_other(*found) for code, found in sorted(extensions.rule_tables().items())}


@extensions.remembered
def rule(code: str) -> Rule:
    """One rule, reading only its own file. Raises KeyError where there is none."""
    path = rules_folder() / f"{code}.toml"
    if not _CODE.fullmatch(code) or not path.is_file():
        return _read_other(*extensions.rule_tables()[code])
    return _read(path)


def codes() -> list[str]:
    """The codes of all rules, without reading ours."""
    return [*(path.stem for path in sorted(rules_folder().glob("DDE*.toml"))), *sorted(extensions.rule_tables())]


def flagging_rules() -> list[Rule]:
    """The rules whose data say which calls they find."""
    found = [_read_other(*found) for found in extensions.rule_tables().values()]
    return [rule for rule in found if rule.flags is not None]


def _each_asked(asks: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Patterns and forms with one of the names after the other where they say `{each}`."""
    return {
        pattern.replace(_EACH, name): form.replace(_EACH, name)
        for pattern, form in asks.items()
        for name in (names if _EACH in pattern else ("",))
    }


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
        advice_on_request=bool(table.get("advice_on_request", False)),
        example_helps=bool(table.get("example_helps", True)),
        by_hand=tuple(
            ByHand(_each_asked(want(one, "asks", dict), one.get("each", ())), want(one, "code", str).strip())
            for one in table.get("by_hand", ())
        ),
        disproved_by_trace=bool(table.get("disproved_by_trace", False)),
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


_KEYS = {
    "code", "name", "severity", "message", "since", "url", "doc", "flags", "replacement", "found_by", "claims", "moves",
    "graph_breaks",
}  # fmt: skip


def _read_other(path: Path, table: Mapping[str, Any]) -> Rule:
    """A rule of somebody else's: its code, name and message must be there, and what it flags."""

    def want(source: Mapping[str, Any], key: str, kind: type, default: Any = None) -> Any:
        value = source.get(key, default)
        if not isinstance(value, kind):
            raise CatalogError(f"{path}: `{key}` must be a {_KIND_NAMES[kind]}")
        return value

    unknown = sorted(set(table) - _KEYS)
    if unknown:
        raise CatalogError(f"{path}: unknown key `{unknown[0]}`; a rule has {', '.join(sorted(_KEYS))}")
    name = want(table, "name", str)
    if not _NAME.fullmatch(name):
        raise CatalogError(f"{path}: `name` must be lower-case words joined by hyphens")
    message = want(table, "message", str)
    try:
        message.format(expression="")
    except (KeyError, IndexError, ValueError):
        raise CatalogError(f"{path}: `message` may hold {{expression}}, and no other braces") from None
    doc = want(table, "doc", dict, {})
    flags = want(table, "flags", dict, {})
    where = flags.get("where", "compiled")
    if where not in ("compiled", "everywhere"):
        raise CatalogError(f"{path}: `where` of [flags] is `compiled` or `everywhere`, not `{where}`")
    try:
        severity = Severity(table.get("severity", "warning"))
    except ValueError:
        raise CatalogError(f"{path}: `severity` must be one of {', '.join(Severity)}") from None
    calls = _names(path, want(flags, "calls", list, []), "calls")
    if flags and not calls:
        raise CatalogError(f"{path}: [flags] needs `calls`, the functions that it finds")
    return Rule(
        code=str(table["code"]),
        name=name,
        severity=severity,
        found_by=("static",),
        claims=(),
        moves=(),
        message=message,
        since=want(table, "since", str, ""),
        graph_breaks=(),
        documentation=Documentation(
            what=want(doc, "what", str, f"Finds calls of {', '.join(calls)}." if calls else message).strip(),
            why=want(doc, "why", str, "").strip(),
            bad=want(doc, "bad", str, "").strip(),
            good=want(doc, "good", str, "").strip(),
            fix_safety=want(doc, "fix_safety", str, "").strip(),
            references=tuple(want(doc, "references", list, [])),
        ),
        flags=Flags(calls, where == "everywhere", want(flags, "says", str, "")) if calls else None,
        replacement=_replacement(path, want(table, "replacement", dict, {}), calls),
        link=want(table, "url", str, ""),
    )


def _replacement(path: Path, table: Mapping[str, Any], calls: tuple[str, ...]) -> Replacement | None:
    if not table:
        return None
    names = table.get("calls")
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise CatalogError(f'{path}: [replacement] needs `calls`, a table of "old.name" = "new.name"')
    for name in names:
        if name not in calls:
            raise CatalogError(f"{path}: [replacement] names `{name}`, which [flags] does not")
    _names(path, list(names.values()), "calls")
    try:
        applicability = Applicability(table.get("applicability", "unsafe"))
    except ValueError:
        raise CatalogError(f"{path}: `applicability` must be one of {', '.join(Applicability)}") from None
    return Replacement(dict(names), applicability, str(table.get("message", "")))


def _names(path: Path, names: list[Any], key: str) -> tuple[str, ...]:
    for name in names:
        if not isinstance(name, str) or not _CALLED.fullmatch(name):
            raise CatalogError(f"{path}: `{key}`: `{name}` is neither a full dotted name nor `*.name`")
    return tuple(names)


_CALLED = re.compile(r"(?:[A-Za-z_]\w*|\*)(?:\.[A-Za-z_]\w*)+")
_KIND_NAMES: Mapping[type, str] = {str: "string", list: "list", dict: "table"}
