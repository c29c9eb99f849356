"""What a call left behind, kept apart from what later calls do to it."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import re
from collections import deque
from collections.abc import Mapping, Set
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from ddelint.trace.ownership import is_of_users_class
from ddelint.trace.registered import buffers_of, parameters_of, parts_of
from ddelint.verify.holders import holder_of, owner_of
from ddelint.verify.randomness import is_generator, state_of

_MODULE_TABLES = frozenset(("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "call_super_init"))
UNCHANGEABLE = (bool, int, float, str, type(None))
"""Types of what stays what it is, as most attributes of modules are."""
_PLAIN = frozenset(UNCHANGEABLE) - {float}
"""Of which equal ones cannot be told apart, as 0.0 and -0.0 can."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DEEPEST = 12
"""Levels of nesting that are kept; what lies below counts as opaque."""


@functools.cache
def is_module_table(name: str) -> bool:
    """Whether an attribute is one in which every module keeps what else can be asked of it."""
    return name in _MODULE_TABLES or "_hooks" in name


@dataclass(frozen=True)
class FrozenTensor:
    """A tensor's values on the CPU, and what else of it can be seen."""

    values: torch.Tensor | None
    """None where there are none to read (a meta tensor, an opaque layout)."""
    dtype: torch.dtype
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    device: str
    layout: str
    requires_grad: bool
    aliases: frozenset[str]
    """The arguments, parameters and buffers whose memory it shares."""


@dataclass(frozen=True)
class Constant:
    """A plain value that `==` compares: number, text, None, dtype, device, enum; the state of a random generator."""

    kind: str
    value: Any


@dataclass(frozen=True)
class Container:
    """Something with parts: list, tuple, dict, dataclass, any object with attributes."""

    kind: str
    keys: tuple[Any, ...]
    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Opaque:
    """Of which only the type is known."""

    kind: str


Frozen = FrozenTensor | Constant | Container | Opaque


class Freezer:
    """Freezes values; `owners` says whose memory a tensor may share (storage address → name).

    `modules`: a module is kept with its state (else it is opaque).
    """

    def __init__(self, owners: Mapping[int, str] | None = None, *, modules: bool = False) -> None:
        self._owners = owners or {}
        self._modules = modules
        self._open: set[int] = set()

    def freeze(self, value: Any, depth: int = 0) -> Frozen:
        """A copy of `value` that nothing can change any more. Runs no user code but `__iter__` of mappings."""
        if type(value) in _PLAIN:  # most of what there is
            return _constant(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            return Constant(kind_of(value), value)
        if isinstance(value, (torch.dtype, torch.device, torch.layout, torch.memory_format, range, slice)):
            return Constant(kind_of(value), str(value))
        if id(value) in self._open or depth > _DEEPEST:
            return Opaque(kind_of(value))
        self._open.add(id(value))
        try:
            return self._container(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _container(self, value: Any, depth: int) -> Frozen:
        kind = kind_of(value)
        own = attributes_of(value) if isinstance(value, (dict, list, deque)) and is_of_users_class(value) else {}
        if isinstance(value, dict):
            pairs = [*entries(value), *own.items()]
            return Container(
                kind, tuple(_key(key) for key, _ in pairs), tuple(self.freeze(part, depth) for _, part in pairs)
            )
        if isinstance(value, Mapping):
            keys = tuple(value)
            return Container(kind, tuple(map(_key, keys)), tuple(self.freeze(value[key], depth) for key in keys))
        if isinstance(value, (list, tuple, deque)):
            parts = elements(value)
            keys = (*range(len(parts)), *own)
            return Container(kind, keys, tuple(self.freeze(part, depth) for part in (*parts, *own.values())))
        if isinstance(value, Set):
            parts = elements(value) if isinstance(value, (set, frozenset)) else list(value)
            return Constant(kind, frozenset(map(_key, parts)))
        if type(value).__module__ == "numpy" and has(value, "dtype"):
            try:
                inner = self._tensor(torch.as_tensor(value))
            except (TypeError, ValueError, RuntimeError):
                return Constant(kind, str(value))
            return Container(kind, (str(value.dtype),), (inner,))
        if is_dataclass(value):
            names = tuple(dict.fromkeys((*(field.name for field in dataclasses.fields(value)), *attributes_of(value))))
            return Container(kind, names, tuple(self.freeze(getattr(value, name, None), depth) for name in names))
        if self._modules and isinstance(value, torch.nn.Module):
            return self._module(value, depth)
        if isinstance(value, itertools.count):
            return Constant(kind, repr(value))
        if is_generator(value):
            return Constant(kind, state_of(value))
        if (holder := holder_of(value)) is not None:
            return Container(kind, ("holds",), (self.freeze(holder.read(value), depth),))
        if isinstance(value, functools.partial):
            held = (value.func, [value.args, value.keywords], attributes_of(value))
            return Container(kind, ("of", "with", "beside"), tuple(self.freeze(part, depth) for part in held))
        if (owner := owner_of(value)) is not None:
            return Container(kind, ("of",), (self.freeze(owner, depth),))
        if isinstance(value, (torch.nn.Module, type, ModuleType)) or (callable(value) and not is_of_users_class(value)):
            return Opaque(kind)
        attributes = attributes_of(value)
        if attributes:
            return Container(
                kind, tuple(attributes), tuple(self.freeze(part, depth) for part in list(attributes.values()))
            )
        return Opaque(kind)

    def _module(self, module: torch.nn.Module, depth: int) -> Frozen:
        """Its tensors, and the attributes of its own class."""
        parts: dict[str, Any] = {
            name: tensor
            for name, tensor in itertools.chain(parameters_of(module), buffers_of(module))
            if not torch.nn.parameter.is_lazy(tensor)
        }
        for prefix, inner in parts_of(module):
            for name, value in list(vars(inner).items()):
                if not is_module_table(name) and not isinstance(value, torch.nn.Module):
                    parts[f"{prefix}.{name}"] = value
        return Container(kind_of(module), tuple(parts), tuple(self.freeze(part, depth) for part in parts.values()))

    def _tensor(self, tensor: torch.Tensor) -> FrozenTensor:
        aliases: frozenset[str] = frozenset()
        try:
            storage = tensor.untyped_storage()
            if storage.nbytes() and storage.data_ptr() in self._owners:
                aliases = frozenset((self._owners[storage.data_ptr()],))
            stride = tuple(tensor.stride())
        except (RuntimeError, NotImplementedError):
            stride = ()
        try:
            shape = tuple(int(size) for size in tensor.shape)
        except RuntimeError:
            shape = ()
        return FrozenTensor(
            values=_values(tensor),
            dtype=tensor.dtype,
            shape=shape,
            stride=stride,
            device=tensor.device.type,
            layout=str(tensor.layout),
            requires_grad=tensor.requires_grad,
            aliases=aliases,
        )


def has(value: Any, name: str) -> bool:
    """Whether an object has an attribute: some raise what they like when they are asked for one that they haven't."""
    try:
        getattr(value, name)
    except Exception:
        return False
    return True


def is_dataclass(value: Any) -> bool:
    """Whether an object is an instance of a dataclass."""
    return not isinstance(value, type) and has(type(value), "__dataclass_fields__")


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds in its `__dict__` and its slots."""
    kind: Any = type(value)
    slots = [name for name in _slots_of(kind) if has(value, name)]
    return {**(getattr(value, "__dict__", None) or {}), **{name: getattr(value, name) for name in slots}}


def entries(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """What a dictionary itself holds: one that loads its values when asked is not asked."""
    return list(builtin_class(value).items(value))


def elements(value: Any) -> list[Any]:
    """What a list, tuple, set or deque itself holds: `__iter__` and `__len__` of a subclass are not asked."""
    return list(builtin_class(value).__iter__(value))


def builtin_class(value: Any) -> Any:
    """The class of Python's that a container is one of: its methods run no code of the user's subclass."""
    return next(kind for kind in type(value).__mro__ if kind.__module__ in ("builtins", "collections"))


@functools.lru_cache(maxsize=4096)
def _slots_of(kind: Any) -> tuple[str, ...]:
    """The slots of a class and of those that it is made of."""
    return tuple(itertools.chain.from_iterable(map(_slots, kind.__mro__)))


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots) if kind.__module__ not in _BUILT_IN else ()


_BUILT_IN = ("builtins", "collections", "typing", "enum")


def storage_address(tensor: torch.Tensor) -> int | None:
    """Where the tensor's memory begins; None where it has none of its own."""
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr() if storage.nbytes() else None
    except (RuntimeError, NotImplementedError):
        return None


@functools.lru_cache(maxsize=4096, typed=True)
def _constant(value: Any) -> Constant:
    return Constant(kind_of(value), value)


def kind_of(value: Any) -> str:
    """The class's qualified name; classes of a module that was loaded again keep theirs."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool, tuple, bytes, type(None))) else _ADDRESS.sub("", repr(key))


def _values(tensor: torch.Tensor) -> torch.Tensor | None:
    try:
        plain = tensor.detach()
        if plain.is_meta:
            return None
        if plain.is_nested:
            plain = plain.to_padded_tensor(0.0) if plain.layout is torch.strided else plain.values()
        elif plain.layout is not torch.strided:
            plain = plain.to_dense()
        elif plain.is_quantized:
            plain = plain.dequantize()
        return plain.to("cpu", copy=True)
    except (RuntimeError, NotImplementedError):
        return None


def is_finite(value: Frozen | None) -> bool:
    """Whether the tensors in `value` hold neither inf nor NaN."""
    match value:
        case FrozenTensor(values=torch.Tensor() as values) if values.is_floating_point():
            return bool(values.isfinite().all())
        case Container(parts=parts):
            return all(map(is_finite, parts))
    return True
