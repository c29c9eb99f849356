"""A stream of sizes: the dispatcher that ddelint writes against one graph for all and against recompiling (Inductor).

    python tests/benchmarks/size_streams.py [--calls 200]

Each arm starts with empty caches and answers the same calls twice: the first time it compiles, the second it is timed.
"""

from __future__ import annotations

import argparse
import importlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PLAIN = '''import torch


class Model(torch.nn.Module):
    """Two layers of attention over packed rows, no branch on a size."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 256)
        self.second = torch.nn.Linear(256, 64)
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, tokens):
        scores = torch.softmax(tokens @ tokens.transpose(1, 2) / 8, -1)
        hidden = self.norm(tokens + scores @ tokens)
        return hidden + self.second(torch.nn.functional.gelu(self.first(hidden)))


def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.rand(4, 12, 64),)
'''
Sizes = tuple[int, int]


def sizes_of(calls: int, longest: int) -> list[Sizes]:
    """Batches of 1 to 64 rows, of any length; small ones most of the time, as a server sees them."""
    random_ = random.Random(0)
    return [(int(2 ** random_.uniform(0, 6)), int(2 ** random_.uniform(1, longest))) for _ in range(calls)]


def measured(name: str, make: Callable[[Any], Callable[..., Any]], model: Any, calls: Sequence[tuple[Any, ...]]) -> str:
    """One row: graphs, seconds that the stream took at first, the slowest call, milliseconds a call afterwards."""
    import torch

    from ddelint.trace import torch_internals

    codes: list[str] = []
    with torch.no_grad(), torch_internals.empty_inductor_cache(), torch_internals.compile_settings(recompiles=64):
        try:
            run = make(model)
            with torch_internals.generated_code(codes):
                first = [timed(run, call) for call in calls]
            again = [timed(run, call) for call in calls]
        except Exception as error:
            return f"| {name} | none: {str(error).splitlines()[0][:60]} | | | |"
    median = 1000 * statistics.median(again)
    return f"| {name} | {len(codes)} | {sum(first):.1f} | {max(first):.1f} | {median:.3f} |"


def timed(run: Callable[..., Any], call: tuple[Any, ...]) -> float:
    """Seconds of one call."""
    started = perf_counter()
    run(*call)
    return perf_counter() - started


def program(name: str, folder: Path, ranges: Sequence[str], calls: Sequence[Callable[[Any], tuple[Any, ...]]]) -> None:
    """The table of one program."""
    import torch

    written = [sys.executable, "-m", "ddelint", "shapes", f"{name}.py", "-q", "--write", "--dispatch", *ranges]
    subprocess.run(written, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    module, dispatch, shapes = (importlib.import_module(name + end) for end in ("", "_dispatch", "_shapes"))
    torch.manual_seed(0)
    model, given = module.Model().eval(), [call(torch) for call in calls]
    one = {"fullgraph": True, "shapes_spec": shapes.SHAPES}
    print(f"\n{name}, {len(calls)} calls\n")
    print("| arm | graphs | first time, s | slowest call, s | then, ms a call |")
    print("|---|---:|---:|---:|---:|")
    print(measured("eager", lambda model: model, model, given))
    print(measured("torch.compile", torch.compile, model, given), flush=True)
    print(measured("torch.compile, dynamic=True", lambda m: torch.compile(m, dynamic=True), model, given), flush=True)
    print(
        measured("one graph for all, its contract as spec", lambda m: torch.compile(m, **one), model, given), flush=True
    )
    print(measured("the dispatcher", dispatch.dispatcher, model, given), flush=True)


def main() -> None:
    """Both programs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--calls", type=int, default=200)
    count = parser.parse_args().calls
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sys.path.insert(0, scratch)
        (folder / "attention.py").write_text(PLAIN)
        shutil.copy(ROOT / "fixtures/how-to/serving.py", folder)
        plain = [lambda torch, s=s: (torch.rand(*s, 64),) for s in sizes_of(count, 8)]
        program("attention", folder, ["--ranges", "tokens.0: 0, 1, 2..", "--ranges", "tokens.1: 0..1, 2.."], plain)
        branching = [lambda torch, s=s: (torch.randint(0, 10, s), torch.rand(s)) for s in sizes_of(count, 7)]
        program("serving", folder, ["--ranges", "tokens.0: 0, 1, 2..6, 7.."], branching)


if __name__ == "__main__":
    main()
