"""Triton kernels of which something does not assemble; loaded only where Triton is."""

# mypy: ignore-errors

import triton
import triton.language as tl


@triton.jit
def product(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        left = tl.load(a + rows[:, None] * n + start + rows[None, :])
        right = tl.load(b + (start + rows[:, None]) * n + rows[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + rows[None, :], total)


@triton.jit
def bogus(a, BLOCK: tl.constexpr):
    here = a + tl.arange(0, BLOCK)
    found = tl.inline_asm_elementwise("nonsense.f32 $0, $1;", "=f,f", [tl.load(here)], tl.float32, True, 1)
    tl.store(here, found)
