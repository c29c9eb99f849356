"""How long programs take on a GPU before and after their fixes, with few rows and with many.

    python tests/benchmarks/gpu_speed.py PROGRAM.py... --fixed FOLDER [--scales 1 64 4096] [--device cuda]

A program defines `fn` or `Model`, and `make_inputs(seed, scale)`; FOLDER holds what `--fix --unsafe-fixes` made of it,
under the same name. Each arm is called on four inputs in turn, as data comes in use, after four others that
it was compiled with; a time is the median of one call. The fixed program's results are compared with those of the
original in eager on the same device. One row is printed as soon as it is known. Needs a device and Triton, unless
`--device cpu` is given (then wall time).
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

_INPUTS = 4
_HEAD = "| program | rows | original: eager | compiled: time, graphs | fixed: eager | compiled: time, graphs | same |"


def _loaded(path: Path, name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def _program(module: ModuleType, device: str) -> Callable[..., Any]:
    return module.Model().to(device) if hasattr(module, "Model") else module.fn  # type: ignore[no-any-return]


def _inputs(module: ModuleType, device: str, scale: int, seeds: Sequence[int]) -> list[tuple[Any, ...]]:
    made = [module.make_inputs(seed, scale) for seed in seeds]
    return [tuple(p.to(device) if isinstance(p, torch.Tensor) else p for p in one) for one in made]


def _seconds(run: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], device: str) -> float:
    def all_of_them() -> None:
        for one in inputs:
            run(*one)

    if device == "cuda":
        from triton.testing import do_bench

        return float(do_bench(all_of_them, warmup=50, rep=300, return_mode="median")) / 1000 / len(inputs)
    taken = []
    for _ in range(9):
        started = time.perf_counter()
        all_of_them()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) / len(inputs)


def _compiled(
    program: Callable[..., Any], inputs: Sequence[tuple[Any, ...]], *, whole: bool
) -> tuple[Callable[..., Any], int]:
    """The compiled program, warm, and how many graphs that took."""
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(program, fullgraph=whole)
    for one in inputs:
        compiled(*one)
    return compiled, torch._dynamo.utils.counters["stats"]["unique_graphs"]


def _are_equal(one: Any, other: Any) -> bool:
    try:
        torch.testing.assert_close(other, one, rtol=2e-3, atol=2e-4, equal_nan=True)
    except AssertionError:
        return False
    return True


def _row(path: Path, fixed: Path, device: str, scale: int) -> list[str]:
    original, rewritten = _loaded(path, f"{path.stem}_before"), _loaded(fixed, f"{path.stem}_after")
    before, after = _program(original, device), _program(rewritten, device)
    first, then = (_inputs(original, device, scale, seeds) for seeds in (range(4), range(5, 5 + _INPUTS)))
    rows = next(str(part.shape[0]) for part in then[0] if isinstance(part, torch.Tensor))
    row = [path.stem, rows]
    with torch.no_grad():
        row.append(_written(_seconds(before, then, device)))
        for program, whole in ((before, False), (after, True)):
            if whole:
                row.append(_written(_seconds(program, then, device)))
            settings = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True} if whole else {}
            with torch._dynamo.config.patch(**settings):
                compiled, graphs = _compiled(program, first + then, whole=whole)
                row.append(f"{_written(_seconds(compiled, then, device))}, {graphs}")
        row.append("yes" if all(_are_equal(before(*one), compiled(*one)) for one in first + then) else "no")
    return row


def _written(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--fixed", type=Path, required=True)
    parser.add_argument("--scales", nargs="+", type=int, default=[1, 64, 4096])
    parser.add_argument("--device", default="cuda")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(_HEAD, "|---|---:|---:|---:|---:|---:|---|", sep="\n", flush=True)
    for path in given.programs:
        for scale in given.scales:
            try:
                row = _row(path, given.fixed / path.name, given.device, scale)
            except Exception as error:
                row = [path.stem, f"scale {scale}", f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
