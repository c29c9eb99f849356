"""wrapping_store: a ring is written to beyond its end."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, failures

from ddelint.nouns.diagnostics import TypeFact

TYPES = {
    "ring": TypeFact("tensor", "float32", ("6", "2")),
    "marks": TypeFact("tensor", "int64", ("6",)),
    "rows": TypeFact("tensor", "float32", ("2", "6")),
    "v": TypeFact("tensor", "float32", ("4", "2")),
    "w": TypeFact("tensor", "int64", ("4",)),
    "i": TypeFact("symint"),
}
HEAD = (
    "import torch\n\n\ndef fn(v, w, place):\n    ring, marks, rows = torch.zeros(6, 2), torch.zeros(6).long(), "
    "torch.zeros(2, 6)\n    i = place.item()\n    torch._check(i >= 0)\n    torch._check(i < 6)\n"
)
END = "    return ring, marks, rows\n"
PROGRAMS = {
    "two rings": (
        "    n = v.shape[0]\n    if i + n <= 6:\n        ring[i : i + n] = v\n        marks[i : i + n] = w\n    else:\n"
        "        first = 6 - i\n        ring[i:] = v[:first]\n        marks[i:] = w[:first]\n"
        "        ring[: n - first] = v[first:]\n        marks[: n - first] = w[first:]\n",
        "i + n <= 6",
    ),
    "the other way round": (
        "    end = i + 4\n    if end > 6:\n        ring[i:6] = v[: 6 - i]\n        ring[0 : end - 6] = v[6 - i :]\n"
        "    else:\n        ring[i:end] = v\n",
        "end > 6",
    ),
    "along the second dimension": (
        "    if i + 4 <= 6:\n        rows[:, i : i + 4] = v.t()\n    else:\n"
        "        rows[:, i:] = v.t()[:, : 6 - i]\n        rows[:, : i - 2] = v.t()[:, 6 - i :]\n",
        "i + 4 <= 6",
    ),
    "of another type": (
        "    if i + 4 <= 6:\n        ring[i : i + 4, :] = v.double()\n    else:\n"
        "        ring[i:, :] = v.double()[: 6 - i]\n        ring[: i - 2, :] = v.double()[6 - i :]\n",
        "i + 4 <= 6",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_goes_on_at_the_beginning(name: str) -> None:
    import torch

    body, test = PROGRAMS[name]
    context = context_of(HEAD + body + END, test, TYPES)
    (candidate,) = candidates("wrapping_store", context)
    text = context.site.source.apply(candidate.edits)
    samples = [(torch.randn(4, 2), torch.arange(1, 5), torch.tensor(place)) for place in (1, 5, 2, 3, 0)]
    assert failures(HEAD + body + END, text, samples, ("export", "compile")) == []
    assert text.count("torch.arange(") == 1, "two rings of one size have the same places"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("marks[: n - first] = w[first:]", "marks[: n - first] = v[first:, 0]"),
        ("marks[: n - first] = w[first:]", "marks[1 : n - first] = w[first:]"),
        ("marks[: n - first] = w[first:]", "print(first)"),
        ("first = 6 - i", "n = 6 - i"),
        ("marks[i:] = w[:first]", "marks[n:] = w[:first]"),
        ("ring[i : i + n] = v", "ring[i : i + n : 2] = v"),
        ("ring[i : i + n] = v", "ring[i] = v[0]"),
    ],
)
def test_what_is_no_ring_is_left_alone(old: str, new: str) -> None:
    body, test = PROGRAMS["two rings"]
    text = HEAD + body.replace(old, new) + "    return ring, marks, n\n"
    assert old not in text
    assert candidates("wrapping_store", context_of(text, test, TYPES)) == []


WHOLE = "    if i + 4 <= 6:\n        ring[i : i + 4] = v\n    else:\n"
PARTS = "        ring[i:] = v[: 6 - i]\n        ring[: i - 2] = v[6 - i :]\n"


@pytest.mark.parametrize(
    ("whole", "parts"),
    [
        (WHOLE, PARTS.replace("v[: 6 - i]", "v[i - 2 :]").replace("v[6 - i :]", "v[: i - 2]")),
        (WHOLE, PARTS.replace("v[: 6 - i]", "v[0]")),
        (WHOLE, PARTS.replace("v[6 - i :]", "v[5 - i :]")),
        (WHOLE, PARTS.replace("v[6 - i :]", "v[:, 0]")),
        (WHOLE.replace("= v", "= torch.rand(4, 2)"), PARTS.replace("v[", "torch.rand(4, 2)[")),
        (WHOLE.replace("        ring", "        v = v * 2\n        ring"), PARTS),
    ],
)
def test_what_is_not_the_same_rows_in_two_parts_stays(whole: str, parts: str) -> None:
    assert candidates("wrapping_store", context_of(f"{HEAD}{whole}{parts}{END}", "i + 4 <= 6", TYPES)) == []
