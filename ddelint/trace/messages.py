"""A request as it crosses the wire to a session's processes, and what its reply holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from ddelint.nouns.protocol import EntryFailure, Overlay, SessionOptions, needs_inductor
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.trace.lanes import Lanes
from ddelint.trace.late_lanes import LateLanes

T = TypeVar("T")


def compiling(
    overlay: Overlay,
    targets: tuple[str, ...],
    samples: int,
    backend: str,
    *,
    fresh: bool | None = None,
    fakes: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    original: Overlay | None = None,
) -> dict[str, Any]:
    """The arguments of a request, as Session.compile says."""
    return {
        "overlay": dict(overlay),
        "targets": list(targets),
        "samples": samples,
        "backend": backend,
        "fresh": backend == "inductor" if fresh is None else fresh,
        "fakes": {operator: list(body) for operator, body in fakes.items()},
        "original": dict(original or {}),
    }


def opening(options: SessionOptions, lanes: Lanes | LateLanes) -> dict[str, Any]:
    """The arguments of a session's first request."""
    return {"options": to_wire(options), "lanes": lanes.secrets}


def line_of(method: str, arguments: Mapping[str, Any]) -> bytes:
    """A request as the processes read it."""
    return json.dumps({"method": method, **arguments}).encode() + b"\n"


def is_for_any_lane(method: str, arguments: Mapping[str, Any]) -> bool:
    """Whether a clone of the zygote may answer, which has no Inductor."""
    return method in ("trace", "compare") or (method == "compile" and not needs_inductor(method, arguments))


def result_of(kind: type[T], reply: Mapping[str, Any], empty: T) -> T:
    """What a reply holds; `empty` with the failure where it is one."""
    found = read(kind, reply)
    return replace(empty, failure=found) if isinstance(found, EntryFailure) else found  # type: ignore[type-var]


def read(kind: type[T], reply: Mapping[str, Any]) -> T | EntryFailure:
    """What a reply holds; a failure where it is none of ddelint's: user code runs in the process that it comes from."""
    try:
        if "failure" in reply:
            return from_wire(EntryFailure, reply["failure"])
        return from_wire(kind, reply["result"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return EntryFailure("forged", "the entry's process gave an answer that is none of ddelint's")


def failed(kind: str, message: str) -> dict[str, Any]:
    """The reply of a request that nobody answered."""
    return {"failure": to_wire(EntryFailure(kind, message))}
