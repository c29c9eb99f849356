"""What a call changes of what it is given, read off the function it calls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls
from ddelint.sources.source import SourceFile

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
    "fill(a[:, 0], b)": {"a"},
    "fill(b.view(-1)[1:], a)": {"b"},
    "fill(self.seen[a], b)": {"self.seen"},
    "fill(rows[0], a)": set(),
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


ELSEWHERE = {
    "pkg/__init__.py": "from .tools import fill as put\n",
    "pkg/tools.py": """
from .deep import clear


def fill(out, value):
    out[0] = value


def emptied(rows, out):
    clear(out)


class Counter:
    def forward(self, x, out):
        self.seen += 1
        fill(out, x)
""",
    "pkg/deep.py": "def clear(out):\n    out.zero_()\n",
    "pkg/parts/__init__.py": "",
    "pkg/parts/model.py": """
import pkg.tools as far
from pkg import put, absent
from .. import tools
from ..tools import Counter, emptied
from missing import lost


class Named(Counter):
    def __init__(self):
        self.counter = Counter()

""",
}


@pytest.mark.parametrize(
    ("call", "changed"),
    [
        ("put(a, b)", {"a"}),
        ("emptied(b, out=a)", {"a"}),
        ("tools.fill(b, a)", {"b"}),
        ("far.emptied(a, b)", {"b"}),
        ("self.counter(a, b)", {"b"}),
        ("self.forward(a, b)", {"b", "self.seen"}),
        ("Counter.forward(self, a, b)", {"b", "self.seen"}),
        ("lost(a, b), absent(a), tools.other(a), far(a)", set()),
    ],
)
def test_tensors_that_a_callee_of_another_file_changes(tmp_path: Path, call: str, changed: set[str]) -> None:
    for name, text in ELSEWHERE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    model = tmp_path / "pkg" / "parts" / "model.py"
    text = f"{model.read_text()}    def fn(self, a, b, rows):\n        {call}\n"
    context = context_of(text, call, FACTS, filename=str(model))
    assert context.site.function is not None
    assert changed_by_calls(context, context.site.function.body) == changed


def test_files_are_read_as_they_are_by_now(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("def read(out):\n    return out + 1\n")
    text = "from tools import read\n\n\ndef fn(a):\n    read(a)\n"
    context = context_of(text, "read(a)", FACTS, filename=str(tmp_path / "model.py"))
    now = SourceFile(str(tmp_path / "tools.py"), "def read(out):\n    out.add_(1)\n")
    assert context.site.function is not None
    assert changed_by_calls(context, context.site.function.body) == set()
    fresh = replace(context, read={now.filename: now}.__getitem__)
    assert changed_by_calls(fresh, context.site.function.body) == {"a"}
