"""Reductions and scans slice by slice: the same values as one element after the other, the order kept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from ddelint.verify import triton_reductions


def tensor(data: Any, dtype: str = "int64") -> Any:
    """As a tensor of Triton's interpreter, as far as it is looked at."""
    array = numpy.asarray(data)
    return SimpleNamespace(handle=SimpleNamespace(data=array), dtype=dtype)


def joined(left: Any, left_length: Any, right: Any, right_length: Any) -> tuple[Any, Any]:
    """Digits written one behind the other: associative, and nothing that may change places."""
    a, m, b, n = (one.handle.data for one in (left, left_length, right, right_length))
    return tensor(a * 10**n + b), tensor(m + n)


def operation(axis: int | None, keep_dims: bool = False) -> Any:
    combine = SimpleNamespace(fn=joined)
    return SimpleNamespace(axis=axis, keep_dims=keep_dims, combine_fn=combine, to_tensor=tensor)


DIGITS = numpy.array([[1, 2, 3, 4], [6, 7, 8, 9]])
GIVEN = (tensor(DIGITS), tensor(numpy.ones_like(DIGITS)))


@pytest.mark.parametrize(
    ("axis", "keep_dims", "digits"),
    [
        (1, False, [1234, 6789]),
        (0, False, [16, 27, 38, 49]),
        (0, True, [[16, 27, 38, 49]]),
        (1, True, [[1234], [6789]]),
        (None, False, 12346789),
        (None, True, [[12346789]]),
    ],
)
def test_a_reduction_keeps_the_order(axis: int | None, keep_dims: bool, digits: Any) -> None:
    found, length = triton_reductions.reduce(operation(axis, keep_dims), GIVEN)
    assert found.handle.data.tolist() == digits
    assert length.handle.data.max() == {0: 2, 1: 4, None: 8}[axis]


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_scan_of_any_length_keeps_the_order(size: int) -> None:
    digits = numpy.arange(1, size + 1)
    found, _ = triton_reductions.scan(operation(0), (tensor(digits), tensor(numpy.ones_like(digits))))
    assert found.handle.data.tolist() == [int("123456789"[: end + 1]) for end in range(size)]


def test_a_scan_keeps_the_order() -> None:
    found, length = triton_reductions.scan(operation(1), GIVEN)
    assert found.handle.data.tolist() == [[1, 12, 123, 1234], [6, 67, 678, 6789]]
    assert length.handle.data.tolist() == [[1, 2, 3, 4]] * 2


def test_of_one_element_nothing_is_combined() -> None:
    (found,) = triton_reductions.reduce(operation(0), (tensor([7]),))
    assert found.handle.data.tolist() == 7
