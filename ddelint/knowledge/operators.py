"""What the tool knows about operators, read once from rules/operators.toml. Engine code names no operator."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ddelint.knowledge import extensions
from ddelint.knowledge.folder import CatalogError, rules_folder

Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class StaticPosition:
    """Which argument of an operator must be known while tracing (`position` counts after the tensor)."""

    position: int
    keyword: str
    rest: bool = False
    """All positional arguments from `position` on."""
    numbers_only: bool = False
    """A list is fine."""
    function_only: bool = False
    """`position` counts from the first argument: the operator takes no tensor."""


class Operators(SimpleNamespace):
    """The tables of operators.toml. No dataclass: to make one of sixty fields takes as long as to read the tables."""

    checks: Names
    """Functions that take a condition and record it for the compiler (`_check` and its relatives)."""
    python_reductions: Names
    """Built-ins that compare their elements in Python."""
    python_builtins: Mapping[str, str]
    """Built-ins that demand a concrete value, each with the rule that it falls under."""
    static_arguments: Names
    """Operators whose outputs are counted by an argument."""
    questions: Names
    """Operators that return a Python bool about data."""
    layout_questions: Names
    tensor_offsets: Names
    """Operators that cut a tensor at offsets held in a tensor."""
    random: Names
    """Functions that draw random numbers."""
    iteration: str
    """What iteration over a tensor calls."""
    row_by_row: Names
    order_first: Names
    """Reductions whose first argument stands before dim."""
    tensor_first: Names
    number_first: Names
    """Shapes of answers whose functions take a tensor first."""
    count_first: Names
    """Reductions whose first argument is a count, before dim."""
    always_pairs: Names
    """Reductions that give values and indices even without dim, which is then the last."""
    cut_to: Names
    """Sorted pairs cut to as many as an argument says."""
    asks_of_sizes: Mapping[str, int]
    """Operator that asks about sizes that depend on data → the least of each that answers it; 0: none does."""
    asks_of_elements: Names
    """Operators that read the elements of what they are given, whatever that is."""
    keeps_dtype: Names
    """Operators under `letters` whose answer is a mask where their tensor is one."""
    side_by_side: Mapping[str, str]
    """Ways to concatenate whose dimension follows from the rank: h, v or c."""
    origins: Mapping[str, str]
    """Operator → what its answer's elements are known to be."""
    clamps: Mapping[str, tuple[str, ...]]
    """Operators that keep elements within bounds: which bound each argument is (`min`, `max`)."""
    unsigned: Names
    """Types of numbers that are never negative."""
    reasons: Mapping[str, str]
    """Why that is so, by kind of origin."""
    letters: Mapping[str, str]
    """Operator → its shape, as ddelint/static/letters.py reads it."""
    counting: Names
    """Reductions whose result is a count when they are applied to a mask."""
    conversions: Names
    """Library functions that turn their argument into a float, by full name."""
    keeps: Names
    """Library functions that hand a symbol on, by full name."""
    returns: Mapping[str, str]
    """Operator → what shape its answer has."""
    attributes: Mapping[str, str]
    """Tensor attribute → likewise."""
    symbolic: Mapping[str, str]
    """Framework function over symbols → behaviour."""
    builtins: Mapping[str, str]
    """Built-in function → behaviour."""
    while_compiling: Mapping[str, bool | None]
    """Functions whose answer is settled while a compiler traces."""
    known_methods: Names
    known_without_arguments: Names
    """Methods that answer with something known where they are given nothing."""
    evidence_attributes: Names
    evidence_methods: Names
    sure_attributes: Names
    sure_methods: Names
    annotations: Mapping[str, Names]
    regions: Mapping[str, Names]
    spelling: Mapping[str, Names]
    static_positions: Mapping[str, StaticPosition]
    needs_argument: Mapping[str, StaticPosition]
    wants_integers: Names
    wants_integers_asking: Mapping[str, int]
    """Of these operators the argument (behind the tensor) that cannot be traced; the others are only read."""
    retired: Mapping[str, str]
    """Retired function, by full name → the rule that says so."""
    retired_words: tuple[str, ...]
    """Text that calls one of them has one of these."""
    says: Mapping[str, str]
    """A sentence for the reader about each kind of source."""
    source_names: Names
    """What reads data, or may, by the last part of its name."""
    source_calls: re.Pattern[str]
    """Text with one of these calls may hold a source or a sink."""
    source_patterns: tuple[re.Pattern[str], ...]
    """So may text that matches one of these; each begins with a literal: that is what makes the scan fast."""
    iterations: tuple[re.Pattern[str], ...]
    """Match an iteration, with the name of what is iterated over."""
    comparisons: re.Pattern[str]
    """Matches an assignment of a comparison, behind the name."""
    returned_masks: re.Pattern[str]
    """Matches what gives back a comparison."""
    bound_masks: re.Pattern[str]
    """Matches a name that is bound to one."""
    size_tests: re.Pattern[str]
    """Matches a size that is compared."""
    of_others: Names
    """Functions outside of torch that rule files of others report, by full name."""
    framework_tokens: tuple[bytes, ...]
    region_tokens: tuple[bytes, ...]
    always_tokens: tuple[bytes, ...]
    comment_tokens: tuple[bytes, ...]


def terminal_name(node: ast.AST) -> str:
    """The last part of a name or attribute chain: `b` of `a.b`; empty for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def dotted_name(node: ast.AST) -> str:
    """`a.b.c` as text where it is names only; empty for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _inverted(table: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: kind for kind, names in table.items() for name in names}


def _sets(table: Mapping[str, list[str]]) -> dict[str, Names]:
    return {key: frozenset(names) for key, names in table.items()}


def _retired_words(table: Mapping[str, list[str]]) -> set[str]:
    """The telling part of each name: `sym_constrain_range` of `torch.ops.aten.sym_constrain_range.default`."""
    return {name.removesuffix(".default").rsplit(".", 1)[-1] for names in table.values() for name in names}


_WITHOUT_DIMENSION = r"(?!(?:[^()\n]|\([^()\n]*\))*,\s*(?:dim\b|axis\b|-?\d|\[|\())"
"""Behind the parenthesis of a reduction: on this line, no argument is a dimension."""


def _called(scan: Mapping[str, list[str]]) -> re.Pattern[str]:
    """A call that may read or demand data, at its parenthesis: looked for from there, it costs a tenth.

    `name(` of anything; of the built-ins, where it is looked up in nothing and given something that may be a tensor; of
    reductions, `.sum()` and `torch.sum(` of all dimensions.
    """
    ends: dict[str, list[str]] = {}
    for names, before, after in (
        (scan["calls"], r"\W", ""),
        (scan["counts"], r"\W", r"(?!(?:[\w.\[\]]+,\s*)?-?\d+\s*[,)])"),
        (scan["alone"], r"\W", r"(?![\w.]+,\s*(?:num_classes\s*=\s*)?[^-\s)])"),
        (scan["builtins"], r"[^\w.]", rf"(?!\s*(?:{'|'.join(scan['harmless'])}))"),
        (scan["reductions"], r"\.", r"\)"),
        (scan["reductions"], r"torch\.", _WITHOUT_DIMENSION),
    ):
        for name in names:
            ends.setdefault(name[-1], []).append(rf"(?<={before}{re.escape(name)}\(){after}")
    return re.compile(r"\((?:" + "|".join(rf"(?<={end}\()(?:{'|'.join(found)})" for end, found in ends.items()) + ")")


def _handed_on(scan: Mapping[str, list[str]]) -> str:
    """A function of torch that is not called here: `nz = torch.nonzero`, `partial(torch.nonzero, as_tuple=True)`."""
    names = (name for key in ("calls", "counts", "alone", "reductions") for name in scan[key])
    return rf"torch\.(?:{'|'.join(map(re.escape, names))})[ \t]*(?:[,)#]|\r?\n)"


@extensions.remembered
def operators() -> Operators:
    """The operator knowledge, that of other rule files included. Raises CatalogError where one says what it cannot."""
    path = rules_folder() / "operators.toml"
    try:
        table: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
        for other, facts in extensions.tables().items():
            if "code" not in facts:
                table = _with_facts(table, facts, other)
        return _build(_with_scanned_words(table))
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CatalogError(f"operators.toml: {error!r}") from error


_OPEN = ("static_positions", "needs_argument", "side_by_side", "letters", "says")
"""Tables whose keys are names of operators."""
_NOT_FOR_OTHERS = ("prefilter", "while_compiling")
_FULL_NAMES = ("annotations", "conversions", "regions", "retired", "spelling")
"""Tables of full dotted names; in the others a full name says which function the last part of it is about."""
_OTHERS = "of_others"


def _with_facts(table: dict[str, Any], facts: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Our tables with what another file adds to them. Raises CatalogError for what has no place in them."""
    merged = dict(table)
    named: set[str] = set()

    def last(name: Any) -> Any:
        if key in _FULL_NAMES or not isinstance(name, str):
            return name
        named.add(name)
        return name.rsplit(".", 1)[-1]

    for key, more in facts.items():
        if key not in table or key in _NOT_FOR_OTHERS or not isinstance(more, dict):
            known = ", ".join(sorted(set(table) - set(_NOT_FOR_OTHERS)))
            raise CatalogError(f"{path}: there is no table [{key}] of operator facts; there are {known}")
        own = dict(table[key])
        for name, value in more.items():
            if key in _OPEN:
                own[last(name)] = value
            elif isinstance(own.get(name), list) and isinstance(value, list):
                own[name] = [*own[name], *map(last, value)]
            elif isinstance(own.get(name), dict) and isinstance(value, dict):
                own[name] = {**own[name], **{last(one): given for one, given in value.items()}}
            else:
                raise CatalogError(f"{path}: [{key}] has no list `{name}` to add to")
        merged[key] = own
    # an operator of which only an argument is known returns some tensor, and what counts its outputs is that argument
    asked = {name.rsplit(".", 1)[-1] for key in ("static_positions", "needs_argument") for name in facts.get(key, ())}
    untold = sorted(asked - {name for names in merged["returns"].values() for name in names})
    merged["returns"] = {**merged["returns"], "tensor": [*merged["returns"]["tensor"], *untold]}
    demands = merged["demands"]
    merged["demands"] = {**demands, "static_arguments": [*demands["static_arguments"], *sorted(asked)]}
    scan = merged["prefilter"]
    words = [name.rsplit(".", 1)[-1] for name in sorted(named) if name.replace(".", "").isidentifier()]
    merged["prefilter"] = {**scan, "calls": [*scan["calls"], *words]}
    merged[_OTHERS] = [*table.get(_OTHERS, ()), *(name for name in named if "." in name)]
    return merged


def _with_scanned_words(table: dict[str, Any]) -> dict[str, Any]:
    """The tables with what the scan of bytes must not overlook: what rules name, and classes that ask."""
    scan = dict(table["prefilter"])
    if extensions.rule_tables():
        from ddelint.knowledge.catalog import flagging_rules

        for rule in flagging_rules():
            assert rule.flags is not None
            key = "comments" if rule.flags.everywhere else "always"
            scan[key] = [*scan[key], *(f"{word}(" for word in rule.flags.words)]
    scan["comments"] = [*scan["comments"], *extensions.prefixes()[1:]]
    scan["calls"] = [*scan["calls"], *table["regions"]["validating_classes"]]
    return {**table, "prefilter": scan}


def _build(table: dict[str, Any]) -> Operators:
    demands, evidence, scan = table["demands"], table["evidence"], table["prefilter"]
    return Operators(
        checks=frozenset(demands["checks"]),
        python_reductions=frozenset(demands["python_reductions"]),
        python_builtins=dict(demands["python_builtins"]),
        static_arguments=frozenset(demands["static_arguments"]),
        questions=frozenset(demands["questions"]),
        layout_questions=frozenset(demands["layout_questions"]),
        tensor_offsets=frozenset(demands["tensor_offsets"]),
        random=frozenset(demands["random"]),
        iteration=str(demands["iteration"]),
        row_by_row=frozenset(demands["row_by_row"]),
        order_first=frozenset(demands["order_first"]),
        tensor_first=frozenset(evidence["tensor_first"]),
        number_first=frozenset(evidence["number_first"]),
        count_first=frozenset(demands["count_first"]),
        always_pairs=frozenset(demands["always_pairs"]),
        cut_to=frozenset(demands["cut_to"]),
        asks_of_sizes=dict(demands["asks_of_sizes"]),
        asks_of_elements=frozenset(demands["asks_of_elements"]),
        keeps_dtype=frozenset(demands["keeps_dtype"]),
        side_by_side=dict(table["side_by_side"]),
        origins={
            **_inverted({kind: names for kind, names in table["origins"].items() if kind != "unsigned"}),
            **dict.fromkeys(table["clamps"], "clamped"),
        },
        clamps={name: tuple(places) for name, places in table["clamps"].items()},
        unsigned=frozenset(table["origins"]["unsigned"]),
        reasons=dict(table["reasons"]),
        letters=dict(table["letters"]),
        counting=frozenset(demands["counting"]),
        conversions=frozenset(table["conversions"]["names"]),
        keeps=frozenset(table["conversions"]["keeps"]),
        returns={**_inverted(table["returns"]), **dict.fromkeys(table["letters"], "by_letters")},
        attributes=_inverted(table["attributes"]),
        symbolic=_inverted(table["symbolic"]),
        builtins=_inverted(table["builtins"]),
        while_compiling={
            name: None if answer == "None" else answer for name, answer in table["while_compiling"].items()
        },
        known_methods=frozenset(table["known_methods"]["names"]),
        known_without_arguments=frozenset(table["known_methods"]["without_arguments"]),
        evidence_attributes=frozenset(evidence["attributes"]),
        evidence_methods=frozenset(evidence["methods"]),
        sure_attributes=frozenset(evidence["sure_attributes"]),
        sure_methods=frozenset(evidence["sure_methods"]),
        annotations=_sets(table["annotations"]),
        regions=_sets(table["regions"]),
        spelling=_sets(table["spelling"]),
        static_positions={name: StaticPosition(**entry) for name, entry in table["static_positions"].items()},
        needs_argument={name: StaticPosition(**entry) for name, entry in table["needs_argument"].items()},
        wants_integers=frozenset(table["wants_integers"]["receiver_first"]),
        wants_integers_asking=dict(table["wants_integers"]["asking"]),
        retired=_inverted(table["retired"]),
        retired_words=tuple(sorted(_retired_words(table["retired"]))),
        says=dict(table["says"]),
        source_names=frozenset(
            name for key in ("calls", "counts", "alone", "builtins", "reductions") for name in scan[key]
        ),
        source_calls=_called(scan),
        source_patterns=tuple(map(re.compile, [*scan["patterns"], _handed_on(scan)])),
        iterations=tuple(map(re.compile, scan["iterations"])),
        comparisons=re.compile(scan["comparisons"]),
        returned_masks=re.compile(scan["returned_masks"]),
        bound_masks=re.compile(scan["bound_masks"]),
        size_tests=re.compile(scan["size_tests"]),
        of_others=frozenset(table.get(_OTHERS, ())),
        framework_tokens=tuple(token.encode() for token in scan["framework"]),
        region_tokens=tuple(token.encode() for token in scan["regions"]),
        always_tokens=tuple(token.encode() for token in scan["always"]),
        comment_tokens=tuple(token.encode() for token in scan["comments"]),
    )
