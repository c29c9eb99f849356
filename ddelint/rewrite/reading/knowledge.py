"""What the control-flow moves know about operators, read once from rules/rewriting.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.nouns.diagnostics import Applicability
from ddelint.rewrite.reading.tables import filled, loaded


@dataclass(frozen=True, slots=True)
class BoundFacts:
    """The table [bounds] of rewriting.toml."""

    least: frozenset[str]
    upper: Mapping[str, int]
    keeps: frozenset[str]
    picks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Segments:
    """The table [segments] of rewriting.toml."""

    reductions: Mapping[str, str]
    with_places: frozenset[str]
    constructors: frozenset[str]
    alike: frozenset[str]


@dataclass(frozen=True, slots=True)
class SpareRows:
    """The table [spare_rows] of rewriting.toml: operator → neutral element."""

    scans: Mapping[str, str]
    reductions: Mapping[str, str]
    contractions: frozenset[str]
    """Operators whose first argument says by letters what is multiplied, and what of it is summed."""
    rows: int


@dataclass(frozen=True, slots=True)
class Aliasing:
    """The table [aliasing] of rewriting.toml."""

    views: frozenset[str]
    view_prefixes: tuple[str, ...]
    same: frozenset[str]
    strides: frozenset[str]


@dataclass(frozen=True, slots=True)
class Hashing:
    """The table [hashing] of rewriting.toml."""

    functions: frozenset[str]
    texts: frozenset[str]
    methods: frozenset[str]
    containers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Progress:
    """The table [progress] of rewriting.toml."""

    of_values: frozenset[str]
    of_ranges: frozenset[str]
    methods: frozenset[str]


@dataclass(frozen=True, slots=True)
class Beyond:
    """The table [beyond] of rewriting.toml."""

    first: tuple[str, ...]
    moves: tuple[str, ...]
    questions: frozenset[str]
    control_flow: frozenset[str]
    meant: frozenset[str]


@dataclass(frozen=True, slots=True)
class WithoutTrace:
    """A rule of the table [without_trace] of rewriting.toml."""

    moves: tuple[str, ...]
    applicability: Applicability


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The tables of rewriting.toml; each field is described there."""

    imports: Mapping[str, tuple[str, str]]
    checks: Mapping[str, str]
    message_reads: frozenset[str]
    message_refused: frozenset[str]
    reductions: frozenset[str]
    boolean: frozenset[str]
    float_questions: Mapping[str, str]
    integer: frozenset[str]
    counted_off: frozenset[str]
    weighing: Mapping[str, str]
    accumulating: frozenset[str]
    of_floats: frozenset[str]
    choosing: frozenset[str]
    same_dtype: frozenset[str]
    promoting: frozenset[str]
    viewing: frozenset[str]
    literal: frozenset[str]
    with_places: frozenset[str]
    ordering: frozenset[str]
    orders: frozenset[str]
    dtypes: Mapping[str, str]
    numbers: frozenset[str]
    of_numbers: frozenset[str]
    number_libraries: frozenset[str]
    looking_into: frozenset[str]
    replacing: frozenset[str]
    placing: frozenset[str]
    filling: frozenset[str]
    importing: frozenset[str]
    exposing: frozenset[str]
    tensor_classes: frozenset[str]
    extremes: Mapping[str, str]
    spreads: frozenset[str]
    averages: frozenset[str]
    sized: frozenset[str]
    shaped: frozenset[str]
    distinct: frozenset[str]
    least: frozenset[str]
    rows_found: frozenset[str]
    of_tensors_alone: frozenset[str]
    vouched: frozenset[str]
    asks_what_is_there: frozenset[str]
    present: frozenset[str]
    row_adding: frozenset[str]
    row_shaping: frozenset[str]
    questions: frozenset[str]
    static: frozenset[str]
    random: frozenset[str]
    stateless: frozenset[str]
    impure: frozenset[str]
    hearing: frozenset[str]
    heard_methods: frozenset[str]
    heard_fixtures: frozenset[str]
    defaults: frozenset[str]
    asking_for_gradients: frozenset[str]
    modes: frozenset[str]
    catching: frozenset[str]
    catching_decorators: frozenset[str]
    catching_nothing: frozenset[str]
    calling: frozenset[str]
    signals: frozenset[str]
    protocol_signals: frozenset[str]
    total: frozenset[str]
    ranks: frozenset[str]
    cut: frozenset[str]
    wrappers: frozenset[str]
    without_gradients: frozenset[str]
    made_plain: Mapping[str, str]
    unsafe_gradients: Mapping[str, float]
    divisions: frozenset[str]
    solvers: frozenset[str]
    overwriting: frozenset[str]
    loading: Mapping[str, str]
    tensors_of_modules: frozenset[str]
    named_tensors: Mapping[str, str]
    adding: Mapping[str, bool]
    functional: Mapping[str, str]
    elementwise: frozenset[str]
    listings: frozenset[str]
    keeping_values: frozenset[str]
    flattened_by: Mapping[str, tuple[tuple[int, ...], ...]]
    element_counts: frozenset[str]
    whole: frozenset[str]
    concatenations: frozenset[str]
    stackings: frozenset[str]
    repeating: frozenset[str]
    conversions: frozenset[str]
    deep_copies: frozenset[str]
    segments: Segments
    bounds: BoundFacts
    spare_rows: SpareRows
    expensive: frozenset[str]
    aliasing: Aliasing
    outlining: Mapping[str, str]
    compiler_options: Mapping[str, str]
    read_apart: Mapping[str, str]
    flags_refused: Mapping[str, str]
    hashing: Hashing
    progress: Progress
    tree_words: frozenset[str]
    text_functions: frozenset[str]
    text_methods: frozenset[str]
    splitting: frozenset[str]
    text_libraries: frozenset[str]
    text_types: frozenset[str]
    handing_on: frozenset[str]
    taking_out: frozenset[str]
    beyond: Beyond
    without_trace: Mapping[str, WithoutTrace]
    unshown: Mapping[str, str]


@cache
def knowledge() -> Knowledge:
    """The tables. Raises CatalogError where the file doesn't say what it must."""
    return loaded("rewriting.toml", _knowledge)


def _knowledge(table: dict[str, Any]) -> Knowledge:
    imports = {name: (module, name) for module, names in table["imports"]["names"].items() for name in names}
    renamed = {
        "imports": imports | {module: (module, "") for module in table["imports"]["modules"]},
        "checks": table["checks"]["by_exception"],
        "message_reads": table["checks"]["message_reads"],
        "message_refused": table["checks"]["message_refused"],
        "cut": table["gradients"]["cut"],
        "wrappers": table["gradients"]["wrappers"],
        "without_gradients": table["gradients"]["managers"],
        "unsafe_gradients": table["gradients"]["unsafe"],
        "divisions": table["gradients"]["divisions"],
        "solvers": table["gradients"]["solvers"],
        "tree_words": table["trees"]["words"],
    }
    flat = (table[section] for section in ("types", "purity", "in_place", "groups", "cost", "texts"))
    return filled(Knowledge, renamed, table, *flat)
