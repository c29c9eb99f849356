"""A stand-in for a fake kernel that is missing: its rule is read off what the real kernel returned.

Tracing ends at an operator without a fake kernel, and what stands behind it stays unseen. With a stand-in it goes on:
a size that always was the size of some argument is that, one that never changed although the arguments did is constant,
any other is a new symbol, as `torch.library.get_ctx().new_dynamic_size()` makes them. A number that is returned by
itself is no shape: it hangs on data unless it is an argument, however often it was the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from ddelint.trace import kernel_calls, torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.kernel_calls import FLAG, Call, Name, Returned, Signature

SEEDS = 6
"""Inputs on which the real kernels are watched."""
_SIZES = (5, 3, 7, 11, 13)
"""For sizes that nobody knows, where a kernel must be tried without the entry's inputs."""


@dataclass(frozen=True)
class _Number:
    """How one number of a result follows from the arguments; `unknown` ones with the same number are the same."""

    kind: str
    """argument, constant, unknown."""
    name: Name | None = None
    value: float = 0
    unknown: tuple[float, ...] = ()
    """What it was in each call; of one that never changed also its place in the result: it is equal to no other."""


@dataclass(frozen=True)
class _Result:
    """How one returned value is made."""

    kind: str
    sizes: tuple[_Number, ...] = ()
    dtype: str = ""
    device: str = ""
    order: tuple[int, ...] = ()
    number: _Number | None = None
    parts: tuple[_Result, ...] = ()


@dataclass(frozen=True)
class _Missing:
    """A call that no fake kernel could answer."""

    operator: Any
    signature: Signature
    args: Any
    kwargs: Any


class StandIns:
    """The stand-ins of one entry, made when they are first needed."""

    def __init__(self, entry: Entry, seed: int) -> None:
        self._entry = entry
        self._seeds = range(seed, seed + (SEEDS if entry.seeded else 1))
        self._rules: dict[tuple[Any, Signature], _Result | None] = {}
        self._missing: _Missing | None = None

    def result(self, mode: Any, operator: Any, args: Any, kwargs: Any) -> Any:
        """What `operator` gives for fake arguments; NotImplemented (and a note of it) where there is no stand-in."""
        key = (operator, kernel_calls.signature_of(operator, args, kwargs))
        rule = self._rules.get(key)
        if rule is None:
            self._missing = _Missing(*key, args, kwargs)
            return NotImplemented
        numbers = kernel_calls.numbers_of(operator, args, kwargs)
        with mode:
            return _made(rule, numbers, {}, mode, operator)

    def learn(self, error: BaseException | None) -> bool:
        """After a run that ended with `error`: make the stand-in that it lacked. Whether there is a new one."""
        missing, self._missing = self._missing, None
        if missing is None or (missing.operator, missing.signature) in self._rules:
            return False
        while error is not None and not torch_internals.lacks_fake_kernel(error):
            error = error.__cause__ or error.__context__
        if error is None:
            return False  # the program itself went on without the operator
        calls, arguments = self._calls(missing)
        rule = _rule_of(calls)
        self._rules[missing.operator, missing.signature] = rule
        for other in kernel_calls.flipped(missing.operator, *arguments) if arguments and rule else ():
            key = (missing.operator, kernel_calls.signature_of(missing.operator, *other))
            flipped = None if key in self._rules else _rule_of(kernel_calls.tried_anew(missing.operator, other))
            if flipped is not None:
                self._rules[key] = flipped
        return rule is not None

    @property
    def known_to_be_missing(self) -> bool:
        """Whether the run was stopped by an operator that has stopped another one: nothing new."""
        return self._missing is not None and any(operator is self._missing.operator for operator, _ in self._rules)

    def body(self, operator_name: str) -> tuple[str, ...]:
        """The body of a fake kernel for an operator, in Python; () where no stand-in, or several, or no body fits."""
        found = [
            (operator, signature, rule)
            for (operator, signature), rule in self._rules.items()
            if str(operator) == operator_name or str(operator).rpartition(".")[0] == operator_name
        ]
        if len({_tensors_of(signature) for _, signature, _ in found}) != 1:
            return ()
        try:
            return tuple(_branches(found))
        except _NoBody:
            return ()

    def _calls(self, missing: _Missing) -> tuple[list[Call], tuple[Any, Any] | None]:
        """What the real kernel returned for such arguments, and arguments for further tries."""
        seen = kernel_calls.seen_in_eager(self._entry, missing.operator, self._seeds).get(missing.signature)
        if seen is None:
            made = kernel_calls.invented(missing.args, missing.kwargs, _invented_size)
            return kernel_calls.tried(missing.operator, made), None
        if seen.arguments is not None:
            seen.calls += kernel_calls.tried(missing.operator, kernel_calls.variations(seen.arguments))
            others: list[Callable[[], tuple[Any, Any]]] = [
                partial(kernel_calls.with_fewer, seen.arguments),
                *kernel_calls.with_longer(seen.arguments),
                *kernel_calls.with_other_numbers(seen.arguments),
            ]
            # one result for each tensor of a list is no structure that hangs on data: the list is as long as it is
            seen.calls += [
                call
                for call in kernel_calls.tried(missing.operator, others)
                if kernel_calls.is_alike(call.returned, seen.calls[0].returned)
            ]
            seen.calls += kernel_calls.tried(missing.operator, kernel_calls.each_alone(seen.arguments))
            seen.calls += [
                replace(call, apart=True)
                for call in kernel_calls.tried(missing.operator, kernel_calls.each_shorter(seen.arguments))
                if kernel_calls.is_alike(call.returned, seen.calls[0].returned)
            ]
        return seen.calls, seen.arguments


def register(operator_name: str, body: Sequence[str]) -> None:
    """Give an operator (`namespace.name`, perhaps with an overload) the fake kernel whose body `StandIns.body` said.

    For the rest of this process. Raises RuntimeError (torch's own) where it has one by now.
    """
    namespace, name = operator_name.split(".")[:2]
    operator = getattr(getattr(torch.ops, namespace), name).default
    parameters = ", ".join(torch_internals.argument_names(operator))
    globals_: dict[str, Any] = {"torch": torch}
    exec("\n".join([f"def fake({parameters}):", *(f"    {line}" for line in body)]), globals_)
    torch.library.register_fake(f"{namespace}::{name}", globals_["fake"])


class _NoBody(Exception):
    """A fake kernel cannot say this."""


def _tensors_of(signature: Signature) -> Signature:
    return tuple(part for part in signature if part[1] != FLAG)


def _branches(found: Sequence[tuple[Any, Signature, _Result | None]]) -> Iterator[str]:
    """The lines of a fake kernel: a branch for each truth value among the arguments that makes another result."""
    operator, usual, rule = found[0]
    if rule is None:
        raise _NoBody
    several = torch_internals.returns_several(operator)
    lines = list(_Body(_tensors_of(usual)).lines(rule, several))
    for _, signature, other in found[1:]:
        if other is None:
            raise _NoBody
        branch = list(_Body(_tensors_of(signature)).lines(other, several))
        if branch != lines:
            flags = [(name, value) for name, _, value in sorted(set(signature) - set(usual))]
            yield f"if {' and '.join(name if value == 'True' else f'not {name}' for name, value in flags)}:"
            yield from (f"    {line}" for line in branch)
    yield from lines


class _Body:
    """The source of a fake kernel whose parameters are called as in the operator's schema."""

    def __init__(self, signature: Signature) -> None:
        self._signature = signature
        self._unknown: dict[tuple[float, ...], str] = {}

    def lines(self, rule: _Result, several: bool) -> Iterator[str]:
        """A line for each new size, and the return."""
        count = len(dict.fromkeys(_unknowns(rule)))
        for number, values in enumerate(dict.fromkeys(_unknowns(rule)), 1):
            self._unknown[values] = "size" if count == 1 else f"size_{number}"
            yield f"{self._unknown[values]} = torch.library.get_ctx().new_dynamic_size()"
        yield f"return {self._result(rule, several)}"

    def _result(self, rule: _Result, several: bool = False) -> str:
        if rule.kind == "none":
            return "None"
        if rule.kind == "list":
            parts = ", ".join(self._result(part) for part in rule.parts)
            return (f"({parts})" if len(rule.parts) != 1 else f"({parts},)") if several else f"[{parts}]"
        if rule.number is not None:
            if rule.number.kind == "unknown" and (rule.kind != "int" or min(rule.number.unknown) < 0):
                raise _NoBody
            return self._number(rule.number)
        sizes = [self._number(rule.sizes[d]) for d in rule.order]
        shape = sizes[0] if len(sizes) == 1 else f"({', '.join(sizes)})"
        like = next((name for name, _, dtype in self._signature if dtype == rule.dtype), None)
        if not self._signature:
            made = f"torch.empty({shape}, dtype={rule.dtype}, device={rule.device!r})"
        elif like is not None:  # its dtype may be another one in another program
            made = f"{like}.new_empty({shape})"
        else:
            made = f"{self._signature[0][0]}.new_empty({shape}, dtype={rule.dtype})"
        if list(rule.order) != sorted(rule.order):
            made += f".permute({', '.join(str(rule.order.index(d)) for d in range(len(sizes)))})"
        return made

    def _number(self, of: _Number) -> str:
        if of.kind == "constant":
            return repr(of.value)
        if of.kind == "unknown":
            return self._unknown[of.unknown]
        assert of.name is not None
        name, what = of.name
        said = {"value": name, "elements": f"{name}.numel()", "length": f"len({name})"}
        return said.get(str(what), f"{name}.shape[{what}]")


def _unknowns(rule: _Result) -> Iterator[tuple[float, ...]]:
    for number in (*rule.sizes, *([rule.number] if rule.number is not None else [])):
        if number.kind == "unknown":
            yield number.unknown
    for part in rule.parts:
        yield from _unknowns(part)


def _invented_size(size: torch.SymInt, number: int) -> int:
    """A small number for a size that nobody knows: others for other symbols and tries."""
    expression = torch_internals.expression_of(size)
    if expression is None:
        return _SIZES[number % len(_SIZES)]
    symbols = sorted(expression.free_symbols, key=str)
    chosen = {symbol: _SIZES[(i + number) % len(_SIZES)] for i, symbol in enumerate(symbols)}
    return max(0, int(expression.subs(chosen)))


def _rule_of(calls: Sequence[Call]) -> _Result | None:
    return _rule([call.returned for call in calls], calls) if calls else None


def _rule(returned: Sequence[Returned], calls: Sequence[Call], place: tuple[int, ...] = ()) -> _Result | None:
    """How the value at a place in the result is made, from what it was in each call; None where it has no form of its
    own."""
    first = returned[0]
    if any((one.kind, one.dtype, one.device) != (first.kind, first.dtype, first.device) for one in returned):
        return None
    if first.kind == "none":
        return _Result("none")
    if first.kind == "list":
        if len({len(one.parts) for one in returned}) > 1:
            return None
        parts = [_rule([one.parts[i] for one in returned], calls, (*place, i)) for i in range(len(first.parts))]
        return None if None in parts else _Result("list", parts=tuple(part for part in parts if part is not None))
    if first.kind != "tensor":
        number = _number([one.value for one in returned], calls)
        if number.kind == "constant":
            number = _Number("unknown", unknown=(*(one.value for one in returned), *place))
        return _Result(first.kind, number=number)
    if len({len(one.shape) for one in returned}) > 1:
        return None
    sizes = tuple(_number([one.shape[i] for one in returned], calls, i) for i in range(len(first.shape)))
    informative = next((one for one in returned if min(one.shape, default=2) > 1), first)
    return _Result("tensor", sizes, first.dtype, first.device, informative.order)


def _number(values: Sequence[float], calls: Sequence[Call], dimension: int = -1) -> _Number:
    """How a number follows from the arguments; of several that fit, the size of the same `dimension` goes first, and
    before it one that fits where sizes are apart, too."""
    pairs = list(zip(calls, values))
    fitting = [
        name
        for name in sorted(calls[0].numbers, key=lambda name: name[1] != dimension)
        if all(call.apart or call.numbers.get(name) == value for call, value in pairs)
    ]
    for name in fitting:
        if all(call.numbers.get(name) == value for call, value in pairs):
            return _Number("argument", name)
    if fitting:
        return _Number("argument", fitting[0])
    if len(set(values)) == 1:
        return _Number("constant", value=values[0])
    return _Number("unknown", unknown=tuple(value for call, value in pairs if not call.apart))


def _made(rule: _Result, numbers: dict[Name, Any], fresh: dict[Any, Any], mode: Any, operator: Any) -> Any:
    """A value by its rule; `fresh` holds the new symbols of this call."""

    def number(of: _Number) -> Any:
        if of.kind == "argument":
            return numbers[of.name]  # type: ignore[index]
        if of.kind == "constant":
            return of.value
        kind = "size" if rule.kind == "tensor" else rule.kind
        key = (of.unknown, kind)
        if kind == "int" and (of.unknown, "size") in fresh:
            return fresh[of.unknown, "size"]
        if key not in fresh:
            fresh[key] = torch_internals.new_number(mode, operator, kind)
        return fresh[key]

    if rule.kind == "none":
        return None
    if rule.kind == "list":
        parts = [_made(part, numbers, fresh, mode, operator) for part in rule.parts]
        return tuple(parts) if torch_internals.returns_several(operator) else parts
    if rule.number is not None:
        return number(rule.number)
    sizes = [number(size) for size in rule.sizes]
    dtype = getattr(torch, rule.dtype.removeprefix("torch."))
    laid_out = torch.empty([sizes[d] for d in rule.order], dtype=dtype, device=rule.device)
    return laid_out.permute([rule.order.index(d) for d in range(len(sizes))])
