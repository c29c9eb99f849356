"""counted_search: a loop that only counts up to a place becomes a sum while compiling; eager keeps it."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, MASK, SCALAR, TENSOR, candidates, context_of, failures, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {"x": TENSOR, "t": INTEGERS, "n": COUNT, "mask": MASK, "i": TypeFact("int"), "limit": SCALAR}
SEARCHES = {
    "a mask": ("i = 0", "i < len(mask) and not mask[i]", "+", "mask[i]"),
    "all but the last": ("i = 0", "i < len(mask) - 1 and not mask[i]", "+", "mask[i]"),
    "all but the last three": ("i = 0", "i < mask.shape[0] - 3 and not mask[i].item()", "+", "mask[i].item()"),
    "bound first": ("i = 1", "mask.shape[0] > i and bool(mask[i])", "+", "bool(mask[i])"),
    "up to a number": ("i = 0", "i <= 2 and t[i] == 0", "+", "t[i] == 0"),
    "truth of an integer": ("i = 0", "i < t.numel() and not t[i]", "+", "t[i]"),
    "a neighbour": ("i = 0", "i < len(x) - 1 and x[i + 1] >= x[i]", "+", "x[i + 1] >= x[i]"),
    "two questions": ("i = 0", "i < len(x) and x[i] < 1 and not mask[i]", "+", "x[i] < 1"),
    "one of two": ("i = 0", "i < len(x) and (abs(x[i]) < 0.5 or mask[i])", "+", "abs(x[i]) < 0.5"),
    "backwards": ("i = x.shape[0]", "i > 0 and mask[i - 1]", "-", "mask[i - 1]"),
    "backwards to the first": ("i = x.shape[0] - 1", "i >= 0 and x[i] - 0.5 < 0", "-", "x[i] - 0.5 < 0"),
    "backwards past the first": ("i = x.shape[0] - 1", "i > 0 and x[i] < x.mean()", "-", "x[i] < x.mean()"),
}


@pytest.mark.parametrize(("start", "test", "way", "asked"), SEARCHES.values(), ids=SEARCHES)
def test_what_it_counts_is_a_sum_while_compiling(start: str, test: str, way: str, asked: str) -> None:
    import torch

    text = (
        f"import torch\n\n\ndef fn(x, t, mask):\n    {start}\n    while {test}:\n        i {way}= 1\n"
        "    return x * i, i\n"
    )
    samples = [
        (torch.tensor(values), torch.tensor(numbers), torch.tensor(flags))
        for values, numbers, flags in (
            ([0.1, 0.2, 0.9, 0.3], [0, 0, 2, 0], [False, False, True, False]),
            ([2.0, 0.1, 0.2, 0.3], [1, 0, 0, 0], [True, True, True, True]),
            ([0.0, 0.0, 0.0, 0.0], [0, 0, 0, 0], [False, False, False, False]),
            ([1.0, 2.0, 3.0, 4.0], [0, 0, 0, 5], [False, False, False, True]),
        )
    ]
    (program,) = with_imports("counted_search", context_of(text, asked, TYPES, "DDE105"))
    assert failures(text, program, samples, ("export", "compile")) == []


def test_the_text() -> None:
    loop = "while i < len(mask) and not mask[i]:  # find it"
    text = f"def fn(x, mask):\n    i = 0\n    {loop}\n        i += 1\n    return i\n"
    (found,) = candidates("counted_search", context_of(text, "mask[i]", TYPES))
    assert context_of(text, "mask[i]").site.source.apply(found.edits) == (
        "def fn(x, mask):\n    i = 0\n    if torch.compiler.is_compiling():\n"
        "        i += (~mask[i:len(mask)]).to(torch.int64).cumprod(0).sum().item()\n    else:\n"
        f"        {loop}\n            i += 1\n    return i\n"
    )


@pytest.mark.parametrize(
    ("bound", "written"),
    [
        ("len(mask) - 1", "mask[i:len(mask) - 1]"),
        ("mask.shape[0] - 1", "mask[i:mask.shape[0] - 1]"),
        ("x.shape[0] - 1", "mask[i:torch.sym_max(x.shape[0] - 1, 0)]"),
        ("len(mask) - 2", "mask[i:torch.sym_max(len(mask) - 2, 0)]"),
        ("n", "mask[i:torch.sym_max(n, 0)]"),
        ("4", "mask[i:4]"),
    ],
)
def test_a_bound_below_zero_does_not_count_from_the_end(bound: str, written: str) -> None:
    text = f"def fn(x, mask, n):\n    i = 0\n    while i < {bound} and mask[i]:\n        i += 1\n    return i\n"
    (found,) = candidates("counted_search", context_of(text, "mask[i]", TYPES))
    assert f"i += {written}.to(torch.int64)" in context_of(text, "mask[i]").site.source.apply(found.edits)


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("not mask[i]", "i += 1"),
        ("i < 4 and not mask[i]", "i += 2"),
        ("i < 4 and not mask[i]", "i += 1\n        x = x + 1"),
        ("i < 4 and not mask[x]", "i += 1"),
        ("i < 4 and not mask[i - 1]", "i += 1"),
        ("i < 4 and x[i] < i", "i += 1"),
        ("i < mask.sum() and not mask[i]", "i += 1"),
        ("i > n and not mask[i]", "i -= 1"),
        ("i < 4 or not mask[i]", "i += 1"),
        ("i < 4 and not mask[i]", "i -= 1"),
        ("i > 0 and not mask[i]", "i += 1"),
        ("i < 4 and not mask[i].pop()", "i += 1"),
    ],
)
def test_what_does_more_than_count_or_looks_elsewhere_is_left_alone(test: str, body: str) -> None:
    text = f"def fn(x, mask, n):\n    i = 0\n    while {test}:\n        {body}\n    return x * i\n"
    assert candidates("counted_search", context_of(text, test, TYPES)) == []
