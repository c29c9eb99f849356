"""List the operators of torch that ask about a length of run time, with what they ask.

python scripts/asking_operators.py                    under fake tensors, which is what export traces with
python scripts/asking_operators.py --inductor         those that pass, through Inductor's lowering (an hour)
python scripts/asking_operators.py conv cdist         operators whose names have one of these words
python scripts/asking_operators.py --json FILE        the same as data, for comparing two releases

Samples are those that torch tests itself with (torch.testing, which needs the package expecttest). In each, one size
after the other becomes a number of run time, wherever it occurs among the operator's tensors.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._pytree import tree_leaves, tree_map_only

MOST_SAMPLES = 12
"""Samples of one operator that are looked at."""


@dataclass(frozen=True)
class Trial:
    """An operator on one of torch's samples, and the size that becomes a number of run time."""

    operator: str
    call: Callable[..., Any]
    sample: Any
    size: int

    def arguments(self, replace: Callable[[torch.Tensor], torch.Tensor]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The sample's arguments, each tensor replaced."""
        given = ((self.sample.input, *self.sample.args), dict(self.sample.kwargs))
        return tree_map_only(torch.Tensor, replace, given)  # type: ignore[no-any-return]

    @property
    def shapes(self) -> tuple[tuple[int | str, ...], ...]:
        """Of the sample's tensors, `u` in the place of the size."""
        leaves = tree_leaves((self.sample.input, self.sample.args, self.sample.kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        return tuple(tuple("u" if n == self.size else n for n in tensor.shape) for tensor in tensors)

    def __str__(self) -> str:
        settings = {k: v for k, v in self.sample.kwargs.items() if not isinstance(v, (torch.Tensor, torch.dtype))}
        reported = [str(arg) for arg in self.sample.args if not isinstance(arg, torch.Tensor)]
        return ", ".join([*map(str, self.shapes), *reported, *(f"{name}={value}" for name, value in settings.items())])


def trials(words: list[str]) -> Iterator[Trial]:
    """Every operator that torch has samples of, on shapes that differ, each size in its turn."""
    from torch.testing._internal.common_methods_invocations import op_db

    for operator in op_db:
        name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
        if words and not any(word in name for word in words):
            continue
        dtype = next((d for d in (torch.float32, torch.int64, torch.bool) if d in operator.dtypes), None)
        if dtype is None:
            continue
        seen = set()
        try:
            for sample in itertools.islice(operator.sample_inputs("cpu", dtype, requires_grad=False), MOST_SAMPLES):
                leaves = tree_leaves((sample.input, sample.args, sample.kwargs))
                tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
                for size in sorted({n for tensor in tensors for n in tensor.shape if n > 1}):
                    trial = Trial(name, operator.op, sample, size)
                    if str(trial) not in seen:
                        seen.add(str(trial))
                        yield trial
        except Exception as error:
            print(f"{name}: no samples: {type(error).__name__}", file=sys.stderr)


def faked(trial: Trial) -> str:
    """What the operator asks under fake tensors: "" for nothing, None where it fails otherwise."""
    environment = ShapeEnv()
    with enable_python_dispatcher(), FakeTensorMode(shape_env=environment, allow_non_fake_inputs=True):
        length = environment.create_unbacked_symint()
        torch._check(length >= 0)

        def replace(tensor: torch.Tensor) -> torch.Tensor:
            sizes = [length if n == trial.size else n for n in tensor.shape]
            return torch.empty(sizes, dtype=tensor.dtype)

        args, kwargs = trial.arguments(replace)
        return _asked(lambda: trial.call(*args, **kwargs))


def lowered(trial: Trial) -> str:
    """What Inductor asks, until it would compile what it has written."""
    from ddelint.trace.torch_internals import backend, compile_settings

    def program(keep: torch.Tensor, given: tuple[tuple[Any, ...], dict[str, Any]]) -> Any:
        rows = keep.nonzero().squeeze(1)

        def replace(tensor: torch.Tensor) -> torch.Tensor:
            for place, n in enumerate(tensor.shape):
                if n == trial.size:
                    tensor = tensor.index_select(place, rows)
            return tensor

        args, kwargs = tree_map_only(torch.Tensor, replace, given)
        return trial.call(*args, **kwargs)

    given = trial.arguments(lambda tensor: tensor.detach().clone())
    with compile_settings(recompiles=8):
        compiled = torch.compile(program, fullgraph=True, backend=backend("lowering"))
        return _asked(lambda: compiled(torch.ones(trial.size, dtype=torch.bool), given))


def _asked(run: Callable[[], Any]) -> str:
    try:
        run()
    except Exception as error:
        seen: BaseException | None = error
        while seen is not None:
            if isinstance(seen, GuardOnDataDependentSymNode):
                return f"asks {seen.cond}"
            if "data-dependent" in str(seen) or "unbacked" in str(seen):
                return "asks: " + str(seen).strip().splitlines()[0][:120]
            seen = seen.__cause__ or seen.__context__
        return f"fails: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:120]}"
    return ""


def main() -> None:
    """The command line above."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*")
    parser.add_argument("--inductor", action="store_true")
    parser.add_argument("--failing", action="store_true", help="also what fails for other reasons")
    parser.add_argument("--json")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found: dict[str, dict[str, str]] = {}
    for trial in trials(options.words):
        said = faked(trial)
        if not said and options.inductor:
            said = lowered(trial)
            said = f"inductor {said}" if said else ""
        if said and ("asks" in said or options.failing):
            found.setdefault(trial.operator, {})[str(trial)] = said
            print(f"{trial.operator}: {trial}: {said}", flush=True)
    print(f"{len(found)} operators ask on torch {torch.__version__}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
