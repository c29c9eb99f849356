"""What a call changes of what it is given, read off the function it calls."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls

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


class Base:
    def fill(self, out, value):
        out[0] = value

    @staticmethod
    def clear(out):
        out.zero_()

    def count(self):
        self.seen += 1


class Head(Base):
    def forward(self, x, out):
        self.fill(out, x)


class Program(Base):
    def __init__(self):
        self.head = Head()

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
    "self.fill(a, b)": {"a"},
    "self.fill(value=a, out=b)": {"b"},
    "self.clear(a)": {"a"},
    "Base.clear(a)": {"a"},
    "self.count()": {"self.seen"},
    "self.head(a, b)": {"b"},
    "self.head.fill(a, b)": {"a"},
    "self.head.count()": set(),
    "self.other(a)": set(),
    "rows.fill(a, b)": set(),
}
FACTS = {"a": TENSOR, "b": TENSOR, "self.seen": TENSOR, "rows": TypeFact("list", element=TENSOR)}


@pytest.mark.parametrize(("call", "changed"), CALLS.items(), ids=CALLS)
def test_tensors_that_a_callee_changes(call: str, changed: set[str]) -> None:
    context = context_of(f"{HELPERS}    def fn(self, a, b, rows):\n        {call}\n", call, FACTS)
    assert context.site.function is not None
    assert changed_by_calls(context, context.site.function.body) == changed
