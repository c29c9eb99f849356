"""Code for a GPU, made where there is none: what is right is told equal, and planted mistakes are caught."""

from __future__ import annotations

import linecache
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ddelint.knowledge.gpus import gpu_of
from ddelint.nouns.diagnostics import GpuEvidence
from ddelint.nouns.protocol import SessionOptions
from ddelint.rewrite.reading.replacements import replacements
from ddelint.trace.entry import Entry
from tests.verify.conftest import Program
from tests.verify.triton_needed import needs_triton

pytestmark = needs_triton

CHOSEN = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 32)

    def forward(self, x):
        rows = (x.sum(1) > 0).nonzero().squeeze(1)
        y = torch.nn.functional.silu(self.linear(x[rows]))
        return torch.softmax(y, -1), y.sum(0)

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(12 + seed % 3, 16),)
"""


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown here is what is found, not how quickly."""
    from ddelint.verify import gpu

    for limit in ("_SECONDS", "_LITTLE"):
        monkeypatch.setattr(gpu, limit, 600.0)


@pytest.fixture
def options(options: SessionOptions) -> SessionOptions:
    """The usual ones, with time enough."""
    return replace(options, timeout=3600.0)


def examined(entry: Entry, options: SessionOptions, *, interpreted: bool = True, inputs: int = 4) -> GpuEvidence:
    from ddelint.verify.gpu import examine

    found = examine(entry, lambda: entry, options, inputs, interpreted=interpreted).evidence
    assert found is not None
    return found


def function(body: str, inputs: str) -> str:
    """A program of one line; `inputs` reads `x = torch.randn(3)`."""
    name, _, value = inputs.partition("=")
    return f"""
def fn({name.strip()}):
    {body}

def make_inputs(seed):
    torch.manual_seed(seed)
    return ({value.strip()},)
"""


def test_forward_and_backward_are_assembled_and_interpreted(program: Program, options: SessionOptions) -> None:
    found = examined(program(CHOSEN), options)
    assert (found.assembled, found.interpreted, found.run, found.target) == (True, True, None, "sm_90"), found
    assert found.inputs == 4
    assert found.kernels is not None
    assert found.launches is not None
    assert found.kernels > found.launches > 0, "kernels of the backward graph are made, and not launched by the forward"
    assert found.host_reads == 1, "nonzero"
    assert found.library_calls == 2, "nonzero and addmm"
    assert found.registers
    assert found.bytes_moved
    assert found.eager_operators == 0
    assert found.before is not None
    assert found.before.graphs == 2
    assert found.before.eager_operators == 1, "nonzero, at which the graph breaks"
    costs = found.per_kernel
    assert sum(cost.calls for cost in costs) == found.launches + found.library_calls
    assert sum(cost.bytes_moved or 0 for cost in costs) == found.bytes_moved
    assert {cost.name for cost in costs if cost.library} == {"aten::nonzero", "aten::addmm"}
    assert max(cost.registers or 0 for cost in costs) == found.registers
    assert found.cuda_graphs == "not safe: 1 host read, dynamic shapes"


READING = """
def positive(x):
    return x[x > 0].sum()

def fn(x):
    rows = (x.sum(1) > 0).nonzero()
    scale = x.abs().max().long().item()
    return x[rows] * scale, positive(x), x.masked_select(x < 0)

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(9, 4),)
"""


def test_each_host_read_is_known_by_the_line_that_asks_for_it(program: Program, options: SessionOptions) -> None:
    from ddelint.verify.gpu import examine

    entry = program(READING)
    found = examine(entry, lambda: entry, options, 1, interpreted=True)
    assert found.evidence is not None
    assert sum(read.times for read in found.reads) == found.evidence.host_reads == 4
    places = [(read.operator, read.frames[-1]) for read in found.reads]
    lines = [(operator, linecache.getline(at.filename, at.row)) for operator, at in places]
    asking = {(operator, line.split(" = ")[0].strip()) for operator, line in lines}
    assert asking == {
        ("aten::index", "return x[x > 0].sum()"),
        ("aten::nonzero", "rows"),
        ("aten::_local_scalar_dense", "scale"),
        ("aten::masked_select", "return x[rows] * scale, positive(x), x.masked_select(x < 0)"),
    }


def test_an_original_that_cannot_be_counted_has_a_reason(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddelint.verify import gpu

    def before(look: Any, original: Any, reference: Any) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(gpu.gpu_internals.Backend, "__call__", refuse)
            counted(look, original, reference)

    def refuse(*_: Any) -> None:
        raise ValueError("not this one")

    counted = gpu._Look.before
    monkeypatch.setattr(gpu._Look, "before", before)
    found = examined(program(function("return x + 1", "x = torch.randn(9)")), options, inputs=1)
    assert (found.interpreted, found.before) == (True, None)
    assert any(note.startswith("the original was not counted: ") for note in found.notes), found


def test_assembled_alone_claims_no_more(program: Program, options: SessionOptions) -> None:
    found = examined(program(CHOSEN), options, interpreted=False)
    assert (found.assembled, found.interpreted, found.inputs, found.launches) == (True, None, None, None)
    assert any(note.startswith("not interpreted: ") for note in found.notes), "what was not done has a reason"


def test_nothing_is_left_behind(program: Program, options: SessionOptions) -> None:
    import triton.language as tl
    from triton.runtime.driver import driver

    before = (torch.cuda.is_available, tl.load, torch.version.cuda, getattr(driver, "_active", None))
    examined(program(CHOSEN), options, inputs=1)
    assert (torch.cuda.is_available, tl.load, torch.version.cuda, getattr(driver, "_active", None)) == before
    assert not hasattr(torch._C, "_cuda_getCurrentRawStream") or torch.version.cuda


def test_what_is_stopped_before_all_code_is_written_is_not_called_assembled(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddelint.trace.gpu_internals import Backend
    from ddelint.trace.limits import TooMuch

    lower = Backend._lower

    def forward_alone(backend: Backend, module: Any, inputs: Any, **settings: Any) -> Any:
        if settings.get("is_backward"):
            raise TooMuch("time")
        return lower(backend, module, inputs, **settings)

    monkeypatch.setattr(Backend, "_lower", forward_alone)
    found = examined(program(CHOSEN), options)
    assert (found.assembled, found.interpreted, found.inputs) == (None, None, None), found
    assert found.kernels, "those of the forward graph were written"
    assert "not assembled: stopped before all of the program's code was written" in found.notes
    forward = function("return x[x > 0].cumsum(0)", "x = torch.randn(50)")
    assert examined(program(forward), options).assembled is True, "nothing asks for gradients"


def test_inputs_that_only_the_decompositions_explain_are_not_counted_as_equal(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddelint.verify import gpu

    monkeypatch.setattr(gpu._Look, "_as_decomposed", lambda *_: True)
    planted(monkeypatch, lambda source: source.replace("tl.load(in_ptr0 + (x0)", "tl.load(in_ptr0 + (x0 * 0)"))
    entry = program(function("return x + 1", "x = torch.randn(50)"))
    found = examined(entry, options, inputs=2)
    assert (found.assembled, found.interpreted, found.inputs) == (True, None, None), found
    assert sum("decomposed" in note for note in found.notes) == 2


@pytest.mark.parametrize("gpu", ["sm_75", "sm_80", "sm_89", "sm_90", "H200"])
def test_each_architecture_has_its_code(program: Program, options: SessionOptions, gpu: str) -> None:
    found = examined(program(function("return (x * 2).relu().sum()", "x = torch.randn(40)")), replace(options, gpu=gpu))
    assert (found.assembled, found.interpreted) == (True, True), found
    assert found.target == gpu_of(gpu).target
    assert found.cuda_graphs == "safe"


PROGRAMS = {
    "one-row-of-atomics": (
        "return x.new_zeros(5).scatter_add(0, (x[:1] > 0).long(), x[:1]) * 2, x[:1] + x[:1].sum()",
        "x = torch.randn(6)",
    ),
    "scan": (
        "return torch.cumsum(x, 1)",
        "x = torch.randn(5, 300)",
    ),
    "reduction-with-index": (
        "return x.argmax(1), x.amax(0)",
        "x = torch.randn(7, 33)",
    ),
    "welford": (
        "return x.var(1), x.mean(0)",
        "x = torch.randn(7, 33)",
    ),
    "sort": (
        "return torch.sort(x, 1)",
        "x = torch.randn(5, 16)",
    ),
    "atomics": (
        "return x.new_zeros(9).index_add(0, x[:, 0].long().abs() % 9, x[:, 1])",
        "x = torch.randn(20, 2)",
    ),
    "half": (
        "return (x.half() * 3).sum(1), x.bfloat16().exp()",
        "x = torch.randn(6, 40)",
    ),
    "double-and-long": (
        "return x.double().sin() / 3, (x * 100).long() // 7",
        "x = torch.randn(6, 9)",
    ),
    "libdevice": (
        "return torch.special.i0(x), torch.lgamma(x.abs() + 1), torch.tanh(x), x.erf()",
        "x = torch.randn(50)",
    ),
    "transposed": (
        "return x.t().contiguous() + 1",
        "x = torch.randn(6, 40)",
    ),
    "random": (
        "return torch.nn.functional.dropout(x, 0.5).sin() + 1, torch.rand_like(x) * x",
        "x = torch.randn(50)",
    ),
    "mutated-and-aliased": (
        "x.mul_(2); return x[1:], x.sum()",
        "x = torch.randn(50)",
    ),
    "unbacked": (
        "return x[x > 0].cumsum(0), x.masked_select(x < 0).sum()",
        "x = torch.randn(50)",
    ),
    "number-with-a-fraction": (
        "return x / max(x.abs().max().item(), 1e-3), x / torch.scalar_tensor(x.abs().max().item()).clamp(min=1)",
        "x = torch.randn(30)",
    ),
    "nan": (
        "return torch.where(x.isnan(), 0.0, x).amax(1)",
        "x = torch.randn(4, 30)",
    ),
    "pointwise": (
        "return x.pow(3).sum() * x.clamp(-1, 1) - x.round() + x.sign() * x.floor()",
        "x = torch.randn(70)",
    ),
    "attention": (
        "return torch.nn.functional.scaled_dot_product_attention(x, x, x).sin() + 1",
        "x = torch.randn(1, 2, 8, 16)",
    ),
    "convolution": (
        "return torch.nn.functional.conv1d(x, x[:2, :, :3]).relu()",
        "x = torch.randn(2, 4, 20)",
    ),
    "constant": (
        "return torch.tensor([3.0, 1.0, 2.0] * 4) * x",
        "x = torch.randn(12)",
    ),
}
"""What it shows → the program and its inputs."""


@pytest.mark.parametrize("shown", PROGRAMS)
def test_what_inductor_writes_is_interpreted(program: Program, options: SessionOptions, shown: str) -> None:
    found = examined(program(function(*PROGRAMS[shown])), options, inputs=3)
    assert (found.assembled, found.interpreted) == (True, True), found


def test_spare_columns_in_front_leave_what_the_backward_pass_keeps(program: Program, options: SessionOptions) -> None:
    """Behind, Inductor 2.13 adds them in place, and the backward pass finds another layout than it was written for."""
    product = next(one for one in replacements().operators if "matmul" in one.names).forms[0]
    found = examined(
        program(
            "class Model(torch.nn.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.mix = torch.nn.Linear(6, 6)\n"
            "    def forward(self, x):\n"
            "        chosen = self.mix(x[x[:, 0] > 0])\n"
            "        weights = (chosen @ chosen.T).softmax(-1)\n"
            f"        return {product.format(input='weights', other='chosen')}\n"
            "def make_inputs(seed):\n"
            "    return (torch.randn(9, 6, generator=torch.Generator().manual_seed(seed)),)\n"
        ),
        options,
        inputs=3,
    )
    assert (found.assembled, found.interpreted) == (True, True), found


USERS_OWN = """
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton

@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) * FACTOR, mask=mask)

@triton_op("mine::twice", mutates_args={})
def twice(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(doubled)[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out

@twice.register_kernel("cpu")
def on_cpu(x):
    return x * 2

def fn(x):
    return twice(x[x > 0]) + 1

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(300),)
"""
TEMPLATE = """
from torch.nn.attention.flex_attention import flex_attention

def later_counts_more(score, batch, head, query, key):
    return score + (query - key)

def fn(x):
    return flex_attention(x, x, x, score_mod=later_counts_more)

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(1, 2, 128, 16),)
"""


def test_kernels_that_users_write_are_interpreted(program: Program, options: SessionOptions) -> None:
    found = examined(program(USERS_OWN.replace("FACTOR", "2")), options, inputs=2)
    assert (found.assembled, found.interpreted) == (True, True), found
    wrong = examined(program(USERS_OWN.replace("FACTOR", "3")), options, inputs=2)
    assert (wrong.assembled, wrong.interpreted) == (True, False), "what the CPU's kernel gives is another thing"


def test_templates_are_interpreted(program: Program, options: SessionOptions) -> None:
    found = examined(program(TEMPLATE), options, inputs=2)
    assert (found.assembled, found.interpreted) == (True, True), found
    assert found.shared, "blocks of keys lie in shared memory"


def test_where_no_kernel_is_written_nothing_is_claimed(program: Program, options: SessionOptions) -> None:
    found = examined(program(function("return x @ x", "x = torch.randn(4, 4)")), options, inputs=1)
    assert (found.assembled, found.interpreted, found.kernels) == (None, None, 0)
    assert "not assembled: Inductor writes no kernel of its own for it" in found.notes


def test_random_numbers_of_the_gpus_own_generator_are_interpreted() -> None:
    from ddelint.trace import torch_internals
    from ddelint.trace.gpu_internals import Backend
    from ddelint.verify.gpu_calls import Collector

    collector = Collector(gpu_of("sm_90"), True)
    with torch_internals.compile_settings(recompiles=8):
        drawing = torch.compile(lambda x: torch.rand_like(x) + 2 * x, backend=Backend(gpu_of("sm_90"), collector, True))
        torch.manual_seed(3)
        first, second = drawing(torch.zeros(2000)), drawing(torch.zeros(2000))
        torch.manual_seed(3)
        again = drawing(torch.zeros(2000))
    assert any("rand" in code for code in collector.assembled)
    assert first.min() >= 0
    assert first.max() < 1
    assert abs(first.mean() - 0.5) < 0.03, "2000 draws: five standard deviations"
    assert not torch.equal(first, second)
    assert torch.equal(first, again)


def test_what_the_interpreter_cannot_do_is_named(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddelint.verify.generated_code import knowledge

    monkeypatch.setitem(knowledge(), "libdevice", {})
    found = examined(program(function("return x.erf() + torch.special.i0(x)", "x = torch.randn(9)")), options, inputs=2)
    assert (found.assembled, found.interpreted) == (True, None), found
    assert any("the interpreter has no __nv_" in note for note in found.notes), found.notes


HEADED = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(32, 32)

    def forward(self, x):
        return torch.softmax(self.linear(x).relu(), -1).sum(0)

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(64, 32),)
"""


def test_parity_on_gpu_code_is_closed_by_a_hint_and_a_bound(program: Program, options: SessionOptions) -> None:
    from ddelint.report.measurements import gpu_parity_words
    from ddelint.verify.arms import Setting
    from ddelint.verify.parity import on_gpu

    setting = Setting(program(HEADED, unbacked={"x": (0,)}), 0)
    assert on_gpu(setting, options) is None, "nobody asks"
    found = on_gpu(setting, replace(options, gpu="sm_90"))
    assert found is not None
    assert not found.notes
    decisions = {divergence.decision for divergence in found.divergences}
    assert {"indexing width", "tuning hint"} <= decisions
    assert "not run" in gpu_parity_words(found)
    left = {remedy.name: {divergence.decision for divergence in remedy.divergences} for remedy in found.remedies}
    assert "indexing width" not in left["hint and bound"]
    assert "tuning hint" not in left["hint and bound"]
    assert "indexing width" in left["hint"], "a hint says nothing of the largest size"


# ------------------------------------------------------------------------------------------------- planted mistakes


def planted(monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str]) -> list[str]:
    """Inductor's kernels, changed before anybody has them."""
    from torch._inductor.codecache import PyCodeCache

    plain, changed = PyCodeCache.load, []

    def load(source: str, *rest: Any, **more: Any) -> Any:
        new = change(source)
        changed.extend([new] if new != source else [])
        return plain(new, *rest, **more)

    monkeypatch.setattr(PyCodeCache, "load", load)
    return changed


def unmasked(source: str) -> str:
    return re.sub(r"(tl\.store\([^\n]*), xmask\)", r"\1, None)", source)


def one_further(source: str) -> str:
    return source.replace("tl.load(in_ptr0 + (x0)", "tl.load(in_ptr0 + (x0 + 1)")


def overflowing(source: str) -> str:
    return source.replace("tl.load(in_ptr0 + (x0)", "tl.load(in_ptr0 + (x0 * 65536 * 65536 // 65536 // 65536)")


def without_nan(source: str) -> str:
    return source.replace("triton_helpers.max2(", "tl.max(")


def in_half(source: str) -> str:
    return source.replace(".to(tl.float32)", "")


MISTAKES: dict[str, tuple[Callable[[str], str], str, str]] = {
    "mask-dropped": (
        unmasked,
        "return x + 1",
        "x = torch.randn(50)",
    ),
    "off-by-one": (
        one_further,
        "return x + 1",
        "x = torch.randn(50)",
    ),
    "32-bit-overflow": (
        overflowing,
        "return x + 1",
        "x = torch.randn(50)",
    ),
    "nan-lost": (
        without_nan,
        "return x.amax(1)",
        "x = torch.full((3, 20), float('nan')).index_fill(1, torch.tensor([4]), 1.0)",
    ),
    "cast-missing": (
        in_half,
        "return x.mean(1)",
        "x = torch.full((3, 40), 60000.0, dtype=torch.half)",
    ),
}
"""The mistake → how it is planted, the program and its inputs."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_kernel_is_caught_by_interpreting_it(
    program: Program,
    options: SessionOptions,
    monkeypatch: pytest.MonkeyPatch,
    mistake: str,
) -> None:
    change, body, inputs = MISTAKES[mistake]
    entry = program(function(body, inputs))
    right = examined(entry, options, inputs=2)
    assert (right.assembled, right.interpreted) == (True, True), right
    changed = planted(monkeypatch, change)
    wrong = examined(entry, options, inputs=2)
    assert changed, "the mistake was not planted"
    assert (wrong.assembled, wrong.interpreted) == (True, False), wrong
    assert any(note.startswith("interpreted: ") for note in wrong.notes)


def test_what_reaches_outside_of_its_buffers_is_named(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted(monkeypatch, unmasked)
    found = examined(program(function("return x + 1", "x = torch.randn(50)")), options, inputs=1)
    assert any("writes" in note and "outside of every buffer" in note for note in found.notes), found.notes


PRODUCT = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "n": "i32", "BLOCK": "constexpr"}


def stub(kernel: Any, signature: dict[str, str], constants: dict[str, int], stages: int) -> Any:
    """As Inductor's autotuner, as far as assembling asks."""
    configuration = SimpleNamespace(kwargs=constants)
    meta = {"signature": signature, "constants": constants, "configs": [{}]}
    return SimpleNamespace(
        fn=kernel,
        configs=[configuration],
        _create_compile_meta=lambda _: meta,
        _create_compile_options=lambda *_: {"num_warps": 4, "num_stages": stages},
    )


def kernels() -> Any:
    """Loaded where Triton is."""
    from tests.verify import planted_kernels

    return planted_kernels


def test_too_much_shared_memory_does_not_assemble() -> None:
    from ddelint.verify.triton_code import assemble

    made = stub(kernels().product, PRODUCT, {"BLOCK": 64}, 5)
    small = assemble("product", made, gpu_of("sm_90"))
    assert not small.error, small
    assert 101_376 < small.shared < 232_448
    found = assemble("product", made, gpu_of("sm_89"))
    assert "bytes of shared memory, a block of L4 has 101376" in found.error


def test_an_invalid_layout_does_not_assemble() -> None:
    from ddelint.verify.triton_code import assemble

    def made(threads: int) -> Any:
        return stub(kernels().laid_out, {"a": "*fp32", "THREADS": "constexpr"}, {"THREADS": threads}, 1)

    assert assemble("laid_out", made(32), gpu_of("sm_90")).registers
    found = assemble("laid_out", made(16), gpu_of("sm_90"))
    assert "invalid layout" in found.error, "a warp has 32 threads"


def test_what_the_assembler_refuses_does_not_assemble() -> None:
    from ddelint.verify.triton_code import assemble

    made = stub(kernels().bogus, {"a": "*fp32", "BLOCK": "constexpr"}, {"BLOCK": 128}, 1)
    assert assemble("bogus", made, gpu_of("sm_90")).error


def test_registers_are_those_that_the_assemblers_tool_tells(tmp_path: Path) -> None:
    import triton
    from triton.compiler import ASTSource

    from ddelint.trace.gpu_internals import target_of
    from ddelint.verify.triton_code import resources

    spec = find_spec("triton")
    assert spec is not None
    assert spec.origin is not None
    tool = Path(spec.origin).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    if not tool.exists():
        pytest.skip("waits for a Triton that brings cuobjdump")
    source = ASTSource(kernels().product, PRODUCT, {"BLOCK": 64})
    machine = triton.compile(source, target=target_of(gpu_of("sm_90"))).asm["cubin"]
    (tmp_path / "k.cubin").write_bytes(machine)
    told = subprocess.run([tool, "-res-usage", tmp_path / "k.cubin"], capture_output=True, text=True, check=True).stdout
    registers, local = resources(machine)
    assert registers > 0
    assert f"REG:{registers} STACK:{local} " in told


WIDE = """
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(48, 8)

    def forward(self, x):
        return torch.softmax(self.linear(x), 0).cumsum(0)

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.randn(20000, 48, requires_grad=True),)
"""


def test_inputs_are_made_smaller_where_the_program_takes_that(program: Program) -> None:
    from ddelint.verify.samples import fresh
    from ddelint.verify.shrinking import shrinking_of

    entry = program(WIDE)
    found = shrinking_of(entry, 0)
    assert found is not None
    assert str(found) == "20000 → 16", "the layer asks for 48 features"
    (x,), _ = fresh(found.of(entry), 0)
    assert (tuple(x.shape), x.requires_grad) == ((16, 48), True)
    assert shrinking_of(program(CHOSEN), 0) is None, "nothing is large"


def test_what_takes_too_long_is_interpreted_on_smaller_inputs(
    program: Program, options: SessionOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ddelint.trace.limits import TooMuch
    from ddelint.verify.gpu_calls import Collector

    launch = Collector.launch

    def slow(collector: Collector, name: str, autotuner: Any, code: str, args: tuple[Any, ...]) -> None:
        if any(isinstance(arg, torch.Tensor) and arg.numel() > 10000 for arg in args):
            raise TooMuch("time")
        launch(collector, name, autotuner, code, args)

    monkeypatch.setattr(Collector, "launch", slow)
    found = examined(program(WIDE), options, inputs=2)
    assert (found.assembled, found.interpreted, found.inputs) == (True, True, 2), found
    assert any("interpreted on smaller inputs (20000 → 16)" in note for note in found.notes)
