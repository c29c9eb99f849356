"""One run of a program under fake tensors: inputs and state made fake, torch's surroundings, somebody watching."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import sympy
import torch

from ddelint.nouns.diagnostics import Question
from ddelint.trace import joint, provenance, torch_internals, triton_launches, type_tests
from ddelint.trace.data_attribute import DataAttribute
from ddelint.trace.entry import Entry
from ddelint.trace.observer import Inquiry, Observer, Oracle, Stopped
from ddelint.trace.rerun import quiet, restored, same_randomness


class Watcher(Oracle, Protocol):
    """Who answers, and hears what happens besides questions."""

    backed: bool
    """Whether guards on input sizes are reported, too."""
    remembers_calls: bool
    """Whether each call of the forward is noted on what it makes, for the sake of its gradient."""

    def started(
        self, observer: Observer, input_names: Mapping[sympy.Symbol, str], arguments: Mapping[str, Any]
    ) -> None:
        """A run begins; its input sizes have these names."""

    def operator_called(self, function: Any) -> None:
        """An operator is run on fake tensors."""

    def stand_in(self, mode: Any, operator: Any, args: Any, kwargs: Any) -> Any:
        """The result of a custom operator without a fake kernel; NotImplemented where there is none."""

    def symbol_unbound(self, operator: Any, text: str) -> None:
        """A custom operator made a symbol that none of its results holds."""

    def kernel_launched(self, kernel: str) -> None:
        """A Triton kernel was launched."""

    def data_attribute(self, observer: Observer, is_set: bool) -> Question | None:
        """What to say where `.data` of a tensor is read or set now; None where nothing is."""

    def data_lost(self, question: Question) -> None:
        """What was read or set through `.data` is used."""

    def number_read(self, observer: Observer, tensor: Any) -> None:
        """A number is read from a tensor."""

    def written(self, observer: Observer, expression: sympy.Basic) -> None:
        """A symbol became text."""

    def is_ours(self, filename: str) -> bool:
        """Whether a file's code is the user's to rewrite."""

    def type_tested(self, observer: Observer, number: Any) -> None:
        """A symbolic number failed a test of its type that eager's number passes."""

    def differentiate(self, results: Any) -> None:
        """The forward has returned `results`."""


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended."""

    completed: bool
    """Whether the forward returned."""
    error: BaseException | None = None


def call(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The program starts below this frame: provenance cuts stacks here."""
    return function(*args, **kwargs)


class Program:
    """An entry that can be run under fake tensors again and again, each time from the same state."""

    def __init__(self, entry: Entry, seed: int) -> None:
        self._entry = entry
        self._function = entry.build()
        self._args, self._kwargs = entry.inputs(seed)
        self._seed = seed
        self._mode: Any = None
        self._hidden = [*_hidden_tensors([self._args, self._kwargs], set())]

    def run(self, watcher: Watcher) -> Ending:
        """One run; never raises."""
        completed = False
        observer = Observer(watcher, backed=watcher.backed)
        if self._mode is None:
            self._mode = torch_internals.fake_mode(
                observer, watcher.operator_called, watcher.stand_in, watcher.symbol_unbound
            )
        else:
            torch_internals.renew(self._mode, observer)
        function_mode = _function_mode(observer, watcher)
        with same_randomness(), quiet(), restored(_modules(self._function)):
            try:
                args, kwargs, names = self._fake_inputs(observer)
                watcher.started(observer, names, dict(zip(self._entry.parameters, args)) | kwargs)
                _fakeify_state(self._mode, self._function)
                torch_internals.know_constants(self._mode, self._hidden)
                text = torch_internals.watched_text(lambda expression: watcher.written(observer, expression))
                types = type_tests.watched(watcher.is_ours, lambda number: watcher.type_tested(observer, number))
                with torch_internals.surroundings(self._mode), types:
                    replayed = self._entry.surroundings()
                    with function_mode, text, triton_launches.watched(watcher.kernel_launched), replayed:
                        results = call(self._function, args, kwargs)
                    completed = True
                    watcher.differentiate(results)
            except (Exception, SystemExit, Stopped) as error:
                return Ending(completed, error)
        return Ending(completed)

    def _fake_inputs(self, observer: Observer) -> tuple[tuple[Any, ...], dict[str, Any], dict[sympy.Symbol, str]]:
        named = dict(zip(self._entry.parameters, self._args)) | self._kwargs
        marked = (*self._entry.unbacked, *self._entry.dynamic)
        fakes: dict[str, Any] = {}
        names: dict[sympy.Symbol, str] = {}

        def faked(place: str, value: Any) -> Any:
            unbacked = self._entry.unbacked.get(place, ())
            dynamic = tuple(d for d in self._entry.dynamic.get(place, ()) if d not in unbacked)
            fake = self._fake(value, place, unbacked, dynamic)
            if (unbacked or dynamic) and isinstance(fake, torch.Tensor):
                for dimension, size in enumerate(fake.shape):
                    symbol = torch_internals.expression_of(size)
                    if symbol is not None and symbol.is_Symbol:
                        names[symbol] = f"{place}.shape[{dimension}]"
                        if not torch_internals.is_unbacked(symbol):
                            observer.declared.add(symbol)
            return fake

        for name, value in named.items():
            within = any(place.startswith((f"{name}[", f"{name}.")) for place in marked)
            fakes[name] = torch_internals.map_tensors_at(faked, name, value) if within else faked(name, value)
        named_positions = list(dict(zip(self._entry.parameters, self._args)))
        args = tuple(fakes[name] for name in named_positions)
        args += tuple(self._fake(value, "", (), ()) for value in self._args[len(named_positions) :])
        return args, {name: fakes[name] for name in self._kwargs}, names

    def _fake(self, value: Any, name: str, unbacked: tuple[int, ...], dynamic: tuple[int, ...]) -> Any:
        if isinstance(value, torch.Tensor):
            return torch_internals.fakeify(self._mode, value, name, unbacked=unbacked, dynamic=dynamic)
        return torch_internals.map_tensors(lambda t: torch_internals.fakeify(self._mode, t), value)


def _hidden_tensors(value: Any, seen: set[int]) -> Iterator[torch.Tensor]:
    """The tensors that an input's own attributes hold, at any depth."""
    if isinstance(value, torch.Tensor):
        yield value
    if id(value) in seen or isinstance(value, (torch.Tensor, torch.nn.Module, type, str, int, float)):
        return
    seen.add(id(value))
    inner: list[Any] = [*value] if isinstance(value, (list, tuple, set)) else []
    inner += value.values() if isinstance(value, Mapping) else ()
    inner += vars(value).values() if hasattr(value, "__dict__") else ()
    for item in inner:
        yield from _hidden_tensors(item, seen)


def _function_mode(observer: Observer, watcher: Watcher) -> Any:
    """Export's non-strict `__torch_function__` mode; an operator that answers yes or no is asked of the oracle."""

    data = DataAttribute(lambda is_set: watcher.data_attribute(observer, is_set), watcher.data_lost)

    class Handler(torch_internals.function_mode()):  # type: ignore[misc]
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # Dynamo traces this function, too, inside the arms of a `cond`: nothing of ours is for it
            if (
                not torch.compiler.is_dynamo_compiling()
                and getattr(func, "__name__", "") in torch_internals.READS_NUMBER
            ):
                watcher.number_read(observer, args[0])
            try:
                results = super().__torch_function__(func, types, args, kwargs)
            except RuntimeError as error:
                operator = torch_internals.value_operator(error)
                name = getattr(func, "__name__", "")
                if not operator or name not in operator.split(".") or not torch_internals.answers_with_truth(error):
                    raise
                inquiry = Inquiry("operator", None, f"{type(error).__name__}: {operator}", operator)
                answer = watcher.answer(observer, inquiry)
                if answer is None:
                    raise
                return answer
            if not torch.compiler.is_dynamo_compiling():
                data.called(func, args, kwargs or {}, results)
            if watcher.remembers_calls and not torch.compiler.is_dynamo_compiling():
                operand = args[0] if args else None
                joint.remember(results, joint.Call(provenance.live_stack(call.__code__), operand))
            return results

    return Handler()


def _modules(function: Callable[..., Any]) -> list[torch.nn.Module]:
    owner = function if isinstance(function, torch.nn.Module) else getattr(function, "__self__", None)
    return list(owner.modules()) if isinstance(owner, torch.nn.Module) else []


def _fakeify_state(mode: Any, function: Callable[..., Any]) -> None:
    """Fake tensors in place of parameters and buffers, tied ones once. `restored` puts the real ones back."""
    for module in _modules(function):
        for store in torch_internals.state_of(module):
            for name, tensor in store.items():
                if isinstance(tensor, torch.Tensor) and not torch.nn.parameter.is_lazy(tensor):
                    store[name] = torch_internals.fakeify(mode, tensor)
