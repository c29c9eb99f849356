"""What a call left behind, kept apart from what later calls do to it, and how two such things differ."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from typing import Any

import torch

_SEQUENCES = {"list", "tuple", "torch.Size", "torch.fx.immutable_collections.immutable_list"}
_DEEPEST = 12
"""Levels of nesting that are kept; what lies below counts as opaque."""
_LONGEST_TEXT = 120


@dataclass(frozen=True)
class Tolerance:
    """How far apart two floating-point numbers may be.

    `factor` widens the defaults of torch.testing.assert_close for each dtype. `scaled` (for float32, others by their
    precision) adds that fraction of the largest magnitude around, in the tensor or `magnitude`, say of the inputs:
    sums that are taken in another order lose digits where large terms cancel. `identity`: what isn't a value counts,
    too (the device, the kind of sequence, whether a result is a view, whether it carries gradients).
    """

    factor: float = 1.0
    scaled: float = 1e-6
    magnitude: float = 0.0
    identity: bool = True


EXACT = Tolerance()
"""Eager against eager: the defaults of torch.testing.assert_close, but for what cancellation loses."""
REORDERED = Tolerance(factor=8.0, scaled=1e-5)
"""The path that tracing picks against the original: one sum may stand for many, or another order be taken."""
COMPILED = Tolerance(factor=20.0, scaled=1e-5, identity=False)
"""Compiled against eager: fused kernels round elsewhere."""

_DEFAULTS: dict[torch.dtype, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5),
    torch.bfloat16: (1.6e-2, 1e-5),
    torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7),
    torch.complex32: (1e-3, 1e-5),
    torch.complex64: (1.3e-6, 1e-5),
    torch.complex128: (1e-7, 1e-7),
}
"""(relative, absolute), as documented for torch.testing.assert_close."""


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
    """A plain value that `==` compares: number, text, None, dtype, device, enum."""

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


@dataclass(frozen=True)
class Difference:
    """One difference. `aspect`: value, dtype, shape, type, device, layout, stride, alias, requires_grad."""

    aspect: str
    place: str
    expected: str
    got: str


class Freezer:
    """Freezes values; `owners` says whose memory a tensor may share (storage address → name)."""

    def __init__(self, owners: Mapping[int, str] | None = None) -> None:
        self._owners = owners or {}
        self._open: set[int] = set()

    def freeze(self, value: Any, depth: int = 0) -> Frozen:
        """A copy of `value` that nothing can change any more. Runs no user code but `__iter__` of mappings."""
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
        if isinstance(value, Mapping):
            keys = tuple(value)
            return Container(kind, tuple(map(_key, keys)), tuple(self.freeze(value[key], depth) for key in keys))
        if isinstance(value, (list, tuple)):
            return Container(kind, tuple(range(len(value))), tuple(self.freeze(part, depth) for part in value))
        if isinstance(value, Set):
            return Constant(kind, frozenset(map(_key, value)))
        if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
            try:
                inner = self._tensor(torch.as_tensor(value))
            except (TypeError, ValueError, RuntimeError):
                return Constant(kind, str(value))
            return Container(kind, (str(value.dtype),), (inner,))
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            names = tuple(field.name for field in dataclasses.fields(value))
            return Container(kind, names, tuple(self.freeze(getattr(value, name, None), depth) for name in names))
        if isinstance(value, (torch.nn.Module, type, torch.Generator)) or callable(value):
            return Opaque(kind)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            return Container(
                kind, tuple(attributes), tuple(self.freeze(part, depth) for part in list(attributes.values()))
            )
        return Opaque(kind)

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


def storage_address(tensor: torch.Tensor) -> int | None:
    """Where the tensor's memory begins; None where it has none of its own."""
    try:
        storage = tensor.untyped_storage()
        return storage.data_ptr() if storage.nbytes() else None
    except (RuntimeError, NotImplementedError):
        return None


def kind_of(value: Any) -> str:
    """The class's qualified name; classes of a module that was loaded again keep theirs."""
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int, float, bool, tuple, bytes, type(None))) else repr(key)


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


# ------------------------------------------------------------------------------------------------------- comparison


def differences(expected: Frozen, got: Frozen, tolerance: Tolerance = EXACT, place: str = "") -> Iterator[Difference]:
    """How `got` differs from `expected`, outermost first."""
    if isinstance(expected, FrozenTensor) and isinstance(got, FrozenTensor):
        yield from _tensor_differences(expected, got, tolerance, place)
    elif isinstance(expected, FrozenTensor) or isinstance(got, FrozenTensor) or type(expected) is not type(got):
        yield Difference("type", place, _describe(expected), _describe(got))
    elif isinstance(expected, Container) and isinstance(got, Container):
        yield from _container_differences(expected, got, tolerance, place)
    elif expected.kind != got.kind:
        yield Difference("type", place, _describe(expected), _describe(got))
    elif (
        isinstance(expected, Constant)
        and isinstance(got, Constant)
        and not _constants_agree(expected.value, got.value, tolerance)
    ):
        yield Difference("value", place, _describe(expected), _describe(got))


def _container_differences(
    expected: Container, got: Container, tolerance: Tolerance, place: str
) -> Iterator[Difference]:
    if expected.kind != got.kind and (tolerance.identity or not {expected.kind, got.kind} <= _SEQUENCES):
        yield Difference("type", place, _describe(expected), _describe(got))
        return
    if expected.keys != got.keys:
        if len(expected.keys) != len(got.keys):
            yield Difference("shape", place, f"{len(expected.keys)} parts", f"{len(got.keys)} parts")
        else:
            yield Difference("value", place, _short(list(expected.keys)), _short(list(got.keys)))
        return
    for key, one, other in zip(expected.keys, expected.parts, got.parts):
        inner = f"{place}[{key!r}]"
        yield from differences(one, other, tolerance, inner)


def _tensor_differences(
    expected: FrozenTensor, got: FrozenTensor, tolerance: Tolerance, place: str
) -> Iterator[Difference]:
    if expected.dtype != got.dtype:
        yield Difference("dtype", place, _dtype(expected.dtype), _dtype(got.dtype))
        return
    if expected.shape != got.shape:
        yield Difference("shape", place, str(list(expected.shape)), str(list(got.shape)))
        return
    if expected.layout != got.layout:
        yield Difference("layout", place, expected.layout, got.layout)
    if tolerance.identity:
        yield from _identity_differences(expected, got, place)
    if expected.values is not None and got.values is not None:
        found = _first_difference(expected.values, got.values, tolerance)
        if found is not None:
            yield Difference("value", place, *found)
    elif (expected.values is None) != (got.values is None):
        yield Difference("type", place, _describe(expected), _describe(got))


def _identity_differences(expected: FrozenTensor, got: FrozenTensor, place: str) -> Iterator[Difference]:
    if expected.device != got.device:
        yield Difference("device", place, expected.device, got.device)
    # the other way round nothing is lost: a constant result became one that carries gradients
    if expected.requires_grad and not got.requires_grad:
        yield Difference("requires_grad", place, "requires grad", "does not require grad")
    if got.aliases and not expected.aliases:
        yield Difference("alias", place, "memory of its own", f"a view of {', '.join(sorted(got.aliases))}")
    if expected.aliases and expected.aliases == got.aliases:
        if _visible(expected) != _visible(got):
            yield Difference("stride", place, str(expected.stride), str(got.stride))
    # `view` and kernels of other libraries take what is contiguous; the other way round nothing is lost
    elif _is_contiguous(expected) and not _is_contiguous(got):
        yield Difference("stride", place, f"contiguous {expected.stride}", str(got.stride))


def _visible(tensor: FrozenTensor) -> tuple[int, ...]:
    """The strides that matter: of dimensions with more than one element."""
    if any(size == 0 for size in tensor.shape):
        return ()
    return tuple(step for size, step in zip(tensor.shape, tensor.stride) if size > 1)


def _is_contiguous(tensor: FrozenTensor) -> bool:
    if tensor.layout != str(torch.strided) or any(size == 0 for size in tensor.shape):
        return True
    wanted = 1
    for size, step in zip(reversed(tensor.shape), reversed(tensor.stride)):
        if size > 1 and step != wanted:
            return False
        wanted *= size
    return True


def _first_difference(expected: torch.Tensor, got: torch.Tensor, tolerance: Tolerance) -> tuple[str, str] | None:
    if expected.shape != got.shape:
        return str(list(expected.shape)), str(list(got.shape))
    wrong = ~close(expected, got, tolerance)
    if not bool(wrong.any()):
        return None
    index = wrong.nonzero()[0].tolist()
    where = f" at {index}" if index else ""
    return f"{expected[tuple(index)].item()}{where}", f"{got[tuple(index)].item()}{where}"


def magnitude(value: Frozen | None) -> float:
    """The largest finite magnitude of the floating-point tensors in `value`; 0 where there are none."""
    match value:
        case FrozenTensor(values=torch.Tensor() as values) if values.is_floating_point() and values.numel():
            finite = values[values.isfinite()]
            return float(finite.abs().max()) if finite.numel() else 0.0
        case Container(parts=parts):
            return max(map(magnitude, parts), default=0.0)
    return 0.0


def is_finite(value: Frozen | None) -> bool:
    """Whether the tensors in `value` hold neither inf nor NaN."""
    match value:
        case FrozenTensor(values=torch.Tensor() as values) if values.is_floating_point():
            return bool(values.isfinite().all())
        case Container(parts=parts):
            return all(map(is_finite, parts))
    return True


def close(expected: torch.Tensor, got: torch.Tensor, tolerance: Tolerance = EXACT) -> torch.Tensor:
    """Element by element, whether `got` is `expected` (a bool tensor of their common shape).

    Integers and bools exactly; floats within the tolerance of their dtype; NaN and infinities in the same places.
    """
    if not (expected.is_floating_point() or expected.is_complex()):
        return expected == got
    relative, absolute = _DEFAULTS.get(expected.dtype, (1.6e-2, 1e-5))
    relative, absolute = relative * tolerance.factor, absolute * min(tolerance.factor, 2.0)
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = expected.to(wide), got.to(wide)
    if tolerance.scaled and one.numel():
        magnitudes = one.abs()
        finite = magnitudes[magnitudes.isfinite()]
        largest = float(finite.max()) if finite.numel() else 0.0
        precision = torch.finfo(expected.dtype).eps / torch.finfo(torch.float32).eps
        absolute += tolerance.scaled * precision * max(largest, tolerance.magnitude)
    return torch.isclose(other, one, rtol=relative, atol=absolute, equal_nan=True)


def _constants_agree(expected: Any, got: Any, tolerance: Tolerance) -> bool:
    if isinstance(expected, float) and isinstance(got, float):
        if math.isnan(expected) or math.isnan(got):
            return math.isnan(expected) and math.isnan(got)
        if math.isinf(expected) or math.isinf(got):
            return expected == got
        # read from float32 tensors more often than not
        return abs(expected - got) <= 1e-5 + 1.3e-6 * tolerance.factor * abs(expected)
    return bool(expected == got)


def _describe(value: Frozen) -> str:
    match value:
        case FrozenTensor(dtype=dtype, shape=shape):
            return f"tensor of {_dtype(dtype)} {list(shape)}"
        case Constant(kind=kind, value=constant):
            return _short(constant) if kind in ("NoneType", "str", "bool") else f"{kind} {_short(constant)}"
        case Container(kind=kind, keys=keys):
            return f"{kind} of {len(keys)}"
    return value.kind


def _dtype(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "…"
