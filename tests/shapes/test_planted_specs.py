"""Specs that are wrong in one way each are all found, with sizes that show it when they are run; right ones are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.pipeline.spec_checking import check_specs
from ddelint.trace.session import Session, Worker

PLANTED = Path(__file__).parent / "planted"
PROGRAMS = ("pooled", "grouped", "branching", "dims")


def specs(program: str) -> list[str]:
    lines = (PLANTED / f"{program}.py").read_text("utf-8").splitlines()
    return [line.partition(" = ")[0] for line in lines if line.startswith(("RIGHT", "WRONG")) and " = " in line]


@pytest.fixture(scope="module")
def opened(worker: Worker) -> Iterator[dict[str, tuple[Session, Contract]]]:
    found: dict[str, tuple[Session, Contract]] = {}
    for program in PROGRAMS:
        path = str(PLANTED / f"{program}.py")
        session = worker.open(SessionOptions(EntrySpec(path), (path,), unbacked="all", device="cpu"))
        assert not isinstance(session, EntryFailure)
        found[program] = (session, session.contract({}))
    yield found
    for session, _ in found.values():
        session.close()


@pytest.mark.parametrize(("program", "name"), [(program, name) for program in PROGRAMS for name in specs(program)])
def test_what_is_wrong_with_a_spec(opened: dict[str, tuple[Session, Contract]], program: str, name: str) -> None:
    session, contract = opened[program]
    assert contract.failure is None
    assert contract.complete
    (checked,) = check_specs(session, contract, name)
    assert checked.undecided == ()
    found = {one.code for one in checked.findings}
    if name.startswith("RIGHT"):
        assert (found, checked.error, checked.said) == (set(), "", ())
        return
    code = f"DDE{name.split('_')[1]}"
    assert code in found
    for one in checked.findings:
        if "no_such" in name or "too_many_dimensions" in name:
            continue  # torch itself passes over these, or does not: whatever came of it is reported
        assert one.witness is not None
        assert one.outcome is not None
        assert one.outcome.ended in (("same",) if one.code in ("DDE407", "DDE409") else ("refused", "raised", "broke"))


def test_there_are_at_least_thirty() -> None:
    assert sum(name.startswith("WRONG") for program in PROGRAMS for name in specs(program)) >= 30
