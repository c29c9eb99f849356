"""What a call changes of what it is given, read off the function it calls."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.effects import changed_by_calls

HELPERS = """import torch
from elsewhere import spread


def fill(out, value, times=1):
    out[0] = value
    value = value + 1
    times = times * 2


def twice(first, second):
    fill(second, first)


def read(out):
    return out + 1


def listed(rows, x):
    rows.append(x)


"""
CALLS = {
    "fill(a, b)": {"a"},
    "fill(value=b, out=a)": {"a"},
    "twice(a, b)": {"b"},
    "c = read(fill(a, 1)) if b.sum() else read(b)": {"a"},
    "fill(self.seen, a)": {"self.seen"},
    "read(a)": set(),
    "listed(rows, a)": set(),
    "spread(a)": set(),
    "fill(a.clone(), b)": set(),
}
FACTS = {"a": TENSOR, "b": TENSOR, "self.seen": TENSOR, "rows": TypeFact("list", element=TENSOR)}


@pytest.mark.parametrize(("call", "changed"), CALLS.items(), ids=CALLS)
def test_tensors_that_a_callee_changes(call: str, changed: set[str]) -> None:
    context = context_of(f"{HELPERS}def fn(self, a, b, rows):\n    {call}\n", call, FACTS)
    assert context.site.function is not None
    assert changed_by_calls(context, context.site.function.body) == changed
