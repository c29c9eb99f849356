"""Launches of Triton kernels in a trace: it goes on, and compile-time constants must be known."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from tracing import entry_of
from triton_stub import Autotuner, Config, Heuristics, JITFunction, constexpr, triton  # noqa: F401

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.sources.source import SourceFile
from ddelint.trace import triton_launches
from ddelint.trace.diagnose import diagnose
from ddelint.trace.explorer import trace_entry

X = torch.ones(6)
KEEP = torch.tensor([True, False, True, True, False, True])


@JITFunction
def scale(source: Any, target: Any, count: Any, BLOCK: constexpr) -> None:
    """A kernel; its body is never looked at."""


@JITFunction
def masked(source: Any, target: Any, ROWS: constexpr, BLOCK: constexpr) -> None:
    """Another; annotations are texts in this file."""


tuned = Autotuner(masked, [Config({"BLOCK": 64}), Config({"BLOCK": 128})])
sized = Heuristics(masked, {"BLOCK": lambda named: 2 if named["rows"] > 4 else 1})


def questions(program: Callable[..., Any], targets: tuple[str, ...] = ("compile",)) -> list[Question]:
    options = SessionOptions(EntrySpec(__file__), (__file__,), targets)
    return list(trace_entry(entry_of(program, X, KEEP), (__file__,), options).questions)


def told(program: Callable[..., Any]) -> list[tuple[str, str]]:
    source = SourceFile.read(Path(__file__))
    return [(found.code, found.expression) for found in (diagnose(q, source) for q in questions(program))]


@pytest.mark.usefixtures("triton")
def test_the_constant_asks_and_what_follows_is_found() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        rows = x[keep]
        out = torch.empty_like(rows)
        scale[(1,)](rows, out, rows.numel(), BLOCK=rows.shape[0])
        if out.sum() > 0:
            return out * 2
        return out

    assert told(program) == [("DDE209", "rows.shape[0]"), ("DDE105", "out.sum() > 0")]
    assert scale.launched == []


@pytest.mark.usefixtures("triton")
def test_each_constant_of_one_launch_asks_by_its_own_place() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        rows, n = x[keep], keep.sum().item()
        masked[(1,)](rows, rows, n, BLOCK=rows.shape[0])
        masked[(1,)](rows, rows, 4, 4, num_warps=x.argmax().item())
        return rows

    assert told(program) == [("DDE209", "n"), ("DDE209", "rows.shape[0]"), ("DDE209", "x.argmax().item()")]


@pytest.mark.usefixtures("triton")
def test_numbers_at_run_time_and_known_constants_ask_nothing() -> None:
    grids = []

    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        rows = x[keep]
        n = rows.shape[0]
        scale[(n,)](rows, rows, n, 128)
        tuned[lambda meta: grids.append(meta["BLOCK"]) or ((n + meta["BLOCK"] - 1) // meta["BLOCK"],)](rows, rows, 8)
        return rows

    assert told(program) == []
    assert grids == [64, 128]


@pytest.mark.usefixtures("triton")
def test_a_grid_and_a_heuristic_are_the_users_code() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        rows = x[keep]
        scale[lambda meta: (1 if rows.shape[0] > 2 else 2,)](rows, rows, 3, 128)
        sized[(1,)](rows, rows, 8, rows=rows.shape[0])
        return rows

    assert [code for code, _ in told(program)] == ["DDE101", "DDE209"]


@pytest.mark.usefixtures("triton")
def test_export_alone_does_not_see_a_launch_that_is_not_wrapped() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        scale[(1,)](x, x, 3, 128)
        scale[(1,)](x, x, 4, 128)
        return x

    (question,) = questions(program, ("export", "compile"))
    assert question.kind == "other"
    assert question.detail == "export cannot see the launch of `scale`: use torch.library.wrap_triton(scale)"
    assert questions(program, ("compile",)) == []


@pytest.mark.usefixtures("triton")
def test_real_tensors_are_launched_as_ever() -> None:
    plain = type(scale).__mro__[1].__getitem__
    with triton_launches.watched(lambda name: None):
        scale[(1,)](X, X, 3, 4)
    assert [args[2:] for args in scale.launched] == [(3, 4)]
    scale.launched.clear()
    assert type(scale).__mro__[1].__getitem__ is plain


REAL = """
    import torch, triton
    import triton.language as tl
    from torch.library import triton_op, wrap_triton

    @triton.jit
    def scale(source, target, count, ROWS: tl.constexpr, BLOCK: tl.constexpr):
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = offsets < ROWS
        tl.store(target + offsets, tl.load(source + offsets, mask=inside) * 2, mask=inside)

    @triton_op("ddelint_tests::scaled", mutates_args=())
    def scaled(rows: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(rows)
        n = rows.shape[0]
        wrap_triton(scale)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](rows, out, n, ROWS=n, BLOCK=8)
        return out

    def fn(x, keep):
        rows = x[keep]
        out = torch.empty_like(rows)
        scale[(1,)](rows, out, 4, rows.shape[0], BLOCK=8)
        return out + scaled(rows)

    def make_inputs(seed):
        return torch.ones(6), torch.arange(6) % (2 + seed % 3) == 0
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("triton") is None, reason="waits for triton: pip install ddelint[gpu], a gigabyte")
@pytest.mark.parametrize("interpreted", ["0", "1"])
def test_with_triton_itself(interpreted: str, tmp_path: Path) -> None:
    """Kernels as Triton's compiler has them (without a device eager fails, so only traced), and interpreted."""
    wrapping = (Path(torch.__file__).parent / "_library" / "triton.py").read_text("utf-8")
    if interpreted == "1" and "_is_interpreted_triton_kernel" not in wrapping:
        pytest.skip("waits for a newer torch: wrap_triton refuses interpreted kernels in this one")
    program = tmp_path / "launches.py"
    program.write_text(textwrap.dedent(REAL))
    script = f"""
        import sys
        sys.path[:0] = [{str(tmp_path)!r}, {str(Path(__file__).parent)!r}]
        import launches
        from tracing import trace
        found = trace(launches.fn, *launches.make_inputs(0), paths=({str(program)!r},))
        print([(q.kind, q.operator.rpartition(".")[2], q.expression) for q in found.questions])
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, "TRITON_INTERPRET": interpreted},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == str([("integer", "constexpr", "rows.shape[0]"), ("integer", "constexpr", "n")])
