"""Unbacked against backed in GPU code, decision by decision, as the table of docs/gpu.md.

    python tests/benchmarks/gpu_parity.py [NAME...] [--gpu sm_90]

For each program, its batch unbacked: how often a decision came out otherwise than with a backed batch, as it is, with a
hint, with a hint and an upper bound, and, where that leaves something, with a lower bound as well. Needs Triton (pip
install ddelint[gpu]), and no GPU: nothing is run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from measuring import ROOT

sys.path.insert(0, str(ROOT))

from ddelint.nouns.measurements import Divergence, GpuParity
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace.entry import Arguments, Entry
from ddelint.verify.arms import Setting
from ddelint.verify.parity import on_gpu

ROWS, FEATURES = 512, 256
WEIGHTS = torch.randn(FEATURES, FEATURES)
PROGRAMS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax over features": lambda x: torch.softmax(x, -1),
    "softmax over the batch": lambda x: torch.softmax(x, 0),
    "sum over the batch": lambda x: x.sum(0),
    "layer norm, gelu": lambda x: F.gelu(F.layer_norm(x, (FEATURES,))),
    "linear, gelu, linear": lambda x: F.gelu(x @ WEIGHTS) @ WEIGHTS,
    "cumulative sum": lambda x: x.cumsum(1),
    "transposed copy": lambda x: x.t().contiguous() + 1,
    "mean and variance": lambda x: (x - x.mean(1, keepdim=True)) / x.var(1, keepdim=True),
    "cross entropy": lambda x: F.cross_entropy(x, x.argmax(1)),
    "attention block": lambda x: torch.softmax(x @ x.t() / 16, -1) @ x,
}
DECISIONS = ("indexing width", "reduction", "masks", "tuning hint", "fusion", "layout", "library call", "machine code")
"""Decisions that may cost something, in the order of the columns."""
REMEDIES = ("hint", "hint and bound", "hint and both bounds")


def compared(program: Callable[[torch.Tensor], torch.Tensor], gpu: str) -> GpuParity:
    """The program's code with an unbacked batch against that with a backed one."""

    def inputs(seed: int) -> Arguments:
        torch.manual_seed(seed)
        return (torch.randn(ROWS, FEATURES),), {}

    entry = Entry("program", __file__, lambda: program, inputs, True, ("x",), unbacked={"x": (0,)})
    found = on_gpu(Setting(entry, 0), SessionOptions(EntrySpec(__file__), (__file__,), device="cpu", gpu=gpu))
    assert found is not None
    return found


def times(divergences: Sequence[Divergence], decision: str) -> int:
    """At how many places a decision came out otherwise."""
    sides = [side for found in divergences if found.decision == decision for side in (found.backed, found.unbacked)]
    return sum(sum(side.values()) for side in sides)


def row(name: str, found: GpuParity) -> str:
    """`as it is → with a hint → with a hint and a bound → with both bounds` in each cell, up to what closes it."""
    if found.notes:
        return f"| {name} | {'; '.join(found.notes)} |"
    remedies = {remedy.name: remedy for remedy in found.remedies}
    states = [found, *(remedies[name] for name in REMEDIES if name in remedies)]
    cells = []
    for decision in DECISIONS:
        counts = [times(state.divergences, decision) for state in states]
        cells.append(" → ".join(map(str, counts)) if any(counts) else "same")
    lines = " → ".join(str(state.changed) for state in states)
    return f"| {name} | {' | '.join(cells)} | {lines} |"


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gpu", default="sm_90")
    given = parser.parse_args()
    headings = ("program", *DECISIONS, "lines")
    print(f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}", flush=True)
    for name, program in PROGRAMS.items():
        if not given.names or name in given.names:
            print(row(name, compared(program, given.gpu)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
