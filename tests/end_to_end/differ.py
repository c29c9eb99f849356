"""Runs a fixed program beside the original in eager, on inputs and in modes that nobody declared. Imports no ddelint.

Each case is one of: a seed, the first batch twice, one row less, strided, and special values at either end of each
argument; each in train and eval, in float32 and float64, with gradients and without. Compared are results, exceptions,
arguments and buffers after the call, gradients, and the random state. What is compiled runs in eager, too: the fixed
program is made to think that it is compiled (`path`), on the inputs that the original takes.

    python differ.py ORIGINAL FIXED      prints what differs
"""

from __future__ import annotations

import argparse
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from judge import Arguments, Program, call, difference

SPECIAL = (math.nan, math.inf, -math.inf, -0.0)
ULPS = 64
"""Units in the last place of the largest number that a result has: sums may have another order."""


@dataclass(frozen=True)
class Case:
    """One way to call a program."""

    label: str
    change: Callable[[Arguments], Arguments]
    seed: int = 0
    like_declared: bool = True
    """Whether shapes and kinds are the declared ones, so that the compiled path has to take it."""


def cases(program: Program, seeds: int) -> Iterator[Case]:
    """The inputs, each once."""
    for seed in range(seeds):
        yield Case(f"seed {seed}", lambda given: given, seed)
    yield Case("the batch twice", _each(_twice(program.inputs(0))), like_declared=False)
    yield Case("one row less", _each(_cut(program.inputs(0))), like_declared=False)
    yield Case("strided", _each(_spread))
    for place, (value, at) in itertools.product(_floats(program.inputs(0)), itertools.product(SPECIAL, (0, -1))):
        yield Case(f"{value} at {at} of argument {place}", _set(place, value, at))
    for place in _floats(program.inputs(0)):
        yield Case(f"zeros in argument {place}", _set(place, 0.0, slice(None)))
        yield Case(f"nan alone in argument {place}", _set(place, math.nan, slice(None)))


def differences(original: Path, fixed: Path, seeds: int = 3) -> list[str]:
    """What differs anywhere, in a line each."""
    import torch

    torch.set_num_threads(1)
    first, second = Program(original), Program(fixed)
    modes = itertools.product((True, False), (torch.float32, torch.float64), (False, True))
    found = []
    for (training, dtype, gradients), case in itertools.product(modes, list(cases(first, seeds))):
        label = f"{case.label}, {'train' if training else 'eval'}, {dtype}, gradients {'on' if gradients else 'off'}"
        expected = _outcome(first, case, training, dtype, gradients, path=False)
        got = _outcome(second, case, training, dtype, gradients, path=False)
        if text := _unlike(expected, got):
            found.append(f"{label}: {text}")
        if expected["error"] == "":
            got = _outcome(second, case, training, dtype, gradients, path=True)
            if got["error"] and not case.like_declared:
                continue
            got["buffers"], got["random"] = expected["buffers"], expected["random"]
            if text := _unlike(expected, got):
                found.append(f"{label}, compiled path: {text}")
    return found


def _outcome(program: Program, case: Case, training: bool, dtype: Any, gradients: bool, path: bool) -> dict[str, Any]:
    import torch

    built = program.build()
    args, kwargs = case.change(program.inputs(case.seed))
    if isinstance(built, torch.nn.Module):
        built = built.train(training)
        built = built.to(dtype) if dtype is torch.float64 else built
    if dtype is torch.float64:
        args, kwargs = torch.utils._pytree.tree_map(_double, (args, kwargs))
    leaves = [leaf for leaf in torch.utils._pytree.tree_leaves((args, kwargs)) if _is_float(leaf)]
    if gradients:
        for leaf in leaves:
            leaf.requires_grad_()
    compiling = mock.patch.object(torch.compiler, "is_compiling", return_value=path)
    with torch.set_grad_enabled(gradients), compiling:
        outcome = call(built, (args, kwargs))
    found: dict[str, Any] = {
        "error": outcome.error,
        "value": outcome.value,
        "arguments": outcome.arguments,
        "buffers": dict(built.named_buffers()) if isinstance(built, torch.nn.Module) else {},
        "random": torch.get_rng_state(),
        "gradients": [],
    }
    results = [t for t in torch.utils._pytree.tree_leaves(outcome.value) if _is_float(t) and t.requires_grad]
    if gradients and results:
        wanted = [leaf for leaf in leaves if leaf.is_leaf]
        wanted += list(built.parameters()) if isinstance(built, torch.nn.Module) else []
        total = sum(result.sum() for result in results)
        try:
            found["gradients"] = list(torch.autograd.grad(total, wanted, allow_unused=True)) if wanted else []
        except RuntimeError as error:
            found["gradients"] = [str(error).splitlines()[0]]
    return found


def _unlike(expected: dict[str, Any], got: dict[str, Any]) -> str:
    """In what two outcomes differ. A gradient of zeros is none."""
    if expected["error"] or got["error"]:
        same = expected["error"] == got["error"]
        return "" if same else f"{expected['error'] or 'a result'} became {got['error'] or 'a result'}"
    for name in ("value", "arguments", "buffers", "random"):
        if text := _exactly(expected[name], got[name]):
            return f"{name}: {text}"
    pairs = itertools.zip_longest(expected["gradients"], got["gradients"])
    return next((f"gradient {n}: {text}" for n, pair in enumerate(pairs) if (text := _gradient(*pair))), "")


def _gradient(expected: Any, got: Any) -> str:
    import torch

    if isinstance(expected, str) or isinstance(got, str):
        return "" if expected == got else f"{expected} became {got}"
    zero = [t is None or not bool(torch.count_nonzero(t)) for t in (expected, got)]
    return (
        "" if all(zero) else _exactly(expected, got) if not any(t is None for t in (expected, got)) else "none or not"
    )


def _exactly(expected: Any, got: Any) -> str:
    """`difference` of structure, kind and exact values; of floats within units in the last place, infinities alike."""
    import torch

    ones, others = (torch.utils._pytree.tree_leaves(each) for each in (expected, got))
    text = difference(expected, got, 1e-3, 1e30)
    if text and not (text == "value" and any(map(_is_float, ones))):
        return text
    for one, other in zip(ones, others):
        if _is_float(one) and _is_float(other) and (text := _apart(one.detach(), other.detach())):
            return text
    return ""


def _apart(one: Any, other: Any) -> str:
    import torch

    if one.is_sparse:
        one, other = one.to_dense(), other.to_dense()
    finite = one.isfinite()
    if not torch.equal(finite, other.isfinite()) or not torch.equal(one.isnan(), other.isnan()):
        return "an infinity or NaN in another place"
    if not torch.equal(one[one.isinf()], other[one.isinf()]):
        return "the sign of an infinity"
    one, other = one[finite], other[finite]
    scale = one.abs().max() if one.numel() else torch.zeros(())
    slack = ULPS * torch.finfo(one.dtype).eps * scale.item() + torch.finfo(one.dtype).tiny
    far = (one - other).abs()
    return f"value: {far.max().item():g} apart" if far.numel() and bool((far > slack).any()) else ""


def _is_float(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _double(value: Any) -> Any:
    return value.double() if _is_float(value) else value


def _each(change: Callable[[Any], Any]) -> Callable[[Arguments], Arguments]:
    import torch

    return lambda given: torch.utils._pytree.tree_map(change, given)  # type: ignore[no-any-return]


def _rows(given: Arguments) -> int:
    import torch

    first = next((t for t in torch.utils._pytree.tree_leaves(given) if isinstance(t, torch.Tensor) and t.dim()), None)
    return first.shape[0] if first is not None else 0


def _twice(given: Arguments) -> Callable[[Any], Any]:
    import torch

    rows = _rows(given)
    return lambda t: torch.cat((t, t)) if isinstance(t, torch.Tensor) and t.dim() and t.shape[0] == rows else t


def _cut(given: Arguments) -> Callable[[Any], Any]:
    import torch

    rows = _rows(given)
    return lambda t: t[:-1].clone() if isinstance(t, torch.Tensor) and t.dim() and t.shape[0] == rows else t


def _spread(value: Any) -> Any:
    import torch

    if not isinstance(value, torch.Tensor) or not value.dim() or value.layout is not torch.strided:
        return value
    if value.dim() > 1:
        return value.transpose(0, -1).contiguous().transpose(0, -1)
    return torch.stack((value, value), -1)[..., 0]


def _floats(given: Arguments) -> list[int]:
    import torch

    return [n for n, leaf in enumerate(torch.utils._pytree.tree_leaves(given)) if _is_float(leaf) and leaf.numel()]


def _set(place: int, value: float, at: Any) -> Callable[[Arguments], Arguments]:
    def change(given: Arguments) -> Arguments:
        import torch

        leaves, spec = torch.utils._pytree.tree_flatten(given)
        flat = leaves[place].detach().clone().reshape(-1)
        flat[at] = value
        leaves[place] = flat.reshape(leaves[place].shape)
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, spec)
        return tuple(args), dict(kwargs)

    return change


def main() -> None:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("original", type=Path)
    parser.add_argument("fixed", type=Path)
    options = parser.parse_args()
    print("\n".join(differences(options.original, options.fixed)))


if __name__ == "__main__":
    main()
