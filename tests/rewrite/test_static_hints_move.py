"""optimization_hint, upper_bound: a size's usual value, or the largest, said where the dimension is marked."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from control_flow import candidates, context_of, rewritten

from ddelint.nouns.diagnostics import Claim, Diagnostic
from ddelint.rewrite.candidate import Context
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile

HEAD = "from torch._dynamo.decorators import mark_unbacked\n\n\ndef fn(x):\n    "


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("mark_unbacked(x, 0)", "mark_unbacked(x, 0, hint_override=512)"),
        ("mark_unbacked(x, index=0)", "mark_unbacked(x, index=0, hint_override=512)"),
        (
            "mark_unbacked(\n        x,\n        0,\n    )",
            "mark_unbacked(\n        x,\n        0,\n        NEW,\n    )",
        ),
    ],
)
def test_a_hint_is_one_more_argument(call: str, expected: str) -> None:
    context = replace(context_of(f"{HEAD}{call}\n    return x\n", call), detail="512")
    expected = expected.replace("NEW", "hint_override=512")
    assert rewritten("optimization_hint", context) == [f"{HEAD}{expected}\n    return x\n"]
    bounded = expected.replace("hint_override", "max")
    assert rewritten("upper_bound", context) == [f"{HEAD}{bounded}\n    return x\n"]
    both = replace(context, detail="2..512")
    with_both = bounded.replace("max=512", "min=2,\n        max=512" if "\n" in call else "min=2, max=512")
    assert rewritten("upper_bound", both) == [f"{HEAD}{with_both}\n    return x\n"]


@pytest.mark.parametrize(("call", "detail"), [("mark_unbacked(x, 0, hint_override=3)", "512"), ("f(x)", "s0 + 1")])
def test_what_says_it_already_or_knows_no_number_stays(call: str, detail: str) -> None:
    assert candidates("optimization_hint", replace(context_of(f"{HEAD}{call}\n", call), detail=detail)) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('    """Doc."""\n    y = x + 1\n', '    """Doc."""\n    CHECK\n    y = x + 1\n'),
        ("    # first\n    y = x + 1\n", "    # first\n    CHECK\n    y = x + 1\n"),
    ],
)
def test_the_bound_of_a_parameter_is_checked_behind_the_docstring(body: str, expected: str) -> None:
    source = SourceFile("model.py", f"import torch as th\n\n\ndef fn(x):\n{body}    return y\n")
    (parameter,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.arg))
    site = site_of(source, parameter)
    finding = Diagnostic("DDE609", "", source.span(parameter), expression="x.shape[1]")
    (candidate,) = candidates("upper_bound", Context(site, finding, "static", detail="4096"))
    assert candidate.claim is Claim.PROMISE
    expected = expected.replace("CHECK", "th._check(x.shape[1] <= 4096)")
    assert source.apply(candidate.edits) == source.text.replace(body, expected)
