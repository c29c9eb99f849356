"""Which sizes `--unbacked all` makes unbacked, and by which rule a branch on one of them goes."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from ddelint.nouns.contracts import FIXED, FREE, Contract, Dimension, Requirement
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.pipeline.sessions import fixed_sizes, open_entry
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

PROGRAM = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(16, 8)

    def forward(self, hidden, mask):
        {bound}
        if {test}:
            hidden = hidden * 0.5
        return self.project(hidden) * mask


def make_inputs(seed):
    return torch.ones(5 + seed, 16), torch.ones(5 + seed, 1)
"""


class Notes(Silence):
    """A progress that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


def opened(worker: Worker, path: Path, unbacked: str, notes: Notes) -> Session:
    spec = EntrySpec(str(path))
    session = open_entry(
        worker,
        SessionOptions(spec, (str(path),), unbacked=unbacked, device="cpu"),
        notes,
    )
    assert not isinstance(session, EntryFailure)
    return session


@pytest.mark.parametrize(
    ("bound", "test", "code"),
    [
        ("n = hidden.shape[0]", "n > 8", "DDE401"),
        ("n = hidden.size(0)", "8 < n", "DDE401"),
        ("n, width = hidden.shape", "n == 0", "DDE402"),
        ("pass", "hidden.shape[0] > 8", "DDE401"),
    ],
)
def test_what_the_program_fixes_stays_as_it_is(
    bound: str, test: str, code: str, worker: Worker, tmp_path: Path
) -> None:
    path = tmp_path / "model.py"
    path.write_text(PROGRAM.format(bound=bound, test=test))
    notes = Notes()
    with closing(opened(worker, path, "all", notes)) as session:
        assert session.info.unbacked == ("hidden.0", "mask.0")
        source = SourceFile.read(path)
        assert [diagnose(question, source).code for question in session.trace({}).questions] == [code]
    assert len(notes.told) == 1
    assert "model.py: not unbacked are hidden.shape[1] == 16, mask.shape[1] == 1: " in notes.told[0]


def test_what_is_named_is_unbacked(worker: Worker, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(PROGRAM.format(bound="pass", test="hidden.shape[0] > 8"))
    notes = Notes()
    with closing(opened(worker, path, "hidden.1", notes)) as session:
        assert session.info.unbacked == ("hidden.1",)
    assert not notes.told


def test_sizes_of_tensors_in_containers() -> None:
    names = [("batch['tokens'].shape[1]", FIXED), ("batch['tokens'].shape[0]", FREE), ("pair[0].shape[2]", FIXED)]
    contract = Contract("", dimensions=tuple(Dimension(name, 4, kind) for name, kind in names))
    assert list(fixed_sizes(contract)) == ["batch['tokens'].1", "pair[0].2"]
    product = Requirement("batch['tokens'].shape[0] * pair[0].shape[2] == 32", "torch")
    tied = fixed_sizes(replace(contract, requirements=(product,)))
    assert list(tied) == ["batch['tokens'].1", "batch['tokens'].0", "pair[0].2"]
    assert not fixed_sizes(Contract("", contract.filename, failure=EntryFailure("timeout", "")))


class Opener:
    """A worker that opens nothing, and remembers whether earlier answers would have counted."""

    known: list[bool]

    def __init__(self) -> None:
        self.known = []

    def open(self, _: SessionOptions, verdicts: object = None) -> EntryFailure:
        self.known.append(verdicts is not None)
        return EntryFailure("missing", "")


def test_only_who_says_so_uses_the_answers_of_earlier_calls(tmp_path: Path) -> None:
    """`verify` asks anew each time: what it reports was run."""
    (tmp_path / "model.py").write_text("")
    path, opener = str(tmp_path / "model.py"), Opener()
    options = CheckOptions(root=str(tmp_path), cache_folder=str(tmp_path / "cache"))
    for known in (None, options, replace(options, cache=False)):
        open_entry(cast(Worker, opener), SessionOptions(EntrySpec(path), (path,)), Notes(), known)
    assert opener.known == [False, True, False]
