"""Each kind of kernel that Inductor writes: it is of that kind, assembles, and gives what eager gives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.attention.flex_attention import flex_attention

from ddelint.knowledge.gpus import gpu_of
from ddelint.trace import torch_internals
from ddelint.trace.gpu_internals import Backend
from ddelint.verify.gpu_calls import Collector
from tests.verify.triton_needed import needs_triton

pytestmark = [pytest.mark.slow, needs_triton]

COOPERATIVE = {"triton.force_cooperative_reductions": True}
TUNED = {"max_autotune_gemm": True, "max_autotune_conv_backends": "TRITON"}
_GENERATOR = torch.Generator().manual_seed(0)


def randn(*sizes: int) -> torch.Tensor:
    """The same numbers in every run: sums in another order are as far off as the numbers are."""
    return torch.randn(*sizes, generator=_GENERATOR)


def owned(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    """A product by a kernel of the program's own."""
    from tests.verify.planted_kernels import multiplied

    return multiplied(left, right)


KINDS: dict[str, tuple[Callable[..., Any], list[torch.Tensor], dict[str, Any], list[str], str]] = {
    "pointwise": (
        lambda x: x.sin() + 1,
        [randn(70)],
        {},
        ["pointwise"],
        r"'grid_type': 'Grid1D'",
    ),
    "two-dimensional tiles": (
        lambda x, y: x + y.t(),
        [randn(50, 70), randn(70, 50)],
        {},
        ["pointwise"],
        r"'grid_type': 'Grid2D'",
    ),
    "persistent reduction": (
        lambda x: x.sum(1),
        [randn(5, 100)],
        {},
        ["persistent_reduction"],
        r"R0_BLOCK: tl\.constexpr = 128",
    ),
    "looped reduction": (
        lambda x: x.sum(1),
        [randn(3, 1100)],
        {},
        ["reduction"],
        r"for r0_offset in",
    ),
    "split reduction": (
        lambda x: x.sum(),
        [randn(40000)],
        {},
        ["persistent_reduction", "reduction"],
        r"r0_numel = ",
    ),
    "cooperative reduction": (
        lambda x: x.sum(1),
        [randn(2, 3000)],
        COOPERATIVE,
        ["cooperative_reduction"],
        r"x_grid_barrier",
    ),
    "cooperative softmax": (
        lambda x: (x.amax(1), torch.softmax(x, 1)),
        [randn(3, 300)],
        COOPERATIVE,
        ["cooperative_reduction"],
        r"x_grid_barrier",
    ),
    "scan": (
        lambda x: x.cumsum(1),
        [randn(5, 300)],
        {},
        ["persistent_reduction"],
        r"tl\.associative_scan",
    ),
    "split scan": (
        lambda x: x.cumsum(0),
        [torch.randint(-2, 3, (40000,), generator=_GENERATOR).float()],
        {},
        ["split_scan"],
        r"exclusive_scan_decoupled_lookback",
    ),
    "sort": (
        lambda x: torch.sort(x, 1),
        [randn(5, 16)],
        {},
        ["persistent_reduction"],
        r"sort_with_index",
    ),
    "template of a product": (
        lambda x: (x @ x.t()).relu(),
        [randn(64, 64)],
        TUNED,
        ["template"],
        r"'grid_type': 'FixedGrid'",
    ),
    "template of a convolution": (
        lambda x, w: torch.nn.functional.conv2d(x, w),
        [randn(2, 16, 6, 6), randn(16, 16, 3, 3)],
        TUNED,
        ["pointwise", "pointwise", "template"],
        r"triton_helpers\.set_driver_to_gpu",
    ),
    "several in one": (
        lambda x, y: torch._foreach_add([x, y], 1.0),
        [randn(500), randn(77)],
        {},
        ["foreach"],
        r"'grid_type': 'SequentialComboKernelGrid'",
    ),
    "indirect load": (
        lambda x: x[x[:, 0].long().abs() % 6],
        [randn(6, 9)],
        {},
        ["pointwise"],
        r"tl\.device_assert\(.*index out of bounds",
    ),
    "atomic": (
        lambda x: x.new_zeros(9).index_add(0, x[:, 0].long().abs() % 9, x[:, 1]),
        [randn(20, 2)],
        {},
        ["pointwise", "pointwise"],
        r"tl\.atomic_add",
    ),
    "search": (
        lambda x: torch.bucketize(x, torch.arange(10.0)),
        [randn(50) * 10],
        {},
        ["pointwise", "pointwise"],
        r"bucketize_binary_search",
    ),
    "half": (lambda x: x.half() * 2, [randn(70)], {}, ["pointwise"], r"'out_ptr0': '\*fp16'"),
    "bfloat16": (lambda x: x.bfloat16(), [randn(70)], {}, ["pointwise"], r"'out_ptr0': '\*bf16'"),
    "integers to bfloat16": (
        lambda x: x.bfloat16(),
        [torch.arange(500)],
        {},
        ["pointwise"],
        r"'in_ptr0': '\*i64', 'out_ptr0': '\*bf16'",
    ),
    "8 bits": (
        lambda x: x.to(torch.float8_e4m3fn).float(),
        [randn(500)],
        {},
        ["pointwise"],
        r"tl\.float8e4nv",
    ),
    "double": (lambda x: x.double().sin() / 3, [randn(70)], {}, ["pointwise"], r"'out_ptr0': '\*fp64'"),
    "long": (lambda x: (x * 100).long() // 7, [randn(70)], {}, ["pointwise"], r"'out_ptr0': '\*i64'"),
    "libdevice": (lambda x: x.erf(), [randn(70)], {}, ["pointwise"], r"libdevice\.erf"),
    "instructions": (
        lambda x: x.atan() * 2,
        [randn(70) * 3],
        {},
        ["pointwise"],
        r"tl\.inline_asm_elementwise\('fma\.rn\.f32",
    ),
    "rounded product": (
        lambda x: torch.addcmul(x, x, x.sin(), value=0.3),
        [randn(70)],
        {},
        ["pointwise"],
        r"libdevice\.mul_rn",
    ),
    "mutated": (
        lambda x: x.mul_(2),
        [randn(70)],
        {},
        ["pointwise"],
        r"'mutated_arg_names': \['\w",
    ),
}
"""The kind → a program, its inputs, Inductor's settings, the heuristics of its kernels, what shows in one of them."""


SUMS = {"rtol": 1e-5, "atol": 1e-4}
"""Sums of 64 products and more, added up block by block."""


def cloned(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.clone() for tensor in inputs]


def compiled(function: Callable[..., Any], collector: Collector, **settings: Any) -> Callable[..., Any]:
    backend = Backend(collector.gpu, collector, runs=True)
    return torch.compile(function, backend=backend, **settings)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_assembled_and_interpreted(kind: str) -> None:
    import torch._inductor.config as inductor

    function, inputs, settings, heuristics, shows = KINDS[kind]
    collector = Collector(gpu_of("sm_90"), True)
    expected = function(*cloned(inputs))
    with torch_internals.compile_settings(recompiles=8), inductor.patch(settings):
        found = compiled(function, collector)(*cloned(inputs))
    written = Counter(name for code in collector.assembled for name in re.findall(r"triton_heuristics\.(\w+)\(", code))
    assert written == Counter(heuristics)
    assert any(re.search(shows, code) for code in collector.assembled)
    assert [kernel.error for kernel in collector.assembled.values() if kernel.error] == []
    assert set(collector.launched) == set(collector.assembled)
    assert (collector.limits, collector.wrong) == ([], [])
    torch.testing.assert_close(found, expected, **(SUMS if "template" in kind else {}))


LAID_OUT_BY_PIXELS: dict[str, tuple[Callable[..., Any], list[torch.Tensor]]] = {
    "convolution": (lambda x, w: torch.nn.functional.conv2d(x, w).relu(), [randn(1, 3, 4, 4), randn(2, 3, 2, 2)]),
    "transposed": (lambda x, w: torch.nn.functional.conv_transpose2d(x, w), [randn(1, 4, 5, 5), randn(4, 8, 3, 3)]),
    "dilated": (lambda x, w: torch.nn.functional.conv2d(x, w, dilation=2), [randn(2, 6, 8, 8), randn(6, 6, 3, 3)]),
}
"""Convolutions that the library of a GPU gives in another layout than the CPU's."""


@pytest.mark.parametrize("shown", LAID_OUT_BY_PIXELS)
def test_what_a_library_lays_out_otherwise_on_a_gpu_is_laid_out_so(shown: str) -> None:
    function, inputs = LAID_OUT_BY_PIXELS[shown]
    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8):
        found = compiled(lambda *args: function(*args) * 2, collector)(*inputs)
    (spent,) = collector.libraries.values()
    assert spent.name == "aten::convolution"
    torch.testing.assert_close(found, function(*inputs) * 2)


def test_one_code_serves_several_sizes() -> None:
    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8):
        softmax = compiled(lambda x: torch.softmax(x, 1).sum(0), collector, dynamic=True)
        for rows, columns in ((3, 5), (8, 40), (70, 2)):
            x = torch.randn(rows, columns)
            torch.testing.assert_close(softmax(x), torch.softmax(x, 1).sum(0))
    assert len(collector.codes) == 1
    assert all(done.launches == 3 for done in collector.launched.values())


def test_the_same_kernel_is_run_with_several_block_sizes() -> None:
    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8):
        plus = compiled(lambda x: x + 1, collector)
        for _ in range(3):
            plus(torch.randn(70))
    (done,) = collector.launched.values()
    assert {"XBLOCK=128", "XBLOCK=4"} <= done.configurations, "one that covers everything, one that divides nothing"
    assert len(done.configurations) >= 2


def test_a_block_that_fails_ends_those_that_wait_for_it() -> None:
    import torch._inductor.config as inductor

    collector = Collector(gpu_of("sm_90"), True)
    with (
        torch_internals.compile_settings(recompiles=8),
        inductor.patch(COOPERATIVE),
        pytest.MonkeyPatch.context() as patch,
    ):
        from torch._inductor.codecache import PyCodeCache

        load = PyCodeCache.load
        patch.setattr(PyCodeCache, "load", lambda code: load(code.replace("out_ptr0 + (x0)", "out_ptr0 + (x0 + 900)")))
        with pytest.raises(Exception, match="outside of every buffer"):
            compiled(lambda x: x.sum(1), collector)(torch.randn(2, 3000))
    assert any("writes" in wrong for wrong in collector.wrong)


COUNTED: dict[str, tuple[Callable[..., Any], list[torch.Tensor], dict[str, Any], int, int]] = {
    "pointwise": (lambda x: x * 2 + 1, [randn(70)], {}, 2 * 70, 2 * 4 * 70),
    "persistent reduction": (lambda x: x.sum(1), [randn(5, 100)], {}, 5 * 99, 4 * (500 + 5)),
    "two-dimensional tiles": (lambda x, y: x + y.t(), [randn(50, 70), randn(70, 50)], {}, 3500, 3 * 4 * 3500),
    "product": (lambda x: x @ x.t(), [randn(50, 40)], TUNED, 2 * 50 * 50 * 40, 4 * (2000 + 2500)),
    "library": (lambda x: x @ x.t(), [randn(50, 40)], {}, 2 * 50 * 50 * 40, 4 * (2000 + 2500)),
}
"""What it shows → a program, its inputs, Inductor's settings, the operations and the bytes that there are."""


@pytest.mark.parametrize("shown", COUNTED)
def test_operations_and_bytes_are_those_of_what_is_there_and_not_of_the_blocks(shown: str) -> None:
    import torch._inductor.config as inductor

    function, inputs, settings, operations, moved = COUNTED[shown]
    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8), inductor.patch(settings):
        program = compiled(function, collector)
        for _ in range(3):  # with other blocks each
            collector.reset()
            program(*inputs)
            (spent,) = collector.costs
            assert spent.moved == moved
            assert spent.operations is not None
            # what one block adds to the next one's sum is masked off in part
            assert 0.9 * operations <= spent.operations <= 1.05 * operations
            gpu = collector.gpu
            assert spent.bound == max(spent.moved / gpu.memory_rate, spent.operations / gpu.float32_rate)


WITHOUT_SIZES: dict[str, tuple[Callable[..., Any], list[torch.Tensor], dict[str, Any], int]] = {
    "template of a convolution": (
        lambda x, w: torch.nn.functional.conv2d(x, w),
        [randn(3, 20, 7, 7), randn(10, 20, 3, 3)],
        TUNED,
        2 * 3 * 10 * 5 * 5 * 20 * 3 * 3,
    ),
    "several in one": (lambda x, y: torch._foreach_add([x, y], 1.0), [randn(500), randn(77)], {}, 577),
    "template of attention": (
        lambda x: flex_attention(x, x, x),
        [randn(1, 2, 128, 16)],
        {},
        2 * (2 * 2 * 128 * 128 * 16) + 2 * 5 * 128 * 128,
    ),
    "the program's own": (owned, [randn(50, 40), randn(40, 70)], {}, 2 * 50 * 40 * 70),
}
"""What it shows → a program, its inputs, Inductor's settings, the operations that there are."""


@pytest.mark.parametrize("shown", WITHOUT_SIZES)
def test_operations_of_kernels_whose_sizes_nobody_says_are_read_off_their_masks(shown: str) -> None:
    import torch._inductor.config as inductor

    function, inputs, settings, operations = WITHOUT_SIZES[shown]
    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8), inductor.patch(settings):
        compiled(function, collector)(*inputs)
    found = sum(spent.operations for spent in collector.costs)
    assert 0.95 * operations <= found <= 1.05 * operations
