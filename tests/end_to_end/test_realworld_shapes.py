"""Contracts of modules of published packages, held against torch: compiled under the spec, called with drawn sizes.

Modules that compile as they are. The scripts stand in realworld_cases/; packages that are absent are skipped.
`DDELINT_DRAWN=200` draws 200 of each kind.
"""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

import pytest

from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.shapes.names import names_of
from ddelint.shapes.probing import draws, violations
from ddelint.shapes.requirements import requirement_text, side_taken
from ddelint.shapes.specs import spec_of
from ddelint.trace.worker_process import Worker

pytestmark = [pytest.mark.slow, pytest.mark.realworld]
CASES = Path(__file__).resolve().parent / "realworld_cases"
DRAWN = int(os.environ.get("DDELINT_DRAWN", "30"))
"""Of each kind, at most: a program of few sizes has fewer that differ."""
WIDE = (*range(1, 33), *range(40, 257, 8))
QUICK = ("pyg_gcnconv", "pyg_to_dense_batch")
NEEDED = {
    "egnn_adj": {"feats.shape[1] == adj_mat.shape[1]", "feats.shape[0] == coors.shape[0]"},
    "pyg_gcnconv": {"x.shape[1] == 8", "edge_index.shape[0] == 2"},
    "pyg_global_mean_pool": {"x.shape[0] == batch.shape[0]"},
    "pyg_to_dense_batch": {"x.shape[0] == batch.shape[0]"},
    "pyg_topkpooling": {"x.shape[1] == 8", "x.shape[0] == batch.shape[0]"},
    "tf_xlm": {"input_ids.shape[0] == lengths.shape[0]", "input_ids.shape[1] >= 8"},
}


@pytest.mark.parametrize("name", sorted(NEEDED))
def test_torch_takes_what_the_contract_allows_and_nothing_else(worker: Worker, name: str) -> None:
    if name not in QUICK and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: all of them take minutes")
    path = str(CASES / f"{name}.py")
    session = worker.open(SessionOptions(EntrySpec(path, "model"), (path,), unbacked="all", device="cpu"))
    if isinstance(session, EntryFailure):
        assert "ModuleNotFoundError" in session.message
        pytest.skip(session.message)
    try:
        contract = session.contract({})
        assert contract.failure is None
        assert {one.text for one in contract.requirements} >= NEEDED[name]
        sides = [side_taken(branch, contract.example) for branch in contract.branches]
        wanted = [*(requirement_text(one) for one in contract.requirements), *sides]
        some = [f"{size} >= 1" for size in contract.example]
        good = list(islice(draws([*wanted, *some], contract.example, DRAWN, 0), DRAWN))
        more = draws([*wanted, *some], contract.example, DRAWN, 0, WIDE)
        good += list(islice((sizes for sizes in more if sizes not in good), DRAWN - len(good)))
        bad = list(islice(violations(wanted, contract.example, DRAWN, 0), DRAWN))
        trial = session.try_spec(spec_of(contract, names_of(contract), sides), contract.example, [*good, *bad])
    finally:
        session.close()
    assert trial.compiled, trial.error
    accepted, refused = trial.outcomes[: len(good)], trial.outcomes[len(good) :]
    assert sum(one.ended == "same" for one in accepted) >= len(accepted) // 3 >= 7
    # an index beyond the sizes at hand is a matter of values: eager raises there, too
    assert [one for one in accepted if one.ended != "same" and not one.eager] == []
    assert len(refused) >= 20
    assert [one for one in refused if one.ended in ("same", "differs")] == []
