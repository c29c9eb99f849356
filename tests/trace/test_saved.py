"""Arguments in a safetensors file come back as they were."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ddelint.trace import saved


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "inputs.safetensors")


def test_structure_values_and_layout_come_back(file: str) -> None:
    shared = torch.arange(6).reshape(2, 3)
    args = (
        shared,
        [shared, {"w": torch.ones(2, 2, dtype=torch.bfloat16).t(), 3: None}],
        (True, 2, -0.5, float("inf"), 1 + 2j, "text", torch.float16, torch.device("cpu"), torch.Size((1, 2))),
        slice(1, None, 2),
        {1, 2},
    )
    kwargs = {
        "bias": torch.randn(3).requires_grad_(),
        "row": torch.tensor([[1.0, 2.0]]).expand(4, 2),
        "none": torch.empty(0, 3, dtype=torch.bool),
        "column": torch.randn(3, 4).t(),
    }
    assert saved.write(file, [saved.Saved("Net", "/some/model.py", ((args, kwargs), ((), {})))]) == []
    (program,) = saved.read(file)
    assert (program.name, program.filename, program.calls[1]) == ("Net", "model.py", ((), {}))
    got_args, got_kwargs = program.calls[0]
    assert got_args[0] is got_args[1][0]
    assert torch.equal(got_args[0], shared)
    assert got_args[1][1]["w"].dtype is torch.bfloat16
    assert got_args[1][1][3] is None
    assert got_args[2:] == args[2:]
    assert [type(value) for value in got_args[2]] == [type(value) for value in args[2]]
    for name, tensor in kwargs.items():
        got = got_kwargs[name]
        assert torch.equal(got, tensor), name
        assert (got.dtype, got.stride(), got.requires_grad) == (tensor.dtype, tensor.stride(), tensor.requires_grad)


def test_what_cannot_be_saved_is_refused_by_name_and_the_rest_is_kept(file: str) -> None:
    programs = [
        saved.Saved("Odd", "a.py", (((torch.ones(2), Path("x")), {}),)),
        saved.Saved("Sparse", "a.py", (((), {"x": torch.eye(2).to_sparse()}),)),
        saved.Saved("Net", "a.py", (((torch.zeros(3),), {}),)),
    ]
    odd, sparse = saved.write(file, programs)
    assert odd.startswith("Odd: argument 2 holds a pathlib")
    assert sparse.startswith("Sparse: argument `x` is a tensor that safetensors cannot hold")
    (program,) = saved.read(file)
    assert program.calls[0][0][0].tolist() == [0.0, 0.0, 0.0]


def test_other_programs_can_read_the_file(file: str) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    saved.write(file, [saved.Saved("Net", "a.py", (((torch.ones(2, 3),), {"y": torch.arange(4)}),))])
    tensors = safetensors.load_file(file)
    assert sorted(tuple(tensor.shape) for tensor in tensors.values()) == [(2, 3), (4,)]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (None, "cannot read"),
        (b"", "holds no saved inputs"),
        (b"\xff" * 16, "its header is cut off"),
        (b"\x02\x00\x00\x00\x00\x00\x00\x00{}", "it was not written by"),
    ],
)
def test_a_file_that_is_something_else_is_told(file: str, data: bytes | None, message: str) -> None:
    if data is not None:
        Path(file).write_bytes(data)
    with pytest.raises(saved.SavedInputsError, match=message):
        saved.read(file)


def test_a_file_that_was_cut_off_is_told(file: str) -> None:
    saved.write(file, [saved.Saved("Net", "a.py", (((torch.ones(64),), {}),))])
    Path(file).write_bytes(Path(file).read_bytes()[:-8])
    with pytest.raises(saved.SavedInputsError, match="its tensors are cut off"):
        saved.read(file)
