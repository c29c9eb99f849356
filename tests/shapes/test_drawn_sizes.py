"""Contracts of programs as serving runs them, held against torch: compiled under the spec, called with drawn sizes."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.shapes.names import names_of
from ddelint.shapes.probing import draws, violations
from ddelint.shapes.requirements import requirement_text, side_taken
from ddelint.shapes.specs import spec_of
from ddelint.trace.worker_process import Worker

pytestmark = pytest.mark.slow
PROGRAMS = Path(__file__).parent / "programs"
DRAWN = int(os.environ.get("DDELINT_DRAWN", "30"))
"""Of each kind; 200 on a long run."""
WIDE = (*range(1, 33), *range(40, 257, 8))
"""Where the search for more sizes begins, of programs with few dimensions."""
NEEDED = {
    "detect": {"features.shape[1] == 8", "anchors.shape[0] == 3", "features.shape[0] == sizes.shape[0]"},
    "moe": {
        "hidden.shape[2] == 12",
        "hidden.shape[0] * hidden.shape[1] == priority.shape[0] * priority.shape[1]",
    },
    "packed": {"tokens.shape[0] % 8 == 0", "tokens.shape[0] == sequence.shape[0]"},
    "patches": {
        "image.shape[2] >= 8",
        "image.shape[2] % 4 == 0",
        "image.shape[3] % 2 == 0",
        "extra.shape[2] == 8 * image.shape[1]",
    },
    "paged": {"block_tables.shape[1] <= 1024", "hidden.shape[1] == 16", "hidden.shape[0] == lengths.shape[0]"},
    "speech": {
        "features.shape[2] <= 3000",
        "keep.shape[1] == (features.shape[2] + 3) // 4",
        "features.shape[0] == keep.shape[0]",
    },
}


def conditions(contract: Contract) -> list[str]:
    """What one graph needs: the contract, and the example's side of each branch."""
    sides = [side_taken(branch, contract.example) for branch in contract.branches]
    return [*(requirement_text(one) for one in contract.requirements), *sides]


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_torch_takes_what_the_contract_allows_and_nothing_else(worker: Worker, name: str) -> None:
    path = str(PROGRAMS / f"{name}.py")
    session = worker.open(SessionOptions(EntrySpec(path), (path,), unbacked="all", device="cpu"))
    assert not isinstance(session, EntryFailure)
    try:
        contract = session.contract({})
        assert contract.failure is None
        assert {one.text for one in contract.requirements} >= NEEDED[name]
        wanted = conditions(contract)
        sides = wanted[len(contract.requirements) :]
        some = [f"{size} >= 1" for size in contract.example]  # 0 == 0 holds whatever else a product needs
        good = list(islice(draws([*wanted, *some], contract.example, DRAWN, 0), DRAWN))
        more = draws([*wanted, *some], contract.example, DRAWN, 0, WIDE)
        good += list(islice((sizes for sizes in more if sizes not in good), DRAWN - len(good)))
        bad = list(islice(violations(wanted, contract.example, DRAWN, 0), DRAWN))
        trial = session.try_spec(spec_of(contract, names_of(contract), sides), contract.example, [*good, *bad])
    finally:
        session.close()
    assert trial.compiled, trial.error
    assert len(good) == DRAWN
    assert len(bad) == DRAWN
    accepted, refused = trial.outcomes[: len(good)], trial.outcomes[len(good) :]
    # an index beyond the sizes at hand is a matter of values: eager raises there, too
    assert [one for one in accepted if one.ended != "same" and not one.eager] == []
    assert [one for one in refused if one.ended in ("same", "differs")] == []
