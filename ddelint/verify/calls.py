"""One call of a program, and everything that can be seen of it: result, exception, effects, gradients, random draws."""

from __future__ import annotations

import contextlib
import dis
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from operator import is_
from time import perf_counter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.trace.arguments import seed_everything
from ddelint.trace.entry import Arguments
from ddelint.trace.registered import parameters_of, parts_of, tensors_in
from ddelint.verify import randomness, reach
from ddelint.verify.frozen import (
    UNCHANGEABLE,
    Constant,
    Freezer,
    Frozen,
    FrozenTensor,
    elements,
    entries,
    is_dataclass,
    is_module_table,
    kind_of,
    storage_address,
)
from ddelint.verify.sameness import differences

_TORCH = os.path.dirname(os.path.realpath(torch.__file__)) + os.sep
_CLONED = 1 << 16
"""Elements up to which a parameter is compared by value; above, its version counter says."""
_KEPT = (*UNCHANGEABLE, torch.Tensor, list, tuple, dict)
"""What may be data that is kept on a module."""
_ABSENT = object()
_Parts = list[tuple[str, torch.nn.Module]]
_LONGEST_WARNING = 160
_NUMBERS = re.compile(r"\d[\d.e+-]*")
_LEAF = "ddelint_leaf"
"""Attribute of an argument that requires grad without being a leaf: the leaf that it is a copy of."""


@dataclass(frozen=True)
class Raised:
    """An exception. `deliberate`: the user's own code raised it, by `raise` or `assert`."""

    kind: str
    message: str
    deliberate: bool

    def __str__(self) -> str:
        line = self.message.strip().splitlines()[0] if self.message.strip() else ""
        return f"{self.kind.rpartition('.')[2]}: {line[:160]}" if line else self.kind.rpartition(".")[2]


@dataclass(frozen=True)
class Outcome:
    """What one call did."""

    result: Frozen | None
    error: Raised | None
    arguments: Frozen
    """The arguments as they were after the call."""
    effects: Mapping[str, Frozen]
    """What the call changed, by its new value: parameters, buffers and plain attributes of the module by their name,
    and what else the program reaches by a phrase (`global STATS`, see `reach`)."""
    rebound: frozenset[str]
    """Parameters and buffers that are another tensor than before: whoever holds the old one sees nothing."""
    random: int
    """A digest of the states of the random generators after the call."""
    random_later: int
    """The same after the gradients were taken."""
    drew: bool
    """Whether the call moved one of these generators."""
    differentiated: bool
    """Whether gradients were asked for."""
    gradients: Mapping[str, Frozen] | None
    """None where none could flow."""
    gradient_error: Raised | None
    seconds: float
    warned: frozenset[str] = frozenset()
    """What the call warned of, without the numbers in it."""
    training: bool = False
    """Whether the module was in training mode."""
    reached: frozenset[str] = frozenset()
    """What the program reaches beside its module, whether the call changed it or not (see `reach`)."""
    assigned: frozenset[str] = frozenset()
    """Plain attributes that hold another tensor than before: what is assigned while torch.export traces is lost."""
    effects_later: Mapping[str, Frozen] = field(default_factory=dict)
    """What is not as it was before the call once gradients were taken: a backward pass may have effects, too."""
    replaced: Mapping[str, Frozen] = field(default_factory=dict)
    """What the changed parameters, buffers and attributes that are tensors held before, where that is known."""

    @property
    def returned(self) -> bool:
        """Whether the call ended without an exception."""
        return self.error is None

    @property
    def state_changed(self) -> bool:
        """Whether another call of the same instance may come out differently."""
        return bool(self.effects or self.effects_later)


def run(
    program: Callable[..., Any],
    arguments: Arguments,
    *,
    module: torch.nn.Module | None = None,
    seed: int = 0,
    gradients: bool = False,
    surroundings: Callable[[], AbstractContextManager[None]] = contextlib.nullcontext,
) -> Outcome:
    """Call `program`, with every generator seeded with `seed`, and keep what can be seen. Whatever it raises is caught.

    `module` is whose state is watched (default: `program` itself, or the module that it is a method of).
    `gradients`: a weighted sum of all floating-point results is differentiated. `surroundings` are those of the call
    alone (see Entry).
    """
    if module is None:
        module = module_of(program)
    args, kwargs = arguments
    watch, reached = _Watch(module), reach.Watch(program, module)
    freezer = Freezer(_owners(watch.tensors, arguments))
    if module is not None:
        module.zero_grad(set_to_none=True)
    error: Raised | None = None
    result: Any = None
    seed_everything(seed)
    before = randomness.digest()
    started = perf_counter()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with surroundings():
                result = program(*args, **kwargs)
        except (Exception, SystemExit) as caught:
            error = raised(caught)
    seconds = perf_counter() - started
    after = later = randomness.digest()
    frozen = freezer.freeze(result) if error is None else None
    kept = freezer.freeze([list(args), kwargs])
    changed, rebound = watch.changes(freezer)
    effects = {**reached.changes(), **changed}
    found, gradient_error = None, None
    effects_later: Mapping[str, Frozen] = {}
    if gradients and error is None:
        found, gradient_error = _gradients(result, module, arguments)
        later = randomness.digest()
        effects_later = {**reached.changes(), **watch.changes(freezer)[0]} if found is not None else {}
    return Outcome(
        frozen,
        error,
        kept,
        effects,
        rebound,
        after,
        later,
        after != before,
        gradients,
        found,
        gradient_error,
        seconds,
        frozenset(map(_warning, warned)),
        module is not None and module.training,
        reached.names,
        watch.assigned(),
        effects_later,
        dict(watch.held_before(changed)),
    )


def _warning(warned: warnings.WarningMessage) -> str:
    line = str(warned.message).strip().partition("\n")[0]
    return f"{warned.category.__name__}: {_NUMBERS.sub('…', line)[:_LONGEST_WARNING]}"


def letting_gradients_flow(tensor: torch.Tensor) -> torch.Tensor:
    """A copy that requires grad as the result of a layer does: it may be written to, which a leaf may not."""
    leaf = tensor.detach().requires_grad_()
    copy = leaf.clone()
    setattr(copy, _LEAF, leaf)
    return copy


def module_of(program: Callable[..., Any]) -> torch.nn.Module | None:
    """The module that is called, directly or as the owner of a method; None for a plain function."""
    owner = program if isinstance(program, torch.nn.Module) else getattr(program, "__self__", None)
    return owner if isinstance(owner, torch.nn.Module) else None


def raised(error: BaseException) -> Raised:
    """The exception's type and text, and whether user code raised it on purpose."""
    try:
        message = str(error)
    except Exception:  # a broken __str__ is the user's
        message = ""
    return Raised(kind_of(error), message, _deliberate(error))


def _deliberate(error: BaseException) -> bool:
    trace = error.__traceback__
    if trace is None:
        return False
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if os.path.realpath(code.co_filename).startswith(_TORCH):
        return False
    name = next((i.opname for i in dis.get_instructions(code) if i.offset == trace.tb_lasti), "")
    return name in ("RAISE_VARARGS", "RERAISE")


def _owners(tensors: Mapping[str, torch.Tensor], arguments: Arguments) -> dict[int, str]:
    """Whose memory lies where: `tensors` are the module's own."""
    owners: dict[int, str] = {}
    for name, tensor in tensors.items():
        address = storage_address(tensor)
        if address is not None:
            owners[address] = f"self.{name}"
    for index, leaf in enumerate(pytree.tree_leaves(arguments)):
        address = storage_address(leaf) if isinstance(leaf, torch.Tensor) else None
        if address is not None:
            owners[address] = f"argument {index + 1}"
    return owners


# ------------------------------------------------------------------------------------------------- state of a module


@dataclass(frozen=True, slots=True)
class _Settled:
    """The attributes of a part of a module none of which can change without being replaced, as those of nearly all
    layers: what is still the same shows at a glance."""

    names: tuple[str, ...]
    values: tuple[Any, ...]

    @classmethod
    def of(cls, part: torch.nn.Module) -> _Settled:
        """What a part holds now."""
        return cls((*vars(part),), (*vars(part).values(),))

    def holds(self, part: torch.nn.Module) -> bool:
        """Whether they are all as they were."""
        held = vars(part)
        return len(held) == len(self.values) and all(map(is_, held.values(), self.values)) and (*held,) == self.names


class _Watch:
    """The state of a module before a call."""

    def __init__(self, module: torch.nn.Module | None) -> None:
        self._module = module
        parts = self._all_parts()
        self._identities = _all_tensors(parts)
        self._tensors = {name: self._mark(tensor) for name, tensor in self._identities.items()}
        freezer = Freezer()
        self._settled = {path: _Settled.of(part) for path, part in parts if _is_settled(part)}
        attributes = _attributes((path, part) for path, part in parts if path not in self._settled)
        self._attributes = {name: _kept(freezer, value) for name, value in attributes.items()}
        self._held = {name: value for name, value in attributes.items() if isinstance(value, torch.Tensor)}

    @property
    def tensors(self) -> Mapping[str, torch.Tensor]:
        """The parameters and buffers before the call, by name."""
        return self._identities

    def assigned(self) -> frozenset[str]:
        """The plain attributes that hold a tensor now, and held another one or none."""
        _, attributes = self._attributes_in(self._all_parts())
        return frozenset(
            name
            for name, value in attributes.items()
            if isinstance(value, torch.Tensor) and self._held.get(name) is not value
        )

    def changes(self, freezer: Freezer) -> tuple[dict[str, Frozen], frozenset[str]]:
        """What differs now; and the names that stand for another tensor now."""
        changed: dict[str, Frozen] = {}
        parts = self._all_parts()
        now = _all_tensors(parts)
        for name, tensor in now.items():
            if name not in self._tensors or self._differs(tensor, self._tensors[name]):
                changed[name] = freezer.freeze(tensor)
        for name in self._tensors.keys() - now.keys():
            changed[name] = Constant("gone", None)
        known, attributes = self._attributes_in(parts)
        for name, value in attributes.items():
            before = known.pop(name, _ABSENT)
            if before is value:  # a number or text that was not replaced, as nearly all are
                continue
            after = freezer.freeze(value)
            if before is _ABSENT or next(differences(_frozen(freezer, before), after), None) is not None:
                changed[name] = after
        changed.update(dict.fromkeys(known, Constant("gone", None)))
        rebound = (name for name, tensor in now.items() if self._identities.get(name, tensor) is not tensor)
        return changed, frozenset(rebound)

    def _attributes_in(self, parts: _Parts) -> tuple[dict[str, Any], dict[str, Any]]:
        """The attributes of all parts that don't hold what they held, at a glance: as they were, and as they are."""
        same = {path for path, part in parts if path in self._settled and self._settled[path].holds(part)}
        before = dict(self._attributes)
        for path, settled in self._settled.items():
            if path not in same:
                before.update(_plain(path, zip(settled.names, settled.values)))
        return before, _attributes((path, part) for path, part in parts if path not in same)

    def held_before(self, changed: Mapping[str, Frozen]) -> Iterator[tuple[str, Frozen]]:
        """What parameters, buffers and attributes that are tensors held when the watch began.

        The values of large parameters and buffers are not kept.
        """
        for name, after in changed.items():
            held = self._attributes.get(name)
            if isinstance(held, FrozenTensor) and isinstance(after, FrozenTensor):
                yield name, held
            values = self._tensors[name][2] if name in self._tensors else None
            if values is not None and isinstance(after, FrozenTensor) and after.dtype == values.dtype:
                yield name, replace(after, values=values.cpu(), shape=tuple(values.shape))

    def _all_parts(self) -> _Parts:
        return [*parts_of(self._module)] if self._module is not None else []

    def _mark(self, tensor: torch.Tensor) -> tuple[int, int, torch.Tensor | None]:
        small = tensor.numel() <= _CLONED and not tensor.is_meta
        return id(tensor), _version(tensor), tensor.detach().clone() if small else None

    def _differs(self, tensor: torch.Tensor, mark: tuple[int, int, torch.Tensor | None]) -> bool:
        identity, version, values = mark
        if values is None:
            return id(tensor) != identity or _version(tensor) != version
        if (tensor.shape, tensor.dtype) != (values.shape, values.dtype):
            return True
        if id(tensor) == identity and _version(tensor) == version and tensor.layout is not torch.strided:
            return False
        with contextlib.suppress(RuntimeError, NotImplementedError):
            if torch.equal(tensor.detach(), values):
                return False
            same = torch.isclose(tensor.detach(), values, rtol=0, atol=0, equal_nan=True)
            return not bool(same.all())
        return id(tensor) != identity or _version(tensor) != version


def _all_tensors(parts: _Parts) -> dict[str, torch.Tensor]:
    named = itertools.chain(tensors_in(parts, "_parameters"), tensors_in(parts, "_buffers"))
    return {name: tensor for name, tensor in named if not torch.nn.parameter.is_lazy(tensor)}


def _attributes(parts: Iterable[tuple[str, torch.nn.Module]]) -> dict[str, Any]:
    """Plain data kept on parts of a module: numbers, text, tensors, and lists and dicts of these."""
    return dict(itertools.chain.from_iterable(_plain(path, list(vars(part).items())) for path, part in parts))


def _plain(path: str, attributes: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for name, value in attributes:
        if not is_module_table(name) and reach.is_simple(value):
            yield f"{path}.{name}" if path else name, value


def _is_settled(part: torch.nn.Module) -> bool:
    """Whether each attribute is a table, is nothing that anything can change, or is of no kind that is kept."""
    return all(
        _is_unchangeable(value) or is_module_table(name) or not isinstance(value, _KEPT)
        for name, value in vars(part).items()
    )


def _kept(freezer: Freezer, value: Any) -> Any:
    """What an attribute held: what nothing can change as it is, all else frozen."""
    return value if _is_unchangeable(value) else freezer.freeze(value)


def _frozen(freezer: Freezer, kept: Any) -> Frozen:
    """The same in any case frozen."""
    return freezer.freeze(kept) if _is_unchangeable(kept) else kept


def _is_unchangeable(value: Any) -> bool:
    """Layers keep their strides and sizes as tuples, more of them than of anything else."""
    return type(value) in UNCHANGEABLE or (type(value) is tuple and all(type(part) in UNCHANGEABLE for part in value))


def _version(tensor: torch.Tensor) -> int:
    try:
        return int(tensor._version)
    except RuntimeError:  # inference tensors keep no count
        return 0


# --------------------------------------------------------------------------------------------------------- gradients


Weighing = Callable[[torch.Tensor], torch.Tensor]
_weighing: ContextVar[Weighing] = ContextVar("_weighing", default=lambda weights: weights)


@contextlib.contextmanager
def weighing(change: Weighing) -> Iterator[None]:
    """Within, what results are weighed with for a gradient is changed: it flows into gradients like any input."""
    token = _weighing.set(change)
    try:
        yield
    finally:
        _weighing.reset(token)


def _gradients(
    result: Any, module: torch.nn.Module | None, arguments: Arguments
) -> tuple[dict[str, Frozen] | None, Raised | None]:
    """Gradients of a weighted sum of the results, by parameter and argument; no weight is like another, so that
    results whose plain sum is constant (a softmax) still show their gradients."""
    total: torch.Tensor | None = None
    for tensor in _tensors_in(result):
        if not tensor.requires_grad:
            continue
        try:
            real = torch.view_as_real(tensor) if tensor.is_complex() else tensor
            weights = _weighing.get()(torch.cos(torch.arange(real.numel(), dtype=torch.float64, device=real.device)))
            term = (real * weights.reshape(real.shape).to(real.dtype)).sum()
            total = term if total is None else total + term.to(total.device)
        except (RuntimeError, NotImplementedError):
            continue
    if total is None:
        return None, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            total.backward()
        except Exception as caught:
            return None, raised(caught)
    freezer = Freezer()
    found: dict[str, Frozen] = {}
    for name, parameter in parameters_of(module) if module is not None else ():
        if parameter.grad is not None:
            found[f"self.{name}"] = freezer.freeze(parameter.grad)
    for index, leaf in enumerate(pytree.tree_leaves(arguments)):
        source = getattr(leaf, _LEAF, leaf)
        if isinstance(source, torch.Tensor) and source.is_leaf and source.grad is not None:
            found[f"argument {index + 1}"] = freezer.freeze(source.grad)
    return found, None


def _tensors_in(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < 6:
        parts: Any
        if isinstance(value, dict):
            parts = [part for _, part in entries(value)]
        elif isinstance(value, Mapping):
            parts = list(value.values())
        elif isinstance(value, (list, tuple)):
            parts = elements(value)
        elif is_dataclass(value):
            parts = list(vars(value).values()) if hasattr(value, "__dict__") else []
        else:
            parts = []
        for part in parts:
            yield from _tensors_in(part, depth + 1)
