"""count_in_eager: what a plain object counts in Python is counted in eager alone, where nothing is decided by it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, rewritten

METER = """\
import torch


class Meter:
    def __init__(self):
        self.calls = 0
        self.seen = {"rows": 0}

    def add(self, x):
        COUNTS

    def mean(self, total):
        return total / max(1, self.calls + self.seen["rows"])
"""


def counted(counts: str, asking: str, further: str = "") -> list[str]:
    text = METER.replace("COUNTS", counts) + further
    context = context_of(text, asking, code="DDE413", occurrence=text[: text.index("def add")].count(asking))
    return rewritten("count_in_eager", replace(context, kind="counted"))


@pytest.mark.parametrize(
    ("counts", "asking"),
    [
        ("self.calls += 1", "self.calls"),
        ("self.calls = self.calls + x.shape[0]", "self.calls"),
        ('self.seen["rows"] += x.shape[0]', 'self.seen["rows"]'),
        ("self.calls = (self.calls + 1) % 7", "self.calls"),
    ],
)
def test_it_is_counted_in_eager_alone(counts: str, asking: str) -> None:
    (new,) = counted(counts, asking)
    assert new == METER.replace("COUNTS", f"if not torch.compiler.is_compiling():\n            {counts}")


@pytest.mark.parametrize(
    "further",
    [
        "\n    def due(self):\n        return self.calls % 10 == 0\n",
        "\n    def due(self):\n        if self.calls:\n            return 1\n        return 0\n",
        "\n\ndef due(meter):\n    return 1 if meter.calls > 3 else 0\n",
        "\n\ndef due(meter):\n    while meter.calls > 3:\n        meter.reset()\n",
        "\n\ndef due(meter):\n    return meter.calls % 3\n",
    ],
)
def test_what_decides_something_is_left_alone(further: str) -> None:
    assert counted("self.calls += 1", "self.calls", further) == []


def test_what_is_only_talked_of_decides_nothing() -> None:
    further = "\n    def tell(self):\n        if self.calls % 100 == 0:\n            print(self.calls)\n"
    assert len(counted("self.calls += 1", "self.calls", further)) == 1


def test_what_stands_in_eager_stays() -> None:
    counts = "if not torch.compiler.is_compiling():\n            self.calls += 1"
    assert counted(counts, "self.calls") == []
