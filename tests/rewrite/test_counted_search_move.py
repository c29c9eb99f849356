"""counted_search: a loop that only counts up to a place becomes a sum while compiling; eager keeps it."""

from __future__ import annotations

from collections.abc import Sequence

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
    "two neighbours": (
        "i, k = 0, 1",
        "i < x.shape[0] - 2 and (x[i] < x[i + 1] or x[i + 1] < x[i + 2])",
        "+",
        "x[i] < x[i + 1]",
    ),
    "one before the other": ("i = x.shape[0] - 1", "i > 0 and x[i - 1] <= x[i]", "-", "x[i - 1] <= x[i]"),
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
    (program,) = with_imports("counted_search", context_of(text, asked, TYPES, "DDE106"))
    assert failures(text, program, samples, ("export", "compile")) == []


def test_the_text() -> None:
    loop = "while i < len(mask) and not mask[i]:  # find it"
    text = f"def fn(x, mask):\n    i = 0\n    {loop}\n        i += 1\n    return i\n"
    (found,) = candidates("counted_search", context_of(text, "mask[i]", TYPES, "DDE106"))
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
    (found,) = candidates("counted_search", context_of(text, "mask[i]", TYPES, "DDE106"))
    assert f"i += {written}.to(torch.int64)" in context_of(text, "mask[i]").site.source.apply(found.edits)


FLOATS = ([0.1, 0.7, 0.2, 0.9], [0.1, 0.2, 0.3, 0.2], [0.3, 0.1, 0.1, 0.1], [0.7, 0.7, 0.7, 0.7])
BYTES = ([3, 2, 9, 9], [200, 100, 7, 1], [9, 200, 250, 9], [5, 4, 3, 2])


@pytest.mark.parametrize(
    ("test", "dtype", "rows"),
    [
        ("i < len(x) and x[i].item() < 0.7", "float32", FLOATS),
        ("i < len(x) and 0.3 >= abs(x[i].item())", "float32", FLOATS),
        ("i < len(x) - 1 and x[i].item() + x[i + 1].item() <= x[i + 1].item() * 3", "float32", FLOATS),
        ("i < len(x) - 1 and x[i].item() + 0.1 != x[i + 1].item()", "float32", FLOATS),
        ("i < len(x) and not x[i].item() == 0.7", "float16", FLOATS),
        ("i < len(x) - 1 and x[i].item() - x[i + 1].item() < 3", "uint8", BYTES),
        ("i < len(x) - 1 and x[i].item() + x[i + 1].item() < 290", "uint8", BYTES),
        ("i < len(x) and x[i].item() * 3 < 300", "uint8", BYTES),
        ("i < len(x) and x[i].item() < 300", "uint8", BYTES),
        ("i < len(x) and x[i].item() * 0.1 <= 0.3", "uint8", BYTES),
    ],
)
def test_numbers_are_compared_as_python_compares_them(test: str, dtype: str, rows: Sequence[Sequence[float]]) -> None:
    import torch

    text = (
        f"import torch\n\n\ndef fn(x):\n    i = 0\n    while {test}:\n        i += 1\n    return torch.ones(2) * i, i\n"
    )
    asked = test.partition(" and ")[2].removeprefix("not ")
    types = {"x": TypeFact("tensor", dtype, ("4",)), "i": TypeFact("int")}
    (program,) = with_imports("counted_search", context_of(text, asked, types, "DDE106"))
    samples = [(torch.tensor(row).to(getattr(torch, dtype)),) for row in rows]
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("start", "test", "way"),
    [
        ("i = k - 1", "i > 0 and mask[i - 1]", "-"),
        ("i = k - 1", "i >= 2 and mask[i - 2]", "-"),
        ("i = 0", "i < min(k, len(mask)) and mask[i]", "+"),
        ("i = 0", "i < int(k) and mask[i]", "+"),
        ("i = 0", "i < (k if k < 4 else 4) and mask[i]", "+"),
        ("i = 0", "i <= k - 1 and mask[i]", "+"),
    ],
)
def test_no_slice_counts_from_the_end(start: str, test: str, way: str) -> None:
    import torch

    text = (
        f"import torch\n\n\ndef fn(x, mask, k: int):\n    {start}\n    while {test}:\n        i {way}= 1\n"
        "    return x * i, i\n"
    )
    asked = test.partition(" and ")[2]
    (program,) = with_imports("counted_search", context_of(text, asked, {**TYPES, "k": TypeFact("int")}, "DDE106"))
    mask = torch.ones(4, dtype=torch.bool)
    for k in (3, 0, -2, 1):
        assert failures(text, program, [(torch.ones(4), mask, k)], ("compile",)) == []


def test_a_bound_of_several_reads_has_a_name() -> None:
    test = "i <= n - 1 and (mask[i] or x[i] > 0) and x[i] < 9"
    text = f"def fn(x, mask, n):\n    i = 0\n    while {test}:\n        i += 1\n    return i\n"
    context = context_of(text, "mask[i]", TYPES, "DDE106")
    (found,) = candidates("counted_search", context)
    new = context.site.source.apply(found.edits)
    assert "end = torch.sym_max(n, 0)\n" in new
    assert new.count("[i:end]") == 3


@pytest.mark.parametrize(
    ("start", "test", "way"),
    [
        # it may begin below zero, or where the pieces are of other lengths
        ("i = n", "i < 4 and mask[i]", "+"),
        ("i = int(mask.sum()) - 1", "i < len(mask) and mask[i]", "+"),
        ("i, j = -1, 0", "i < len(mask) and mask[i]", "+"),
        ("i = n", "i > 0 and x[i - 1] < x[i]", "-"),
        ("i = len(x)", "i > 0 and (x[i - 1] < 3 or x[i] < 3)", "-"),
        ("i = 0", "i < len(mask) and (mask[i] and mask[i + 1])", "+"),
        ("i = 0", "i <= 3 and x[i] < x[i + 1]", "+"),
        ("i = 0", "i < n and x[i] < x[i + 1]", "+"),
        ("i = 0", "i < len(longer) and (mask[i] or longer[i] > 0)", "+"),
        # what does not read the index
        ("i = 0", "i < len(x) and x.sum() > 3", "+"),
        ("i = 0", "i < len(mask) and (not n > 3 or mask[i])", "+"),
        ("i = 0", "i < len(mask) and mask[i] and (limit or mask[i])", "+"),
        # another type for all places than for one, or than Python's
        ("i = 0", "i < len(x) and x[i] < wide", "+"),
        ("i = 0", "i < len(x) and x[i].item() < limit", "+"),
        ("i = 0", "i < len(t) and t[i].item() * 3 < 4", "+"),
        ("i = 0", "i < len(t) and t[i].item() < 0.5", "+"),
        ("i = 0", "i < len(x) and 1 / x[i].item() < 4", "+"),
        ("i = 0", "i < len(x) and x[i].item() < n", "+"),
    ],
)
def test_what_is_not_the_same_at_all_places_is_left_alone(start: str, test: str, way: str) -> None:
    loop = f"{start}\n    while {test}:\n        i {way}= 1\n    return i\n"
    text = f"def fn(x, t, mask, longer, n, limit, wide):\n    {loop}"
    types = {**TYPES, "wide": TypeFact("tensor", "float64", ()), "longer": TypeFact("tensor", "float32", ("9",))}
    assert candidates("counted_search", context_of(text, test, types, "DDE106")) == []


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
    assert candidates("counted_search", context_of(text, test, TYPES, "DDE106")) == []
