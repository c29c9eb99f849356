"""Functions of libdevice and instructions of PTX, by torch's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from ddelint.verify.generated_code import knowledge
from ddelint.verify.triton_functions import CannotInterpret, extern, inline, named
from tests.verify.triton_needed import needs_triton


def given(*arrays: Any) -> list[Any]:
    import triton.language as tl

    return [SimpleNamespace(data=numpy.asarray(array, dtype=numpy.float32), dtype=tl.float32) for array in arrays]


def called(assembly: str, *arrays: Any, pack: int = 1) -> Any:
    return inline(None, assembly, "", given(*arrays), [], True, pack).get_result(0).data


@needs_triton
def test_an_instruction_is_answered_by_torch() -> None:
    assert called("rcp.approx.ftz.f32 $0, $1;", [4.0, -2.0]).tolist() == [0.25, -0.5]
    assert called("fma.rn.f32 $0, $1, $2, $3;", [2.0], [3.0], [10.0]).tolist() == [16.0]


@needs_triton
def test_a_fused_product_and_sum_is_rounded_once() -> None:
    x = numpy.float32(1 + 2**-12)
    (fused,) = called("fma.rn.f32 $0, $1, $2, $3;", [x], [x], [-1.0])
    assert fused == numpy.float32(float(x) * float(x) - 1) != x * x - numpy.float32(1)
    (same,) = extern(None, "", "", "__nv_fmaf_rn", given([x], [x], [-1.0]), None, True).data
    assert same == fused


@needs_triton
def test_exponents_are_those_of_the_device() -> None:
    found = extern(None, "", "", "__nv_ilogbf", given([8.0, 0.75, -3.0, 0.0, numpy.nan, numpy.inf]), None, True)
    assert found.data.tolist() == [3, -1, 1, -(2**31), -(2**31), 2**31 - 1]


@needs_triton
@pytest.mark.parametrize(
    "assembly",
    [
        "shf.l.wrap.b32 $0, $1, $2, 3;",
        "add.f32 $0, $2, $1;",
        "add.f32 $0, $1, $1;",
        "{ mul.f32 $0, $1, $2; }",
        "nonsense",
    ],
)
def test_other_assembly_is_named(assembly: str) -> None:
    with pytest.raises(CannotInterpret, match=r"no inline assembly"):
        called(assembly, [1.0], [2.0])
    with pytest.raises(CannotInterpret):
        called("add.f32 $0, $1, $2;", [1.0], [2.0], pack=2)


@pytest.mark.parametrize("table", ["libdevice", "ptx"])
def test_each_word_is_torchs(table: str) -> None:
    for word in knowledge()[table].values():
        name, *order = word.split()
        assert sorted(map(int, order)) == list(range(len(order)))
        assert callable(named(name))
