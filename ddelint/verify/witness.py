"""The original once more, its numbers moved by a little: how far rounding alone may move its results.

A sum taken in another order loses digits where large terms cancel. How many follows from no number in sight, neither
the result nor the arguments; it follows from how the result moves when each input, and what each operator gives, moves
by a known relative amount: the condition of the computation (N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2002, ch. 1.6), measured as in Monte Carlo arithmetic (D. S. Parker, 1997). Inputs alone would not do: a
gradient that is zero for every input consists of rounding errors and nothing else. Few results need that, so it is
asked for when two of them differ. By then the rewritten program has taken the original's place in the process; so a
fork from before keeps the original.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from multiprocessing.connection import Connection, Pipe
from typing import Any, TypeGuard

import torch
from torch.utils import _pytree as pytree

from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.limits import TooMuch, limited
from ddelint.verify import carried
from ddelint.verify.calls import Outcome, module_of, weighing
from ddelint.verify.frozen import storage_address
from ddelint.verify.remembered import Remembered
from ddelint.verify.samples import Sample, is_ordinary, with_leaves

Moved = Sequence[tuple[float, Sequence[Outcome]]]
"""(relative amount, the calls on inputs moved by it); see sameness.Noise for their order."""
Key = tuple[int, str, str, int, bool]
"""Tells a reference apart from the others of a request: its number, label, mode, seed, and whether it is a twin."""
Rerun = Callable[[Key, Callable[[Entry, Sample], tuple[Entry, Sample]]], "list[Outcome] | None"]
"""Runs the original again on the reference of that key, with the entry and the sample changed by a function."""

INPUTS, OPERATORS, HALF_PRECISION, NOTHING = "inputs", "operators", "half precision", "nothing"
"""What is moved."""
_AGAIN = 2
"""So many more runs say whether the original gives the same each time."""
_ROUNDING_ERRORS, _LARGEST = 256, 1 / 64
"""So many make one step, far above the grid of floating-point numbers; and up to where a result is nearly linear."""
_LARGEST_WITHIN = 1 / 16
"""Up to where what an operator gives is moved that computes in half precision: eight of its rounding errors."""
_SMALLER = 8
"""How much smaller the last step is."""
_PATTERNS = ((1, 1), (2, 1), (3, _SMALLER))
"""(seed of the signs, how much smaller the step is) of each run."""
_WITHIN = 4
"""Where only inputs move, a result is taken to move so much more by what is rounded within."""
_IN_VAIN = 6
"""Answers in one mode that did not help, after which none is asked for there: the program is another one."""
_SECONDS = 10.0
"""CPU seconds that an answer may take, for two calls of the original: what it says is the same on a busy machine."""
_BUSY = 8
"""So many times as long it is waited for, as others may want the processor, too."""


class Witness:
    """Answers for the original, from a process that was forked while it was the one that is loaded."""

    def __init__(self, rerun: Rerun, remembered: Remembered | None = None) -> None:
        """`remembered`: what witnesses of the same references were asked before."""
        self._rerun = rerun
        self._remembered = remembered
        self._seconds = _SECONDS
        self._answers: dict[tuple[Key, str], Moved] = {}
        self._given_up: set[tuple[str, str]] = set()
        """Modes, and what is moved, of answers that took too long."""
        self._in_vain: Counter[str] = Counter()
        self._child = 0
        self._connection: Connection | None = None

    @contextlib.contextmanager
    def ready(self) -> Iterator[Witness]:
        """Within, it can be asked. Where the process cannot be forked (CUDA is in use), it knows nothing."""
        if hasattr(os, "fork") and not torch.cuda.is_initialized():
            mine, its = Pipe()
            self._child = os.fork()
            if not self._child:
                self._serve(its)
            its.close()
            self._connection = mine
        try:
            yield self
        finally:
            self._end()

    def allow(self, seconds: float) -> None:
        """So much more, for an answer before which the references are made again."""
        self._seconds = _SECONDS + 2 * seconds

    def moved(self, reference: Key, *, calls: int = 2, fused: bool = False) -> Iterator[Moved]:
        """The original on a reference (of so many calls), its inputs moved; at more expense, what its operators give.

        `fused`: what they give in half precision is moved by what such numbers round, too. A fused kernel keeps more of
        it from one operator to the next; nothing else may.
        """
        for what in (INPUTS, OPERATORS, HALF_PRECISION) if fused else (INPUTS, OPERATORS):
            key = reference, what
            if key not in self._answers:
                hopes = self._in_vain[_mode_of(reference)] < _IN_VAIN
                self._answers[key] = self._asked(*key, calls=calls) if hopes else ()
            if self._answers[key]:
                yield self._answers[key]

    def again(self, reference: Key) -> Sequence[Sequence[Outcome]]:
        """The calls of the original on a reference, run again as they were; none where nobody knows."""
        key = reference, NOTHING
        if key not in self._answers:
            self._answers[key] = self._asked(*key)
        return [calls for _, calls in self._answers[key]]

    def judged(self, reference: Key, *, wrong: bool) -> None:
        """Whether two results are different for all that it said."""
        self._in_vain[_mode_of(reference)] += wrong

    def _asked(self, reference: Key, what: str, calls: int = 2) -> Moved:
        kind = _mode_of(reference), what
        if self._connection is None or kind in self._given_up:
            return ()
        seconds = self._seconds * max(1.0, calls / 2)
        try:
            known = self._remembered.find((reference, what)) if self._remembered is not None else None
            if known is not None:
                return carried.read(known) or ()
            self._connection.send((reference, what, seconds))
            if self._connection.poll((seconds + 1) * _BUSY):
                data = self._connection.recv_bytes()
                answer: Moved | None = carried.read(data)
                if answer is None:
                    self._given_up.add(kind)
                elif answer and self._remembered is not None:
                    self._remembered.keep((reference, what), data)
                return answer or ()
        except (OSError, EOFError, pickle.PickleError, AttributeError, ImportError):
            pass
        self._end()
        return ()

    def _end(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            with contextlib.suppress(OSError):
                os.kill(self._child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.waitpid(self._child, 0)

    def _serve(self, connection: Connection) -> None:
        """Answer until killed; never returns."""
        try:
            torch.set_num_threads(1)  # a pool of threads does not survive a fork
            while True:
                reference, what, seconds = connection.recv()
                answer: Moved | None = None  # that it takes too long says nothing of the next one
                with contextlib.suppress(TooMuch), limited(seconds, None, waiting=_BUSY):
                    answer = self._moved_runs(reference, what)
                connection.send_bytes(carried.written(answer))
        except BaseException:  # whatever it is, the parent goes on without an answer
            os._exit(1)

    def _moved_runs(self, reference: Key, what: str) -> Moved:
        if what == NOTHING:
            again = [self._rerun(reference, lambda entry, sample: (entry, sample)) for _ in range(_AGAIN)]
            return [(0.0, calls) for calls in again if calls is not None]
        runs = []
        operators = what != INPUTS
        for pattern, part in _PATTERNS:
            move = _Move(pattern, part, half_precision=what == HALF_PRECISION)
            with weighing(move.tensor), move.operators() if operators else contextlib.nullcontext():
                calls = self._rerun(reference, move.both)
            if calls is None:
                return ()
            runs.append((move.amount if operators else move.amount / _WITHIN, calls))
        return runs


def _mode_of(reference: Key) -> str:
    return reference[2]


def _coarsest(entry: Entry, sample: Sample) -> float:
    """The precision of the coarsest floating-point numbers among parameters and arguments."""
    module = module_of(entry.build())
    tensors = [*module.parameters(), *module.buffers()] if module is not None else []
    tensors += [leaf for leaf in pytree.tree_leaves(sample.make()) if isinstance(leaf, torch.Tensor)]
    found = [float(torch.finfo(tensor.dtype).eps) for tensor in tensors if tensor.is_floating_point()]
    return max(found, default=float(torch.finfo(torch.float32).eps))


def _is_tensor(value: object) -> TypeGuard[torch.Tensor]:
    return isinstance(value, torch.Tensor)


class _Move:
    """Multiplies every floating-point number by 1 + amount or 1 - amount."""

    def __init__(self, pattern: int, part: int, *, half_precision: bool) -> None:
        self.amount = 0.0
        self._coarsest = 0.0
        self._half_precision = half_precision
        self._part = part
        self._order = random.Random(pattern)

    def both(self, entry: Entry, sample: Sample) -> tuple[Entry, Sample]:
        """Parameters, buffers and arguments moved, by what their precision allows."""
        self._coarsest = _coarsest(entry, sample)
        self.amount = min(self._coarsest * _ROUNDING_ERRORS, _LARGEST) / self._part
        return replace(entry, build=lambda: self.program(entry.build())), self.sample(sample)

    def tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        """A moved copy."""
        return tensor * self._factors(tensor)

    def program(self, program: Callable[..., object]) -> Callable[..., object]:
        """With its parameters and buffers moved, in place."""
        module = module_of(program)
        if module is not None:
            for tensor in [*module.parameters(), *module.buffers()]:
                self._in_place(tensor)
        return program

    def sample(self, sample: Sample) -> Sample:
        """With its floating-point tensors moved."""
        return replace(sample, make=with_leaves(sample, lambda leaves: list(map(self._moved, leaves))))

    def operators(self) -> AbstractContextManager[object]:
        """Within, what each operator gives is moved: in the forward pass and the backward."""
        move = self

        class Moving(torch_internals.dispatch_mode()):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                given = func(*args, **(kwargs or {}))
                known = {storage_address(leaf) for leaf in pytree.tree_leaves((args, kwargs)) if _is_tensor(leaf)}
                return pytree.tree_map(lambda value: move._rounded(value, known), given)

        return Moving()

    def _rounded(self, value: object, known: set[int | None]) -> object:
        """What an operator gave, as another rounding might have given it; what is a view of an argument is no news."""
        if not _is_tensor(value) or not is_ordinary(value) or not value.is_floating_point():
            return value
        if not self.amount or storage_address(value) in known:
            return value
        # whole numbers are counts, indices, switches: no rounding makes another of them; beyond 1 / eps all are whole
        counts = (value == value.round()) & (value.abs() < 1 / torch.finfo(value.dtype).eps)
        return torch.where(counts, value, self.tensor(value))

    def _moved(self, leaf: object) -> object:
        if not isinstance(leaf, torch.Tensor) or not is_ordinary(leaf) or not leaf.is_floating_point():
            return leaf
        if leaf.requires_grad:
            self._in_place(leaf)
            return leaf
        return self.tensor(leaf)

    def _in_place(self, tensor: torch.Tensor) -> None:
        if tensor.is_floating_point() and not torch.nn.parameter.is_lazy(tensor):
            with contextlib.suppress(RuntimeError):  # elements that share their memory
                tensor.data.mul_(self._factors(tensor))

    def _factors(self, tensor: torch.Tensor) -> torch.Tensor:
        count = tensor.numel()
        if count > _SIGNS // 2:
            signs = _signs().repeat(count // _SIGNS + 2)
        else:
            signs = _signs()
        start = self._order.randrange(_SIGNS // 2)
        return (1 + signs[start : start + count].reshape(tensor.shape) * self._amount_of(tensor.dtype)).to(tensor.dtype)

    def _amount_of(self, dtype: torch.dtype) -> float:
        """By how much numbers of a type move: more where it is coarser than any that the program was given."""
        if not self._half_precision or not self._coarsest:
            return self.amount
        coarser = float(torch.finfo(dtype).eps) / self._coarsest
        return min(self.amount * coarser, _LARGEST_WITHIN / self._part) if coarser > 1 else self.amount


_SIGNS = 1 << 16


@cache
def _signs() -> torch.Tensor:
    """As many times +1 or -1; where a tensor begins among them is drawn, which is cheaper than to draw each."""
    return torch.randint(0, 2, (_SIGNS,), generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 2 - 1
