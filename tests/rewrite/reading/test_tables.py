"""Tables of the rules' folder: kept as the fields' types say, and a readable error where an entry is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ddelint.knowledge.catalog import CatalogError
from ddelint.nouns.diagnostics import Applicability
from ddelint.rewrite.reading.tables import filled, loaded


@dataclass(frozen=True)
class Inner:
    level: Applicability
    words: tuple[str, ...]


@dataclass(frozen=True)
class Outer:
    names: frozenset[str]
    rows: int
    inner: Inner
    several: Mapping[str, Inner]


INNER = {"level": "safe", "words": ["a", "b"]}


def test_entries_are_kept_as_the_fields_say() -> None:
    inner = Inner(Applicability.SAFE, ("a", "b"))
    sections = {"names": ["x", "x"]}, {"rows": 2, "inner": INNER, "several": {"one": INNER}, "names": []}
    assert filled(Outer, *sections) == Outer(frozenset("x"), 2, inner, {"one": inner})


@pytest.mark.parametrize("table", [{"words": []}, {"level": "perhaps", "words": []}, {"level": "safe", "words": 3}])
def test_what_does_not_fit_names_the_file(table: dict[str, object]) -> None:
    with pytest.raises(CatalogError, match=r"replacements\.toml"):
        loaded("replacements.toml", lambda _: filled(Inner, table))


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(CatalogError, match=r"absent\.toml"):
        loaded("absent.toml", dict)
