"""Runs a program in eager along the path that tracing picks.

Under tracing `torch.compiler.is_compiling()` is true and `guard_or_false` of what cannot be known is false. With
these answers the traced path can be run on real tensors, on inputs of either side, while other questions still keep
the program from being traced.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace import torch_internals

Asked = Callable[[str, FrameType], bool | None]
_asked: Asked | None = None
"""What the patched predicates consult: gives an answer, or None for their own."""
_originals: dict[str, FunctionType] = {}

_PREDICATES: dict[str, dict[str, bool]] = {
    "compile": {"is_compiling": True, "is_dynamo_compiling": True},
    "strict": {"is_compiling": True, "is_dynamo_compiling": True, "is_exporting": True},
    "export": {"is_compiling": True, "is_exporting": True},
}
_GUARDS = {
    "guard_or_false": False,
    "guard_or_true": True,
    "statically_known_true": False,
    "statically_known_false": False,
}


class Consultation:
    """Whether the program asked how it is run, since the last `take`."""

    def __init__(self) -> None:
        self._asked = False

    def take(self) -> bool:
        """Whether any predicate was called outside of torch since the last call of this method."""
        asked, self._asked = self._asked, False
        return asked

    def note(self) -> None:
        """A predicate was called."""
        self._asked = True


@contextlib.contextmanager
def watched() -> Iterator[Consultation]:
    """Predicates answer as they do in eager; that they were called is noted."""
    consultation = Consultation()

    def ask(name: str, frame: FrameType) -> bool | None:
        consultation.note()
        return None

    with _patched(ask):
        yield consultation


@contextlib.contextmanager
def assumed(targets: Collection[str]) -> Iterator[None]:
    """Predicates called outside of torch answer as under the first of `targets` (`compile`, `export`, `strict`).

    `torch.cond` runs the arm that its predicate chooses. By itself it compiles both on each call (torch 2.13: 0.09 s
    of CPU for the smallest, 0.0002 s here); whether they can be compiled is what the tracer says.
    """
    target = next((target for target in ("compile", "strict", "export") if target in targets), "export")
    answers = _PREDICATES[target] | _GUARDS
    with _patched(lambda name, frame: answers.get(name.partition("#")[0])), plain_conditionals():
        yield


@contextlib.contextmanager
def plain_conditionals() -> Iterator[None]:
    """Within, `torch.cond` runs the arm that its predicate chooses, and compiles none."""
    function = torch_internals.conditional()
    if function is None:
        yield
        return
    own = function.__code__
    function.__code__ = _chosen.__code__
    try:
        yield
    finally:
        function.__code__ = own


def _chosen(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    from ddelint.verify.randomness import digest
    from ddelint.verify.traced_path import Operands, with_gradients_of

    given = Operands.apply(*operands) if len(operands) else ()
    before = digest()
    result = true_fn(*given) if pred else false_fn(*given)
    return with_gradients_of(operands, result, digest() != before)


def with_gradients_of(operands: Sequence[Any], result: Any, drew: bool = False) -> Any:
    """The result of an arm, by which each operand has a gradient: zeros where the arm leaves it unread.

    `drew`: the arm drew random numbers. The operator's gradient runs the arm once more (torch 2.13,
    `_higher_order_ops/cond.py`), which draws others: another dropout than that of the result.
    """
    reached = [operand for operand in operands if isinstance(operand, torch.Tensor) and operand.requires_grad]
    leaves, spec = pytree.tree_flatten(result)
    places = [n for n, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.is_floating_point()]
    if (reached or drew) and places and torch.is_grad_enabled():
        joined = _Joined.apply(len(places), drew, *(leaves[place] for place in places), *reached)
        for place, leaf in zip(places, joined):
            leaves[place] = leaf
    return pytree.tree_unflatten(leaves, spec)


class _Joined(torch.autograd.Function):  # type: ignore[misc]
    """The first few tensors, with gradients of zeros for all that follow; `draws`: a gradient moves the generator."""

    @staticmethod
    def forward(ctx: Any, count: int, draws: bool, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        ctx.draws = draws
        ctx.rest = [(tensor.shape, tensor.dtype, tensor.device) for tensor in tensors[count:]]
        return tuple(tensor.clone() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[Any, ...]:
        zeros = (torch.zeros(shape, dtype=dtype, device=device) for shape, dtype, device in ctx.rest)
        if ctx.draws:
            torch.rand(())
        return (None, None, *gradients, *zeros)


class Operands(torch.autograd.Function):  # type: ignore[misc]
    """What `torch.cond` is given: its gradient needs them unchanged, as that of the operator does."""

    @staticmethod
    def forward(ctx: Any, *operands: Any) -> tuple[Any, ...]:
        """Copies: views may not be changed in place by anybody."""
        ctx.save_for_backward(*(operand for operand in operands if isinstance(operand, torch.Tensor)))
        return tuple(o.clone() if isinstance(o, torch.Tensor) else o for o in operands)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        """Their gradients. Raises RuntimeError where one of them was changed in place."""
        _ = ctx.saved_tensors
        return gradients


@contextlib.contextmanager
def _patched(ask: Asked) -> Iterator[None]:
    """Replace the code of the predicates, so that whoever holds a reference to one gets our answers."""
    global _asked
    predicates = torch_internals.tracing_predicates()
    replaced: list[tuple[FunctionType, CodeType]] = []
    before = _asked
    _asked = ask
    try:
        for name, function in predicates.items():
            template = _with_argument(name) if function.__code__.co_argcount else _without_argument(name)
            own = function.__code__
            if own.co_name != _MARK:
                _originals[name] = FunctionType(own, function.__globals__, name, function.__defaults__)
            with contextlib.suppress(ValueError):  # a closure: this release has made it something else
                function.__code__ = template
                replaced.append((function, own))
        yield
    finally:
        for function, code in replaced:
            function.__code__ = code
        _asked = before


def consult(name: str, *arguments: Any) -> Any:
    """What a patched predicate does: our answer for user code, its own for torch and where there is none."""
    frame = sys._getframe(2)
    if _asked is not None and not frame.f_code.co_filename.startswith(torch_internals.TORCH_FOLDER):
        answer = _asked(name, frame)
        if answer is not None:
            return answer
    return _originals[name](*arguments)


_MARK = "ddelint_predicate"


def _without_argument(name: str) -> CodeType:
    def ddelint_predicate() -> Any:
        from ddelint.verify.traced_path import consult

        return consult("NAME")

    return _named(ddelint_predicate.__code__, name)


def _with_argument(name: str) -> CodeType:
    def ddelint_predicate(a: Any) -> Any:
        from ddelint.verify.traced_path import consult

        return consult("NAME", a)

    return _named(ddelint_predicate.__code__, name)


def _named(code: CodeType, name: str) -> CodeType:
    return code.replace(co_consts=tuple(name if constant == "NAME" else constant for constant in code.co_consts))
