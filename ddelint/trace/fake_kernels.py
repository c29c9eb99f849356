"""Custom operators run twice: what their kernels return, and what their fake kernels say that they return."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.nouns.diagnostics import Question
from ddelint.trace import eager_runs, provenance, torch_internals
from ddelint.trace.entry import Entry
from ddelint.trace.provenance import Paths

KIND = "fake"


def disagreements(entry: Entry, paths: Paths, seeds: tuple[int, ...]) -> list[Question]:
    """One question for each call of an operator whose fake kernel is wrong about shape, dtype, stride or device.

    The entry runs in eager, once for each seed; operators of torch itself are trusted. What raises says nothing here.
    """
    found: dict[Any, Question] = {}
    eager_runs.run_watched(entry, seeds, _watch(paths, found))
    return list(found.values())


def _watch(paths: Paths, found: dict[Any, Question]) -> Any:
    sources = provenance.Sources()

    class Watch(torch_internals.dispatch_mode()):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if not torch_internals.is_custom(func):
                return func(*args, **kwargs)
            said = _said(func, args, kwargs)
            result = func(*args, **kwargs)
            differs = next(iter(_differences(said, result)), "") if said is not None else ""
            who = provenance.blame(provenance.live_stack(eager_runs.call.__code__), paths) if differs else None
            if who is not None:
                asking = provenance.expression_at(who.place, sources)
                found.setdefault(
                    asking.span,
                    Question(
                        span=asking.span,
                        kind=KIND,
                        expression=asking.text,
                        raw="",
                        frames=provenance.frames_of(who, paths, sources),
                        operator=str(func),
                        detail=differs,
                    ),
                )
            return result

    return Watch()


@dataclass(frozen=True)
class _Described:
    """A tensor without its data; None for a size that the fake kernel leaves open."""

    shape: tuple[int | None, ...]
    stride: tuple[int, ...] | None
    dtype: torch.dtype
    device: str


def _said(func: Any, args: Any, kwargs: Any) -> list[_Described | None] | None:
    """What the fake kernel gives for these arguments; None where there is none, or it raises."""
    mode = torch_internals.fake_mode(torch_internals.ShapeEnv(**torch_internals.shape_env_settings()))
    try:
        args, kwargs = torch_internals.map_tensors(lambda t: torch_internals.fakeify(mode, t), (args, kwargs))
        with mode:
            return [_described(value) for value in torch_internals.leaves(func(*args, **kwargs))]
    except Exception:
        return None


def _described(value: Any) -> _Described | None:
    if not isinstance(value, torch.Tensor):
        return None
    shape = tuple(size if isinstance(size, int) else None for size in value.shape)
    known = None not in shape and value.layout is torch.strided
    return _Described(shape, tuple(value.stride()) if known else None, value.dtype, value.device.type)


def _differences(said: list[_Described | None], result: Any) -> Iterator[str]:
    real = [_described(value) for value in torch_internals.leaves(result)]
    if len(said) != len(real):
        yield f"it gives {len(said)} results, the operator {len(real)}"
        return
    for number, (fake, true) in enumerate(zip(said, real)):
        which = f"result {number}: " if len(real) > 1 else ""
        if fake is None or true is None:
            if fake is not true:
                yield f"{which}one is a tensor, the other is none"
            continue
        if len(fake.shape) != len(true.shape) or any(f not in (None, t) for f, t in zip(fake.shape, true.shape)):
            sizes = ", ".join("?" if size is None else str(size) for size in fake.shape)
            yield f"{which}it says shape ({sizes}), the operator returns ({', '.join(map(str, true.shape))})"
        elif fake.dtype != true.dtype:
            yield f"{which}it says {fake.dtype}, the operator returns {true.dtype}"
        elif fake.device != true.device:
            yield f"{which}it says {fake.device}, the operator returns {true.device}"
        elif fake.stride is not None and 0 not in fake.shape and _strides_differ(fake, true):
            yield f"{which}it says strides {fake.stride}, the operator returns {true.stride}"


def _strides_differ(fake: _Described, true: _Described) -> bool:
    """Strides of dimensions of size 1 mean nothing."""
    pairs = zip(fake.shape, fake.stride or (), true.stride or ())
    return any(size != 1 and one != other for size, one, other in pairs)
