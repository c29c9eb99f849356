"""Specs that are wrong in one way each are all found, with sizes that show it when they are run; right ones are not.

Every second one is tried; all of them with DDELINT_LONG=1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddelint.nouns.contracts import Contract
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.pipeline.spec_checking import check_specs
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

PLANTED = Path(__file__).parent / "planted"
PROGRAMS = ("pooled", "grouped", "branching", "dims", "nested")


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
    if specs(program).index(name) % 2 and not os.environ.get("DDELINT_LONG"):
        pytest.skip("waits for DDELINT_LONG=1: all of them take minutes")
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


MARKED = """
import torch
from torch._dynamo import mark_dynamic
from torch._dynamo.decorators import mark_unbacked

def fn(tokens, mask):
    if tokens.shape[1] > 64:
        raise ValueError("too long")
    return (tokens * mask).unflatten(1, (-1, 2)).sum(1)

def make_inputs(seed):
    tokens, mask = torch.rand(3, 6), torch.rand(3, 6)
    for x in tokens, mask:
        {marks}
    return tokens, mask
"""
ROWS, LENGTH = "mark_unbacked(x, 0, shape_id='rows')", "mark_unbacked(x, 1, max=64, shape_id='length')"


@pytest.mark.parametrize(
    ("marks", "code", "fact"),
    [
        ((ROWS, LENGTH.replace("64", "66")), "DDE408", "tokens.shape[1] <= 64"),
        ((ROWS, LENGTH), "DDE408", "tokens.shape[1] % 2 == 0"),
        (("mark_unbacked(x, 0)", LENGTH), "DDE408", "tokens.shape[0] == mask.shape[0]"),
        ((ROWS.replace(")", ", min=2, max=8)"), LENGTH), "DDE407", "tokens.shape[0] >= 2"),
        ((ROWS,), "DDE409", "tokens.shape[1]"),
        (("mark_dynamic(x, 1)",), "DDE409", "tokens.shape[0]"),
    ],
)
def test_what_is_wrong_with_marks(worker: Worker, tmp_path: Path, marks: tuple[str, ...], code: str, fact: str) -> None:
    """Marks cannot say that a size divides: that is all that is left where nothing else is wrong with them."""
    path = tmp_path / "marked.py"
    path.write_text(MARKED.format(marks="\n        ".join(marks)), "utf-8")
    session = worker.open(SessionOptions(EntrySpec(str(path)), (str(path),), unbacked="all", device="cpu"))
    assert not isinstance(session, EntryFailure)
    (checked,) = check_specs(session, session.contract({}))
    session.close()
    found = [one for one in checked.findings if (one.code, one.fact) == (code, fact)]
    assert found, checked
    assert found[0].witness is not None
    assert found[0].outcome is not None
    assert found[0].outcome.ended in (("same",) if code in ("DDE407", "DDE409") else ("refused", "raised", "broke"))


def test_there_are_at_least_thirty() -> None:
    assert sum(name.startswith("WRONG") for program in PROGRAMS for name in specs(program)) >= 30
