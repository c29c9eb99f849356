"""Operations on floating-point numbers, counted while Triton's interpreter runs a kernel.

Blocks are larger than what there is to compute: of what a block computes, the share counts that is not masked off. The
count is one from below, since it makes a bound: comparisons, selections, indices, and numbers of types that numpy lacks
are not in it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest import mock

import numpy

from ddelint.verify import triton_masks
from ddelint.verify.triton_masks import Masks

_PLAIN = {
    "Grid1D": ("x",),
    "Grid2D": ("x", "y"),
    "Grid3D": ("x", "y", "z"),
    "Grid2DWithYZOverflow": ("x", "y"),
    "CooperativeReductionGrid": ("x",),
    "SplitScanGrid": (),
}
"""Grids whose blocks are those of the kernel's own dimensions → the dimensions over which they go."""
_REDUCED = ("r0_", "r1_")
_PRODUCT = ("M", "N", "K")
"""The sizes of a product's template."""


@dataclass
class Operations:
    """How many were carried out, on all elements of all blocks."""

    arithmetic: float = 0
    """Additions, multiplications, and functions of one number, each counted once; `tl.dot` in full precision, too."""
    products: float = 0
    """Multiplications and additions of any other `tl.dot`, which is for tensor cores."""
    unmasked_arithmetic: float = 0
    """As far as the masks of each program show that it is there."""
    unmasked_products: float = 0
    masks: Masks = field(default_factory=Masks)
    """Of the program that runs now."""
    _judged: tuple[float, float] = (0, 0)
    """Of both counts what is settled: that of earlier programs, and of products what the blocks' own masks leave out,
    or all of it where both masks are known."""

    def multiplied(self, left: Any, right: Any, *, exact: bool) -> None:
        """Two blocks were multiplied as matrices."""
        count = 2.0 * numpy.size(left.data) * numpy.shape(right.data)[-1]
        pairs, settled = triton_masks.products(left, right)
        there = 2 * pairs
        if exact:
            self.arithmetic += count
            self.unmasked_arithmetic += there if settled else 0.0
        else:
            self.products += count
            self.unmasked_products += there if settled else 0.0
        beside = count if settled else count - there
        self._judged = (self._judged[0] + beside * exact, self._judged[1] + beside * (not exact))

    def program_ends(self) -> None:
        """What was counted since the last end belongs to one program of the launch."""
        share = self.masks.share()
        self.unmasked_arithmetic += share * (self.arithmetic - self._judged[0])
        self.unmasked_products += share * (self.products - self._judged[1])
        self.masks, self._judged = Masks(), (self.arithmetic, self.products)


_ASIDE = [0]
"""How many times what is computed now is not to be counted."""


@contextlib.contextmanager
def uncounted() -> Iterator[None]:
    """Inside, nothing is counted: the interpreter computes what a GPU need not."""
    _ASIDE[0] += 1
    try:
        yield
    finally:
        _ASIDE[0] -= 1


@contextlib.contextmanager
def counted() -> Iterator[Operations]:
    """Counts what the interpreter computes while this lasts."""
    interpreter = import_module("triton.runtime.interpreter")
    builder = interpreter.InterpreterBuilder
    done = Operations()

    def counting(name: str) -> Any:
        plain = getattr(builder, name)

        def call(self: Any, first: Any, *rest: Any) -> Any:
            found = plain(self, first, *rest)
            if not _ASIDE[0] and numpy.asarray(found.data).dtype.kind == "f":
                done.arithmetic += numpy.size(found.data)
            return found

        return call

    def dot(self: Any, a: Any, b: Any, sum_: Any, precision: Any, *rest: Any) -> Any:
        exact = precision == interpreter._ir.INPUT_PRECISION.IEEE and a.dtype.primitive_bitwidth >= 32
        done.multiplied(a, b, exact=exact)
        return plain_dot(self, a, b, sum_, precision, *rest)

    def summed(self: Any, given: Any) -> Any:
        done.arithmetic += _combined(self.axis, given.handle.data)
        return plain_sum(self, given)

    def program_begins(self: Any, *place: int) -> None:
        done.program_ends()
        plain_begin(self, *place)

    plain_dot, plain_sum, plain_begin = builder.create_dot, interpreter.ReduceOps.sum, builder.set_grid_idx
    with contextlib.ExitStack() as stack:
        for name in ("binary_op", "unary_op", "create_fma", "create_erf", "create_rsqrt"):
            if hasattr(builder, name):
                stack.enter_context(mock.patch.object(builder, name, counting(name)))
        stack.enter_context(mock.patch.object(builder, "create_dot", dot))
        stack.enter_context(mock.patch.object(builder, "set_grid_idx", program_begins))
        stack.enter_context(mock.patch.object(interpreter.ReduceOps, "sum", summed))
        for name in ("cumsum", "cumprod"):
            scan = _counting_scan(getattr(interpreter.ScanOps, name), done)
            stack.enter_context(mock.patch.object(interpreter.ScanOps, name, scan))
        yield done
        done.program_ends()


def _counting_scan(plain: Any, done: Operations) -> Any:
    def call(self: Any, given: Any) -> Any:
        done.arithmetic += _combined(self.axis, given.handle.data)
        return plain(self, given)

    return call


def _combined(axis: int | None, data: Any) -> int:
    """How many pairs are combined along an axis."""
    if data.dtype.kind != "f":
        return 0
    return int(data.size - data.size // max(data.shape[axis] if axis is not None else data.size, 1))


def share(
    inductor_meta: Mapping[str, Any],
    source: str,
    blocks: Mapping[str, Any],
    grid: tuple[int, int, int],
    scalars: Mapping[str, Any],
) -> float | None:
    """Which part of what the blocks of a launch cover is there; None where that is not known.

    `blocks`: the sizes of the configuration; others, and sizes that are no arguments, stand in the kernel's `source`.
    """
    written = {name: int(value) for name, value in _SIZE.findall(source)}
    known = {**written, **{name: value for name, value in {**blocks, **scalars}.items() if isinstance(value, int)}}
    kind = inductor_meta.get("grid_type")
    if kind == "FixedGrid":
        return _whole(*((known.get(size), known.get(f"BLOCK_{size}")) for size in _PRODUCT))
    if kind not in _PLAIN:
        return None
    if any(known.get(f"{name}numel") == 0 for name in "xyz"):
        return 0.0
    covered = {"x": grid[0], "y": grid[1] * grid[2] if kind == "Grid2DWithYZOverflow" else grid[1], "z": grid[2]}
    found = 1.0
    for name in _PLAIN[kind]:
        numel, block = known.get(f"{name}numel"), known.get(f"{name.upper()}BLOCK")
        if numel is None or block is None:
            return None
        found *= min(1.0, numel / max(covered[name] * block, 1))
    for name in _REDUCED:
        if f"{name}numel" not in source:
            continue
        numel, block = known.get(f"{name}numel"), known.get(f"{name.upper()}BLOCK")
        parts = known.get("RSPLIT", 1)
        part = _whole((numel, parts), (-(-numel // parts) if numel is not None else None, block))
        if part is None:
            return None
        found *= part
    return found


_SIZE = re.compile(r"^[ \t]*(\w+)(?:[ \t]*:[ \t]*tl\.constexpr)?[ \t]*=[ \t]*(\d+)[ \t]*$", re.MULTILINE)
"""`xnumel = 70`, `R0_BLOCK: tl.constexpr = 128`."""


def _whole(*sizes: tuple[int | None, int | None]) -> float | None:
    """Which part of their blocks sizes fill: 50 of 64 in blocks of 32 are 50 / 64."""
    found = 1.0
    for size, block in sizes:
        if size is None or not block:
            return None
        if not size:
            return 0.0
        found *= size / (-(-size // block) * block)
    return found
