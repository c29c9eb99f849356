"""counted_list: items that only some iterations append, added up and counted by torch while compiling."""

from __future__ import annotations

from typing import Any

import pytest
from control_flow import INTEGERS, TENSOR, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

LOSSES = TypeFact("list", element=TypeFact("tensor", "float32", ()), python_type="list")
TYPES = {"x": TENSOR, "own": TENSOR, "other": TENSOR, "labels": INTEGERS, "losses": LOSSES}
SKIPPED = """        own = x[labels == c]
        if own.sum() <= 0:
            continue
        scale = own.abs().sum() + 1
        losses.append(own.sum() / scale)
"""
GUARDED = """        if (labels == c).any() and x.sum() > c:
            losses.append(x[labels == c].sum() * 2)
"""
EMPTY = """        own, other = x[labels == c], x[labels != c]
        if own.numel() == 0 or other.shape[0] == 0:
            continue
        far = own.max()
        losses.append(far - torch.min(other) + own.argmax())
"""
ENDS = {
    "sum": "    return sum(losses) / max(len(losses), 1)\n",
    "mean": "    return torch.stack(losses).mean() if losses else x.sum() * 0\n",
    "stacked": "    if not losses:\n        return x.sum() * 0\n    return torch.stack(losses).sum() + len(losses)\n",
}


def text(body: str, end: str) -> str:
    return f"import torch\n\n\ndef fn(x, labels):\n    losses = []\n    for c in range(3):\n{body}{end}"


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize(
    ("body", "asking"),
    [
        (SKIPPED, "own.sum() <= 0"),
        (EMPTY, "own.numel() == 0 or other.shape[0] == 0"),
        (GUARDED, "(labels == c).any() and x.sum() > c"),
    ],
)
def test_eager_is_what_it_was_and_what_is_compiled_comes_to_the_same(
    body: str, asking: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    source = text(body, end)
    new = rewritten("counted_list", context_of(source, asking, TYPES, "DDE105"))[0]
    original, changed = load(source), load(new)
    for number in range(12):
        torch.manual_seed(number)
        arguments: tuple[Any, ...] = (torch.randn(6), torch.randint(0, 4, (6,)))
        expected = original(*arguments)
        torch.testing.assert_close(changed(*arguments), expected)
        with monkeypatch.context() as patched:
            patched.setattr(torch.compiler, "is_compiling", lambda: True)
            torch.testing.assert_close(torch.as_tensor(changed(*arguments)).float(), torch.as_tensor(expected).float())


@pytest.mark.parametrize(
    ("body", "end"),
    [
        (SKIPPED, "    return losses\n"),
        (SKIPPED, "    return torch.cat(losses).max()\n"),
        (SKIPPED, "    return sum(losses) + scale\n"),
        (SKIPPED.replace("        scale", "        x[c] = 0\n        scale"), ENDS["sum"]),
        (SKIPPED + "        losses.append(x.sum())\n", ENDS["sum"]),
        (SKIPPED.replace("continue", "break"), ENDS["sum"]),
    ],
)
def test_other_lists_stay(body: str, end: str) -> None:
    assert rewritten("counted_list", context_of(text(body, end), "own.sum() <= 0", TYPES, "DDE105")) == []


TWO = """import torch


def fn(x, labels):
    kept, classes = [], []
    for c in range(4):
        own = x * (labels == c)
        if own.sum() == 0:
            continue
        top = own.amax()
        if top > 2 or torch.isnan(own).any():
            continue
        kept.append(own)
        classes.append(labels.new_tensor(c))
    if len(kept) == 0:
        return x.new_zeros(0, x.shape[0]), labels.new_zeros(0)
    return torch.stack(kept), torch.stack(classes)
"""
TAKEN = """import torch


def fn(x, labels):
    rows: list[torch.Tensor] = []
    for row, label in zip(x.view(3, 2), labels):
        if label != 1:
            rows.append(row * 2)
    if rows:
        return torch.stack(rows)
    return x.new_zeros((0, 2))
"""
REDUCED = """import torch


def fn(x, labels):
    peaks = []
    for i in range(6):
        if labels[i] == 0:
            continue
        peaks.append(x[i] + 1)
    return torch.stack(peaks).sort().values[:2] if len(peaks) > 0 else x[:0]
"""
COUNTED = """import torch


def fn(x, labels):
    rows = []
    scale = x.abs().sum()
    for label in labels:
        if label > 1:
            continue
        if scale < 3:
            continue
        rows.append(x - label)
    total = len(rows)
    if total == 0:
        return x.new_zeros(0, 6), total
    return torch.stack(rows), total
"""


@pytest.mark.parametrize(
    ("source", "asking"),
    [
        (TWO, "own.sum() == 0"),
        (TWO, "top > 2 or torch.isnan(own).any()"),
        (TAKEN, "label != 1"),
        (REDUCED, "labels[i] == 0"),
        (COUNTED, "scale < 3"),
    ],
)
def test_what_is_stacked_is_selected_from_all(source: str, asking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    types = {**TYPES, "top": TypeFact("tensor", "float32", ()), "label": TypeFact("tensor", "int64", ())}
    new = rewritten("counted_list", context_of(source, asking, types, "DDE105"))[0]
    original, changed = load(source), load(new)
    for number in range(12):
        torch.manual_seed(number)
        arguments: tuple[Any, ...] = (torch.randn(6), torch.randint(0, 1 if number == 7 else 4, (6,)))
        expected = original(*arguments)
        torch.testing.assert_close(changed(*arguments), expected)
        with monkeypatch.context() as patched:
            patched.setattr(torch.compiler, "is_compiling", lambda: True)
            torch.testing.assert_close(changed(*arguments), expected)
