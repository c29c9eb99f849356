"""Snapshots, and one model with findings of each kind, made by hand."""

from __future__ import annotations

import pytest
from handmade import span_of

from ddelint.nouns.diagnostics import (
    Applicability,
    Claim,
    Diagnostic,
    Edit,
    Evidence,
    Fix,
    Frame,
    Refusal,
    Severity,
    Span,
    Symbol,
)


@pytest.fixture
def emptiness() -> Diagnostic:
    """An emptiness check with a safe fix and its evidence."""
    question = span_of("if hit.shape[0] == 0", "hit.shape[0] == 0")
    return Diagnostic(
        code="DDE102",
        message="the compiler must answer `hit.shape[0] == 0` while tracing",
        span=question,
        origin=("static", "trace"),
        expression="hit.shape[0] == 0",
        symbols=(
            Symbol(
                "hit.shape[0]",
                "(router == expert).nonzero()",
                span_of("(router == expert).nonzero()", "(router == expert).nonzero()"),
                "u0",
                0,
                64,
            ),
        ),
        asks=("export", "strict", "compile"),
        frames=(Frame(question, "forward", True),),
        fix=Fix(
            Applicability.SAFE,
            "take the general path while compiling; an empty selection adds nothing",
            (
                Edit(
                    Span("model.py", 1, 1, 1, 1),
                    "from torch.fx.experimental.symbolic_shapes import guard_or_false\n",
                ),
                Edit(question, "guard_or_false(hit.shape[0] == 0)"),
            ),
            "guard_on_size",
            Claim.GENERAL_PATH,
        ),
        evidence=Evidence(
            samples=64,
            both_sides=True,
            sides=(23, 41),
            eager_equal=True,
            export=True,
            compile=True,
            backward=True,
            notes=("cuda not run: no device",),
        ),
    )


@pytest.fixture
def refused() -> Diagnostic:
    """A branch that nothing could fix: an unsafe promise was refused, frames lie outside, no evidence."""
    return Diagnostic(
        code="DDE101",
        message="the compiler must answer `n > 4` while tracing",
        span=span_of("if n > 4", "n > 4"),
        expression="n > 4",
        symbols=(Symbol("n", "int(router.max())", span_of("n = int(router.max())", "int(router.max())"), "u1"),),
        frames=(
            Frame(Span("train.py", 8, 1, 8, 12), "main", True),
            Frame(span_of("if n > 4", "n > 4"), "forward", True),
            Frame(Span("/site/torch_geometric/utils.py", 40, 5, 40, 30), "scatter", False),
        ),
        asks=("export",),
        refused=(
            Refusal("where_merge", "compute both arms and choose with torch.where", "the body raises"),
            Refusal("torch_cond", "torch.cond over both arms", "eager differs: seed 3, value"),
        ),
    )


@pytest.fixture
def crash() -> Diagnostic:
    """An entry that raised in eager."""
    return Diagnostic(
        code="DDE002",
        message="model.py:Router raised ValueError: too many",
        span=span_of('raise ValueError("too many")', 'raise ValueError("too many")'),
        origin=("trace",),
        detail='Traceback (most recent call last):\n  File "model.py", line 22, in forward\n'
        '    raise ValueError("too many")\nValueError: too many\n',
    )


@pytest.fixture
def crumbs() -> Diagnostic:
    """A static finding with breadcrumbs and an unsafe fix."""
    return Diagnostic(
        code="DDE201",
        message="`int(router.max())` demands a concrete integer",
        span=span_of("n = int(router.max())", "int(router.max())"),
        severity=Severity.WARNING,
        expression="int(router.max())",
        breadcrumbs=(
            (span_of("n = int(router.max())", "router.max()"), "a value that only exists at run time"),
            (span_of("def forward(self, x, router)", "router"), "an argument, taken for a tensor"),
        ),
        fix=Fix(
            Applicability.UNSAFE,
            "read the number with .item()",
            (Edit(span_of("n = int(router.max())", "int(router.max())"), "router.max().item()"),),
            "item_instead_of_int",
            Claim.EQUIVALENT,
        ),
    )
