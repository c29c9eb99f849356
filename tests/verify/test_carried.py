"""Outcomes cross from one process to another as they were, without a file's worth of headers around each tensor."""

from __future__ import annotations

import os
import pickle

import pytest
import torch

from ddelint.verify import carried
from ddelint.verify.remembered import Remembered

_PLAIN = [
    torch.arange(6.0).reshape(2, 3).T,
    torch.tensor([True, False]),
    torch.tensor(3, dtype=torch.int16),
    torch.zeros(0, 4),
    torch.tensor([1.5, float("nan")], dtype=torch.bfloat16),
    torch.tensor([1 + 2j]),
]


@pytest.mark.parametrize("tensor", _PLAIN)
def test_a_tensor_of_plain_memory_is_that_memory(tensor: torch.Tensor) -> None:
    data = carried.written([tensor])
    (found,) = carried.read(data)
    assert found.dtype == tensor.dtype
    assert torch.equal(found.nan_to_num(), tensor.nan_to_num())
    assert len(data) < len(pickle.dumps([tensor]))


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, requires_grad=True),
        torch.ones(2, 2).to_sparse(),
        torch.ones(2, device="meta"),
        torch.nn.Parameter(torch.ones(2)),
        torch.tensor([1 + 2j]).conj(),
    ],
)
def test_any_other_tensor_is_what_it_was(tensor: torch.Tensor) -> None:
    found = carried.read(carried.written(tensor))
    assert type(found) is type(tensor)
    assert (found.requires_grad, found.layout, found.device) == (tensor.requires_grad, tensor.layout, tensor.device)
    assert found.is_meta or torch.equal(found.to_dense(), tensor.to_dense())


def test_a_fork_finds_what_another_was_told() -> None:
    remembered = Remembered()
    child = os.fork()
    if not child:
        remembered.keep(("seed 0", 1), b"first")
        remembered.keep(("seed 1", 1), b"")
        os._exit(0)
    os.waitpid(child, 0)
    assert remembered.find(("seed 0", 1)) == b"first"
    assert remembered.find(("seed 1", 1)) == b""
    assert remembered.find(("seed 0", 2)) is None
    remembered.keep(("seed 0", 2), b"second")
    assert remembered.find(("seed 0", 2)) == b"second"


def test_an_answer_that_was_not_written_to_its_end_is_none() -> None:
    remembered = Remembered()
    remembered.keep("whole", b"answer")
    remembered.keep("cut", b"answer")
    os.ftruncate(remembered._file.fileno(), os.fstat(remembered._file.fileno()).st_size - 1)
    assert remembered.find("cut") is None
    assert remembered.find("whole") == b"answer"


def test_an_answer_that_was_cut_is_not_completed_by_the_next() -> None:
    remembered = Remembered()
    remembered.keep("cut", b"answer")
    size = os.fstat(remembered._file.fileno()).st_size
    os.ftruncate(remembered._file.fileno(), size - 1)
    remembered.keep("next", b"whole")
    assert remembered.find("cut") is None
