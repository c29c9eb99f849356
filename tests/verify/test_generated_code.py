"""Generated code, made comparable and held against another; the texts are shortened from what Inductor writes."""

from __future__ import annotations

import textwrap

from ddelint.verify.generated_code import difference, kernel_calls, normalized

CPU = """\
# AOT ID: ['0_inference']
import torch
cpp_fused_softmax_0 = async_compile.cpp_pybinding(['const float*', 'float*'], r'''
    #pragma GCC ivdep
    for(int64_t x0=static_cast<int64_t>(0L); x0<static_cast<int64_t>(ks0); x0+=static_cast<int64_t>(1L))
        auto tmp0 = in_ptr0[static_cast<int64_t>(x0)];
''')

def call(args):
    s77 = arg2_1
    assert_size_stride(arg3_1, (s77, 64), (64, 1), 'input')
    buf0 = empty_strided_cpu((s77, 32), (32, 1), torch.float32)
    cpp_fused_softmax_0(arg3_1, buf0, s77)
    return (buf0, )

def benchmark_compiled_module(times=10):
    arg2_1 = 512
"""

TRITON = """\
@triton_heuristics.pointwise(
    size_hints={'x': 4096},
    triton_meta={'signature': {'in_ptr0': '*fp32', 'ks0': 'i32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}},
)
def triton_poi_fused_mul_0(in_ptr0, ks0, xnumel, XBLOCK : tl.constexpr):
    xoffset = tl.program_id(0) * XBLOCK
    tmp0 = tl.load(in_ptr0 + (x0), xmask)

def call(args):
    triton_poi_fused_mul_0.run(arg1_1, s0, xnumel, stream=stream0)
"""


def test_names_that_are_numbered_do_not_count() -> None:
    other = CPU.replace("s77", "u0").replace("arg3_1", "arg5_1").replace("buf0", "buf4").replace("'0_inf", "'7_inf")
    other = other.replace("= 512", "= 8192").replace("tmp0", "tmp11")
    assert normalized(CPU) == normalized(other)
    assert difference([CPU], [other]).divergences == ()
    assert difference([CPU], [other]).changed == 0


def test_a_run_time_check_costs_next_to_nothing() -> None:
    check = "    if not (u0 >= 0):\n        raise RuntimeError('u0 >= 0')\n"
    found = difference([CPU], [CPU.replace("    assert_size", check + "    assert_size")])
    assert found.changed == 2
    (divergence,) = found.divergences
    assert (divergence.decision, divergence.closes) == ("run-time check", "")
    assert divergence.backed == {}


def test_a_division_that_relies_on_no_sign_costs_next_to_nothing() -> None:
    backed = TRITON.replace("(x0)", "(x0 + 256*((3 + ks0) // 4))")
    unbacked = TRITON.replace("(x0)", "(x0 + 256*(triton_helpers.div_floor_integer(3 + ks0,  4)))")
    (divergence,) = difference([backed], [unbacked]).divergences
    assert (divergence.decision, divergence.closes) == ("floor division", "")
    assert (divergence.backed, divergence.unbacked) == ({"//": 1}, {"div_floor_integer": 1})


def test_another_fusion_is_named() -> None:
    loop = "    #pragma GCC ivdep\n    for(int64_t x0=static_cast<int64_t>(0L); x0<ks0; x0+=1)\n"
    found = difference([CPU], [CPU.replace("    #pragma", loop + "    #pragma")])
    assert [(d.decision, d.closes, dict(d.unbacked)) for d in found.divergences] == [
        ("fusion", "hint", {"#pragma GCC ivdep": 1})
    ]


def test_wide_indices_want_a_bound_and_other_tuning_a_hint() -> None:
    wide = TRITON.replace("'ks0': 'i32', 'xnumel': 'i32'", "'ks0': 'i64', 'xnumel': 'i64'").replace("4096", "8192")
    found = {d.decision: d for d in difference([TRITON], [wide]).divergences}
    assert found["indexing width"].closes == "bound"
    assert (found["indexing width"].backed, found["indexing width"].unbacked) == ({"i32": 2}, {"i64": 2})
    assert (found["tuning hint"].backed, found["tuning hint"].closes) == ({"{'x': 4096}": 1}, "hint")


def test_another_kind_of_reduction_is_named() -> None:
    one = "@triton_heuristics.persistent_reduction(\n    reduction_hint=ReductionHint.INNER,\n"
    two = "@triton_heuristics.reduction(\n    reduction_hint=ReductionHint.DEFAULT,\n"
    (found,) = difference([one], [two]).divergences
    assert found.decision == "reduction"
    assert found.backed == {"persistent_reduction": 1, "INNER": 1}


def test_what_no_pattern_names_is_told_as_other() -> None:
    (found,) = difference(["    y = f(1)\n"], ["    y = g(1)\n"]).divergences
    assert (found.decision, found.backed, found.unbacked) == ("other", {"lines": 1}, {"lines": 1})


def test_what_only_moved_is_no_decision() -> None:
    lines = textwrap.dedent(CPU).splitlines()
    moved = "\n".join([*lines[:3], lines[4], lines[3], *lines[5:]])
    assert difference([CPU], [moved]).divergences == ()


def test_kernels_are_counted_where_they_are_called() -> None:
    assert kernel_calls([CPU, TRITON]) == 2
