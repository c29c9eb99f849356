"""Mutants of our fixtures end no call, and fixes of them hold; DDELINT_MUTANTS says how many, DDELINT_SEED which."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from mutants import mutants, wrong

pytestmark = pytest.mark.filterwarnings("ignore")  # what Python thinks of a mutant

COUNT = int(os.environ.get("DDELINT_MUTANTS", "2000"))
SEED = int(os.environ.get("DDELINT_SEED", "0"))
PARTS = 8


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_wrong_with_what_is_made_of_mutants(part: int) -> None:
    for number, data in enumerate(itertools.islice(mutants(SEED * PARTS + part, COUNT // PARTS), None)):
        assert wrong(data) == "", f"mutant {number} of seed {SEED * PARTS + part}: {data!r}"


def test_a_seed_gives_the_same_mutants() -> None:
    assert list(mutants(7, 20)) == list(mutants(7, 20)) != list(mutants(8, 20))


def test_most_mutants_are_programs() -> None:
    """What does not parse is soon done with: there are enough that are read to their end."""
    made = list(mutants(0, 100))
    assert sum(_is_program(data) for data in made) > len(made) // 2


def _is_program(data: bytes) -> bool:
    try:
        compile(data, "mutant.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


@pytest.mark.parametrize("path", sorted((Path(__file__).parent / "found").glob("*.py")), ids=lambda path: path.stem)
def test_what_was_wrong_once_is_right(path: Path) -> None:
    assert wrong(path.read_bytes()) == ""
