"""How two things that calls left behind differ."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.verify.frozen import Constant, Container, Frozen, FrozenTensor
from ddelint.verify.noise import QUIET, Noise

_SEQUENCES = {"list", "tuple", "torch.Size", "torch.fx.immutable_collections.immutable_list"}
_LONGEST_TEXT = 120
SHARED = "shared memory"
"""The aspect in which a result shares its memory with other arguments, parameters and buffers than before, or none."""
OWN_MEMORY = "memory of its own"
SIGN_OF_ZERO = "sign of zero"
"""The aspect in which 0.0 and -0.0 differ."""
AS_TENSOR = "type of a number"
"""The aspect in which a tensor without dimensions holds what was a Python number."""


@dataclass(frozen=True)
class Tolerance:
    """How far apart two floating-point numbers may be; bit-equal ones are never looked at twice.

    `ulps`: units in the last place of the expected number itself, element by element. `noise`: how often what the
    original's own result moves by when each of its numbers moves by a rounding error (see `witness`), element by
    element: where large terms cancel, or many are summed, other orders of summation lose as much. Nothing else widens
    it: neither a large number elsewhere in the tensor nor one among the arguments. `identity`: what isn't a value
    counts, too (the device, the kind of sequence, whether a result is a view, whether it carries gradients). `signs`:
    0.0 is not -0.0. `types`: a tensor is not the number that it holds. `memory`: whose memory a result shares counts,
    too. `rough`: no dtype is taken for more precise than bfloat16, and the largest number of a tensor is the scale of
    all: what autocast computes.
    """

    ulps: float = 8.0
    noise: float = 16.0
    identity: bool = True
    signs: bool = True
    memory: bool = True
    types: bool = True
    rough: bool = False


EXACT = Tolerance()
"""Eager against eager."""
REORDERED = Tolerance(ulps=16.0, noise=32.0, signs=False)
"""The path that tracing picks against the original: one sum may stand for many, or another order be taken."""
COMPILED = Tolerance(ulps=64.0, noise=64.0, identity=False, signs=False, memory=False)
"""Compiled against eager: fused kernels round elsewhere. Inductor's vectorized elementary functions (SLEEF, its own
polynomials for erf and tanh) are documented to a few units in the last place each, and a kernel chains many."""


@dataclass(frozen=True)
class Difference:
    """One difference. `aspect`: value, sign of zero, dtype, shape, type, device, layout, stride, alias, ..."""

    aspect: str
    place: str
    expected: str
    got: str


def differences(
    expected: Frozen, got: Frozen, tolerance: Tolerance = EXACT, place: str = "", noise: Noise = QUIET
) -> Iterator[Difference]:
    """How `got` differs from `expected`, outermost first. `noise`: what `expected` became on inputs moved a little."""
    if isinstance(expected, FrozenTensor) and isinstance(got, FrozenTensor):
        yield from _tensor_differences(expected, got, tolerance, place, noise)
    elif isinstance(expected, Constant) and isinstance(got, FrozenTensor) and _holds(got, expected, tolerance, noise):
        if tolerance.types:
            yield Difference(AS_TENSOR, place, _describe(expected), _describe(got))
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


def _holds(tensor: FrozenTensor, number: Constant, tolerance: Tolerance, noise: Noise) -> bool:
    """Whether a tensor without dimensions holds a Python number."""
    kind, values = type(number.value), tensor.values
    if kind not in (int, float) or values is None or values.shape != ():
        return False
    if (kind is float) is not values.is_floating_point():
        return False
    return bool(close(torch.tensor(number.value, dtype=values.dtype), values, tolerance, noise))


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
    if tolerance.memory and expected.aliases != got.aliases and (expected.aliases or not tolerance.identity):
        yield Difference(SHARED, place, _memory(expected), _memory(got))
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
        yield Difference("alias", place, _memory(expected), _memory(got))
    if expected.aliases and expected.aliases == got.aliases:
        if _visible(expected) != _visible(got):
            yield Difference("stride", place, str(expected.stride), str(got.stride))
    # `view` and kernels of other libraries take what is contiguous; the other way round nothing is lost
    elif _is_contiguous(expected) and not _is_contiguous(got):
        yield Difference("stride", place, f"contiguous {expected.stride}", str(got.stride))


def _memory(tensor: FrozenTensor) -> str:
    return f"a view of {', '.join(sorted(tensor.aliases))}" if tensor.aliases else OWN_MEMORY


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
    scale = one.abs()
    if tolerance.rough:
        eps = max(eps, torch.finfo(torch.bfloat16).eps)
        scale = scale + torch.where(one.isfinite(), scale, 0).amax()
    allowed = tolerance.ulps * eps * (scale + precision.tiny)
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
