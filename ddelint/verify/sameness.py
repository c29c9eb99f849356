"""What a call left behind, kept apart from what later calls do to it, and how two such things differ."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import deque
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

import torch

_SEQUENCES = {"list", "tuple", "torch.Size", "torch.fx.immutable_collections.immutable_list"}
_DEEPEST = 12
"""Levels of nesting that are kept; what lies below counts as opaque."""
_LONGEST_TEXT = 120
SIGN_OF_ZERO = "sign of zero"
"""The aspect in which 0.0 and -0.0 differ."""


@dataclass(frozen=True)
class Tolerance:
    """How far apart two floating-point numbers may be; bit-equal ones are never looked at twice.

    `ulps`: units in the last place of the expected number itself, element by element. `noise`: how often what the
    original's own result moves by when each of its numbers moves by a rounding error (see `witness`), element by
    element: where large terms cancel, or many are summed, other orders of summation lose as much. Nothing else widens
    it: neither a large number elsewhere in the tensor nor one among the arguments. `identity`: what isn't a value
    counts, too (the device, the kind of sequence, whether a result is a view, whether it carries gradients). `signs`:
    0.0 is not -0.0.
    """

    ulps: float = 8.0
    noise: float = 16.0
    identity: bool = True
    signs: bool = True


EXACT = Tolerance()
"""Eager against eager."""
REORDERED = Tolerance(ulps=16.0, noise=32.0, signs=False)
"""The path that tracing picks against the original: one sum may stand for many, or another order be taken."""
COMPILED = Tolerance(ulps=64.0, noise=64.0, identity=False, signs=False)
"""Compiled against eager: fused kernels round elsewhere. Inductor's vectorized elementary functions (SLEEF, its own
polynomials for erf and tanh) are documented to a few units in the last place each, and a kernel chains many."""


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
    """One difference. `aspect`: value, sign of zero, dtype, shape, type, device, layout, stride, alias, ..."""

    aspect: str
    place: str
    expected: str
    got: str


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
        if isinstance(value, dict):
            pairs = entries(value)
            return Container(
                kind, tuple(_key(key) for key, _ in pairs), tuple(self.freeze(part, depth) for _, part in pairs)
            )
        if isinstance(value, Mapping):
            keys = tuple(value)
            return Container(kind, tuple(map(_key, keys)), tuple(self.freeze(value[key], depth) for key in keys))
        if isinstance(value, (list, tuple, deque)):
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
        if self._modules and isinstance(value, torch.nn.Module):
            return self._module(value, depth)
        if isinstance(value, itertools.count):
            return Constant(kind, repr(value))
        if isinstance(value, (torch.nn.Module, type, torch.Generator)) or callable(value):
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
            for name, tensor in itertools.chain(module.named_parameters(), module.named_buffers())
            if not torch.nn.parameter.is_lazy(tensor)
        }
        for prefix, inner in module.named_modules():
            for name, value in list(vars(inner).items()):
                if not name.startswith("_") and not isinstance(value, torch.nn.Module):
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


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object holds in its `__dict__` and its slots."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind) if hasattr(value, name)]
    return {**(getattr(value, "__dict__", None) or {}), **{name: getattr(value, name) for name in slots}}


def entries(value: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """What a dictionary itself holds: one that loads its values when asked is not asked."""
    return list(builtin_class(value).items(value))


def builtin_class(value: Any) -> Any:
    """The class of Python's that a container is one of: its methods run no code of the user's subclass."""
    return next(kind for kind in type(value).__mro__ if kind.__module__ in ("builtins", "collections"))


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


# ------------------------------------------------------------------------------------------------------------- noise


@dataclass(frozen=True)
class Noise:
    """How far rounding may move a result: what it became on inputs that were moved by known relative amounts.

    Each of `moved` is (relative amount, the result then). The last amount is a fraction of the others: where a result
    moves as far all the same, it jumps (a tie is broken, an index differs), which says nothing about rounding; but
    numbers of its size do.
    """

    moved: tuple[tuple[float, Frozen], ...] = ()
    kinks: bool = False
    """Whether a number that jumps may be any that it jumps to: a gradient has no value where a function has a kink, and
    is nothing but rounding errors where it is zero by symmetry."""

    def part(self, of: Container, number: int) -> Noise:
        """That of one part of a container; none where the results are not built alike."""
        return replace(
            self,
            moved=tuple(
                (amount, other.parts[number])
                for amount, other in self.moved
                if isinstance(other, Container) and other.keys == of.keys
            ),
        )

    def allowed(self, expected: torch.Tensor, rounding: float) -> torch.Tensor:
        """By element (float64): how far off a number may be where each of its inputs is by `rounding`, relatively."""
        moves = []
        for _, other in self.moved:
            values = _numbers_of(other)
            if values is None or values.shape != expected.shape:
                return torch.zeros(expected.shape, dtype=torch.float64)
            moves.append((values.to(expected.dtype) - expected).abs().nan_to_num(0.0, 0.0, 0.0))
        if len(moves) < 2:
            return torch.zeros(expected.shape, dtype=torch.float64)
        slopes = [move / amount for move, (amount, _) in zip(moves, self.moved)]
        smooth = torch.stack(slopes[:-1]).amax(0)
        # two draws may both leave a number where it is: numbers of its size, of the same tensor, move as much
        usual = _usual(smooth, expected, ~(slopes[-1] > _JUMP * smooth))
        jumps = slopes[-1] > _JUMP * smooth.maximum(usual)
        slope = torch.where(jumps, 0.0, smooth).maximum(usual * _UNLUCKY)
        return (slope * rounding).maximum(_farthest(torch.stack(moves).amax(0), expected, jumps) * self.kinks)


QUIET = Noise()
"""Where nobody knows."""
_JUMP = 4.0
"""Times as steep on the smaller step as on the larger ones: no slope any more."""


_KINK = 8.0
"""Of the farthest that a gradient was seen to jump, as far as it may be off."""
_MANY = 0.2
"""The share of a tensor that jumps, above which all of it does."""
_UNLUCKY = 0.5
"""Of what numbers of its size usually move, what a number is taken to move at least."""
_SIZES = 3
"""Powers of two that count as one size."""
_FEW = 8
"""Fewer numbers of one size are judged with those of the next: what cancellation leaves is small by chance."""


def _farthest(moves: torch.Tensor, values: torch.Tensor, jumps: torch.Tensor) -> torch.Tensor:
    """By element, how far off it may be where it jumps; where many do, the others only seem not to."""
    most = moves * jumps
    if float(jumps.double().mean()) > _MANY:
        most = most.maximum(_usual(moves, values, jumps))
    return most * _KINK


def _usual(noise: torch.Tensor, values: torch.Tensor, telling: torch.Tensor) -> torch.Tensor:
    """By element, the median of `noise` over the elements of the same size, as far as they are `telling`."""
    sizes = torch.frexp(values.abs().to(torch.float64)).exponent.div(_SIZES, rounding_mode="floor")
    sizes = torch.where(values == 0, torch.iinfo(sizes.dtype).min, sizes)
    found, groups = torch.unique(sizes, return_inverse=True)
    medians = torch.zeros(len(found), dtype=torch.float64)
    for number, size in enumerate(found.tolist()):
        members = noise[(groups == number) & telling]
        if members.numel() < _FEW and size + 1 in found:
            members = noise[(sizes >= size) & (sizes <= size + 1) & telling]
        if members.numel():
            medians[number] = members.median()
    return medians[groups]


def _numbers_of(value: Frozen) -> torch.Tensor | None:
    match value:
        case FrozenTensor(values=torch.Tensor() as values):
            return values
        case Constant(value=float() as number):
            return torch.tensor(number, dtype=torch.float64)
    return None


# ------------------------------------------------------------------------------------------------------- comparison


def differences(
    expected: Frozen, got: Frozen, tolerance: Tolerance = EXACT, place: str = "", noise: Noise = QUIET
) -> Iterator[Difference]:
    """How `got` differs from `expected`, outermost first. `noise`: what `expected` became on inputs moved a little."""
    if isinstance(expected, FrozenTensor) and isinstance(got, FrozenTensor):
        yield from _tensor_differences(expected, got, tolerance, place, noise)
    elif isinstance(expected, FrozenTensor) or isinstance(got, FrozenTensor) or type(expected) is not type(got):
        yield Difference("type", place, _describe(expected), _describe(got))
    elif isinstance(expected, Container) and isinstance(got, Container):
        yield from _container_differences(expected, got, tolerance, place, noise)
    elif expected.kind != got.kind:
        yield Difference("type", place, _describe(expected), _describe(got))
    elif (
        isinstance(expected, Constant)
        and isinstance(got, Constant)
        and not _constants_agree(expected.value, got.value, tolerance, noise)
    ):
        yield Difference("value", place, _describe(expected), _describe(got))
    elif tolerance.signs and isinstance(expected, Constant) and isinstance(got, Constant):
        one, other = expected.value, got.value
        if isinstance(one, float) and one == 0 and math.copysign(1, one) != math.copysign(1, other):
            yield Difference(SIGN_OF_ZERO, place, str(one), str(other))


def _container_differences(
    expected: Container, got: Container, tolerance: Tolerance, place: str, noise: Noise
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
    for number, (key, one, other) in enumerate(zip(expected.keys, expected.parts, got.parts)):
        inner = f"{place}[{key!r}]"
        yield from differences(one, other, tolerance, inner, noise.part(expected, number))


def _tensor_differences(
    expected: FrozenTensor, got: FrozenTensor, tolerance: Tolerance, place: str, noise: Noise
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
        found = _first_difference(expected.values, got.values, tolerance, noise)
        if found is not None:
            yield Difference("value", place, *found)
        elif tolerance.signs and _signs_of_zero_differ(expected.values, got.values):
            yield Difference(SIGN_OF_ZERO, place, "0.0 or -0.0", "the other one")
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


def _first_difference(
    expected: torch.Tensor, got: torch.Tensor, tolerance: Tolerance, noise: Noise
) -> tuple[str, str] | None:
    if expected.shape != got.shape:
        return str(list(expected.shape)), str(list(got.shape))
    wrong = ~close(expected, got, tolerance, noise)
    if not bool(wrong.any()):
        return None
    index = wrong.nonzero()[0].tolist()
    where = f" at {index}" if index else ""
    one, other = (tensor[tuple(index)].item() for tensor in (expected, got))
    return f"{one}{where}", f"{other}{where}"


def _signs_of_zero_differ(expected: torch.Tensor, got: torch.Tensor) -> bool:
    if not expected.is_floating_point():
        return False
    zeros = (expected == 0) & (got == 0)
    return bool((zeros & (expected.signbit() != got.signbit())).any())


def is_finite(value: Frozen | None) -> bool:
    """Whether the tensors in `value` hold neither inf nor NaN."""
    match value:
        case FrozenTensor(values=torch.Tensor() as values) if values.is_floating_point():
            return bool(values.isfinite().all())
        case Container(parts=parts):
            return all(map(is_finite, parts))
    return True


def close(
    expected: torch.Tensor, got: torch.Tensor, tolerance: Tolerance = EXACT, noise: Noise = QUIET
) -> torch.Tensor:
    """Element by element, whether `got` is `expected` (a bool tensor of their common shape).

    Integers and bools exactly; floats within the tolerance of their dtype; NaN and infinities in the same places.
    """
    same = (expected == got) | ((expected != expected) & (got != got))
    if not (expected.is_floating_point() or expected.is_complex()) or bool(same.all()):
        return same
    precision = torch.finfo(expected.dtype)
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = expected.to(wide), got.to(wide)
    # what was computed in single precision may be handed on in double
    eps = precision.eps if precision.bits < 64 or not _holds_single_precision(one) else torch.finfo(torch.float32).eps
    allowed = tolerance.ulps * eps * (one.abs() + precision.tiny)
    allowed = allowed + noise.allowed(one, tolerance.noise * eps)
    both_finite = one.isfinite() & other.isfinite()
    return same | (both_finite & ((one - other).abs() <= allowed))


def _holds_single_precision(values: torch.Tensor) -> bool:
    """Whether each number is one of single precision, and not just a whole one, which is of either."""
    parts = torch.view_as_real(values) if values.is_complex() else values
    finite = parts[parts.isfinite()]
    return bool((finite.float().double() == finite).all()) and not bool((finite == finite.round()).all())


def _constants_agree(expected: Any, got: Any, tolerance: Tolerance, noise: Noise) -> bool:
    if isinstance(expected, float) and isinstance(got, float):
        one, other = (torch.tensor(value, dtype=torch.float64) for value in (expected, got))
        return bool(close(one, other, tolerance, noise))
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
