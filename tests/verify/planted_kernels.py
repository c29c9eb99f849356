"""Triton kernels of tests, and operators made of them; loaded only where Triton is."""

# mypy: ignore-errors

import torch
import triton
import triton.language as tl
from torch.library import triton_op, wrap_triton
from triton.experimental import gluon
from triton.experimental.gluon import language as ttgl


@triton.jit
def product(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        left = tl.load(a + rows[:, None] * n + start + rows[None, :])
        right = tl.load(b + (start + rows[:, None]) * n + rows[None, :])
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + rows[None, :], total)


@gluon.jit
def laid_out(a, THREADS: ttgl.constexpr):
    layout: ttgl.constexpr = ttgl.BlockedLayout([1], [THREADS], [4], [0])
    here = a + ttgl.arange(0, 128, layout=layout)
    ttgl.store(here, ttgl.load(here) + 1)


@triton.jit
def bogus(a, BLOCK: tl.constexpr):
    here = a + tl.arange(0, BLOCK)
    found = tl.inline_asm_elementwise("nonsense.f32 $0, $1;", "=f,f", [tl.load(here)], tl.float32, True, 1)
    tl.store(here, found)


@triton.jit
def masked_product(a, b, c, rows, columns, depth, BLOCK: tl.constexpr):
    m = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]
    n = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, depth, BLOCK):
        k = start + tl.arange(0, BLOCK)
        left = tl.load(a + m * depth + k[None, :], mask=(m < rows) & (k[None, :] < depth), other=0.0)
        right = tl.load(b + k[:, None] * columns + n, mask=(k[:, None] < depth) & (n < columns), other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + m * columns + n, total, mask=(m < rows) & (n < columns))


@triton_op("ddelint_tests::multiplied", mutates_args={})
def multiplied(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    rows, depth = left.shape
    columns = right.shape[1]
    made = left.new_empty(rows, columns)
    grid = (triton.cdiv(rows, 32), triton.cdiv(columns, 32))
    wrap_triton(masked_product)[grid](left, right, made, rows, columns, depth, BLOCK=32)
    return made
