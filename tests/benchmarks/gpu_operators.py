"""Torch's own operator samples as code for a GPU, made, assembled and interpreted where there is none.

    python tests/benchmarks/gpu_operators.py [WORD...] [--gpu sm_90] [--dtype float32] [--part 1/1] [--samples 1] [-v]

Of each operator that torch has samples of (`op_db`; with WORDs, those whose names hold one), one sample is compiled for
the GPU that is only described, in a process of its own, and held against eager. What is not equal is printed with its
reason, and at the end how many came out how. Needs Triton (pip install ddelint[gpu]) and expecttest, and no GPU.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from measuring import ROOT
from torch.utils._pytree import tree_leaves, tree_map_only

sys.path.insert(0, str(ROOT))

from ddelint.knowledge.gpus import Gpu, gpu_of
from ddelint.trace import torch_internals
from ddelint.trace.gpu_internals import Backend
from ddelint.verify.gpu_calls import Collector

SECONDS = 60.0
"""For one operator."""
EQUAL, LIBRARY, RANDOM = "equal", "no kernel of Inductor's own", "random"
MOST_ELEMENTS = 20_000
MOST_SAMPLES = 300
"""That are looked at for one of a size that says something: many begin with empty ones."""


class Found(NamedTuple):
    """How one operator came out."""

    outcome: str
    reason: str = ""


def operators(words: list[str]) -> list[Any]:
    """Those of torch's samples whose names hold one of the words."""
    from torch.testing._internal.common_methods_invocations import op_db

    return [operator for operator in op_db if not words or any(word in name_of(operator) for word in words)]


def name_of(operator: Any) -> str:
    """With the variant's name, where there are several."""
    return str(operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else ""))


def samples(operator: Any, dtype: torch.dtype, count: int) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    """The arguments of the first samples that are tensors of some size."""
    torch.manual_seed(0)
    drawn = operator.sample_inputs("cpu", dtype, requires_grad=False)
    for sample in itertools.islice(filter(_worth_while, itertools.islice(drawn, MOST_SAMPLES)), count):
        yield (sample.input, *sample.args), dict(sample.kwargs)


def _worth_while(sample: Any) -> bool:
    sizes = [t.numel() for t in tree_leaves((sample.input, sample.args)) if isinstance(t, torch.Tensor)]
    return not sizes or 1 < max(sizes) <= MOST_ELEMENTS


def held_against_eager(operator: Any, args: Any, kwargs: Any, gpu: Gpu) -> Found:
    """One sample, compiled and called."""
    call: Callable[..., Any] = operator.op

    def program(given: Any, named: Any) -> Any:
        return call(*given, **named)

    def copied() -> tuple[Any, Any]:
        copies: tuple[Any, Any] = tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
        return copies

    torch.manual_seed(1)
    expected = program(*copied())
    torch.manual_seed(2)
    again = program(*copied())
    collector = Collector(gpu, True)
    failed: Exception | None = None
    with torch_internals.drawn_as_in_eager(True), torch_internals.compile_settings(recompiles=8):
        compiled = torch.compile(program, backend=Backend(gpu, collector, runs=True))
        torch.manual_seed(1)
        try:
            found = compiled(*copied())
        except Exception as error:
            failed = error
    errors = [f"{kernel.name}: {kernel.error}" for kernel in collector.assembled.values() if kernel.error]
    for outcome, reasons in (
        ("not assembled", errors),
        ("not interpreted", collector.limits),
        ("outside of its buffers", collector.wrong),
    ):
        if reasons:
            return Found(outcome, reasons[0])
    if failed is not None:
        return Found("not compiled", f"{type(failed).__name__}: {str(failed).strip().splitlines()[0][:150]}")
    if not collector.assembled:
        return Found(LIBRARY)
    try:
        torch.testing.assert_close(found, expected, equal_nan=True)
    except AssertionError as difference:
        try:
            torch.testing.assert_close(again, expected, equal_nan=True)
        except AssertionError:
            return Found(RANDOM)
        return Found("differs", "; ".join(str(difference).split("\n\n")[-1].splitlines())[:200])
    return Found(EQUAL)


def outcome_of(operator: Any, dtype: torch.dtype, gpu: Gpu, count: int) -> Found:
    """The worst of its samples, in this process."""
    taken = next((kind for kind in (dtype, torch.int64, torch.bool) if kind in operator.dtypes), None)
    if taken is None:
        return Found("no sample", f"takes no {dtype}")
    found = Found("no sample", "none of a size that says something")
    for args, kwargs in samples(operator, taken, count):
        found = held_against_eager(operator, args, kwargs, gpu)
        if found.outcome not in (EQUAL, LIBRARY):
            break
    return found


def load(gpu: Gpu) -> None:
    """Have Inductor and Triton loaded before processes are forked: that takes longer than an operator."""
    with torch_internals.compile_settings(recompiles=8):
        torch.compile(lambda x: x.sum(1), backend=Backend(gpu, Collector(gpu, True), runs=True))(torch.zeros(2, 3))
    torch._dynamo.reset()


def apart(operator: Any, dtype: torch.dtype, gpu: Gpu, count: int) -> Found:
    """The same in a process of its own, which is ended when its time is over."""
    here, there = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(target=_answer, args=(there, operator, dtype, gpu, count))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(SECONDS) else Found("took too long")  # type: ignore[no-any-return]
    except EOFError:
        return Found("its process died")
    finally:
        process.kill()
        process.join()


def _answer(there: Any, operator: Any, dtype: torch.dtype, gpu: Gpu, count: int) -> None:
    warnings.simplefilter("ignore")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    try:
        there.send(outcome_of(operator, dtype, gpu, count))
    except Exception as error:
        there.send(Found("not run", f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"))


def main() -> int:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--gpu", default="sm_90")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--part", default="1/1", help="which part of the operators: 2/4 is the second quarter")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("-v", "--verbose", action="store_true", help="print what is equal, too")
    given = parser.parse_args()
    number, parts = map(int, given.part.split("/"))
    warnings.simplefilter("ignore")
    gpu, outcomes = gpu_of(given.gpu), Counter[str]()
    load(gpu)
    for operator in operators(given.words)[number - 1 :: parts]:
        found = apart(operator, getattr(torch, given.dtype), gpu, given.samples)
        outcomes[found.outcome] += 1
        if given.verbose or found.outcome not in (EQUAL, LIBRARY):
            print(f"{name_of(operator)}: {found.outcome}{f': {found.reason}' if found.reason else ''}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in outcomes.most_common()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
