"""What the control-flow moves know about operators, read once from rules/rewriting.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.catalog import CatalogError, rules_folder
from ddelint.diagnostics import Applicability


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
    rows: int


@dataclass(frozen=True, slots=True)
class Aliasing:
    """The table [aliasing] of rewriting.toml."""

    views: frozenset[str]
    view_prefixes: tuple[str, ...]
    same: frozenset[str]


@dataclass(frozen=True, slots=True)
class FakeKernels:
    """The table [fake_kernels] of rewriting.toml."""

    flattened: frozenset[str]
    copies: frozenset[str]
    integers: frozenset[str]
    positions: frozenset[str]
    tables: frozenset[str]
    flat: frozenset[str]


@dataclass(frozen=True, slots=True)
class WithoutTrace:
    """A rule of the table [without_trace] of rewriting.toml."""

    moves: tuple[str, ...]
    applicability: Applicability


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The tables of rewriting.toml; each field is described there."""

    checks: Mapping[str, str]
    reductions: frozenset[str]
    boolean: frozenset[str]
    integer: frozenset[str]
    numbers: frozenset[str]
    questions: frozenset[str]
    static: frozenset[str]
    random: frozenset[str]
    impure: frozenset[str]
    catching: frozenset[str]
    total: frozenset[str]
    ranks: frozenset[str]
    unsafe_gradients: Mapping[str, float]
    functional: Mapping[str, str]
    elementwise: frozenset[str]
    listings: frozenset[str]
    concatenations: frozenset[str]
    conversions: frozenset[str]
    segments: Segments
    bounds: BoundFacts
    spare_rows: SpareRows
    dear: frozenset[str]
    aliasing: Aliasing
    fake_kernels: FakeKernels
    without_trace: Mapping[str, WithoutTrace]


@cache
def knowledge() -> Knowledge:
    """The tables. Raises CatalogError where the file doesn't say what it must."""
    try:
        table: dict[str, Any] = tomllib.loads((rules_folder() / "rewriting.toml").read_text("utf-8"))
        types, purity, groups, bounds = table["types"], table["purity"], table["groups"], table["bounds"]
        return Knowledge(
            checks=dict(table["checks"]["by_exception"]),
            reductions=frozenset(types["reductions"]),
            boolean=frozenset(types["boolean"]),
            integer=frozenset(types["integer"]),
            numbers=frozenset(types["numbers"]),
            questions=frozenset(types["questions"]),
            static=frozenset(types["static"]),
            random=frozenset(purity["random"]),
            impure=frozenset(purity["impure"]),
            catching=frozenset(purity["catching"]),
            total=frozenset(purity["total"]),
            ranks=frozenset(purity["ranks"]),
            unsafe_gradients=dict(table["gradients"]["unsafe"]),
            functional=dict(table["in_place"]["functional"]),
            elementwise=frozenset(groups["elementwise"]),
            listings=frozenset(groups["listings"]),
            concatenations=frozenset(groups["concatenations"]),
            conversions=frozenset(groups["conversions"]),
            segments=Segments(
                reductions=dict(table["segments"]["reductions"]),
                with_places=frozenset(table["segments"]["with_places"]),
                constructors=frozenset(table["segments"]["constructors"]),
                alike=frozenset(table["segments"]["alike"]),
            ),
            bounds=BoundFacts(
                least=frozenset(bounds["least"]),
                upper=dict(bounds["upper"]),
                keeps=frozenset(bounds["keeps"]),
                picks=frozenset(bounds["picks"]),
            ),
            spare_rows=SpareRows(
                scans=dict(table["spare_rows"]["scans"]),
                reductions=dict(table["spare_rows"]["reductions"]),
                rows=int(table["spare_rows"]["rows"]),
            ),
            dear=frozenset(table["cost"]["dear"]),
            aliasing=Aliasing(
                views=frozenset(table["aliasing"]["views"]),
                view_prefixes=tuple(table["aliasing"]["view_prefixes"]),
                same=frozenset(table["aliasing"]["same"]),
            ),
            fake_kernels=FakeKernels(**{name: frozenset(words) for name, words in table["fake_kernels"].items()}),
            without_trace={
                code: WithoutTrace(tuple(entry["moves"]), Applicability(entry["applicability"]))
                for code, entry in table["without_trace"].items()
            },
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise CatalogError(f"rewriting.toml: {error!r}") from error
