"""Blocks of a kernel that wait for each other, and numbers cast as a GPU casts them: without Triton."""

from __future__ import annotations

import threading

import numpy
import pytest
import torch

from ddelint.verify.triton_numbers import cast, casts
from ddelint.verify.waiting_blocks import WaitingBlocks


class Interpreter:
    """Knows which block is run."""

    def __init__(self) -> None:
        self.place = (0, 0, 0)

    def choose(self, *place: int) -> None:
        self.place = place  # type: ignore[assignment]


def test_what_all_have_written_is_read_behind_the_barrier() -> None:
    interpreter, written, read = Interpreter(), [0] * 6, [0] * 6

    def kernel(scale: int) -> None:
        x, y, _ = interpreter.place
        written[3 * y + x] = scale * (x + 1)
        blocks.barrier("semaphore")
        read[3 * interpreter.place[1] + interpreter.place[0]] = sum(written)

    blocks = WaitingBlocks(kernel, (3, 2, 1), interpreter.choose)
    for _ in range(6):
        blocks(scale=10)
    assert written == [10, 20, 30, 10, 20, 30], "each block once, although it is called for each"
    assert read == [120] * 6


def test_what_a_block_raises_is_raised_and_the_others_end() -> None:
    interpreter = Interpreter()
    before = threading.active_count()

    def kernel() -> None:
        blocks.barrier()
        if interpreter.place[0] == 1:
            raise ValueError("one of them")
        blocks.barrier()

    blocks = WaitingBlocks(kernel, (4, 1, 1), interpreter.choose)
    with pytest.raises(ValueError, match="one of them"):
        blocks()
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(timeout=10)
    assert threading.active_count() <= before


@pytest.mark.parametrize("target", ["bf16", "fp8e4nv", "fp8e5"])
def test_casts_round_to_the_nearest(target: str) -> None:
    kinds = {"bf16": torch.bfloat16, "fp8e4nv": torch.float8_e4m3fn, "fp8e5": torch.float8_e5m2}
    values = torch.tensor([1.0, 1.0078125, 1.00390625, 1.999, -2.0001, 0.3, 1e-3, 0.0])
    bits = cast(values.numpy(), "fp32", target)
    assert bits.dtype == (numpy.uint16 if target == "bf16" else numpy.uint8)
    assert torch.equal(torch.from_numpy(cast(bits, target, "fp32")), values.to(kinds[target]).float())


def test_integers_are_numbers_and_not_bits() -> None:
    assert cast(cast(numpy.arange(5), "int64", "bf16"), "bf16", "fp64").tolist() == [0, 1, 2, 3, 4]


def test_only_what_numpy_lacks_is_cast_here() -> None:
    assert casts("fp32", "bf16")
    assert not casts("fp32", "fp16")
    assert not casts("fp32", "fp8e4b15"), "torch has no such type"
