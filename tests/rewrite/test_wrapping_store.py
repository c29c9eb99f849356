"""wrapping_store: a ring is written to beyond its end."""

from __future__ import annotations

import itertools
from unittest.mock import patch

import pytest
from control_flow import candidates, context_of, failures, load, outcome, with_imports

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


# ---------------------------------------------------------------------- places outside of the ring

BEGIN = "import torch\n\n\ndef fn(ring, v, place, size):\n"
STORES = {
    "an end that is named": (
        "    i = place.item()\n    n = v.shape[0]\n    end = i + n\n    if end <= size:\n        ring[i:end] = v\n"
        "    else:\n        first = size - i\n        ring[i:] = v[:first]\n        ring[: end - size] = v[first:]\n",
        "end <= size",
    ),
    "what is left behind the end": (
        "    i = int(place)\n    n = len(v)\n    over = i + n - size\n    if over > 0:\n"
        "        ring[i:] = v[: n - over]\n        ring[:over] = v[n - over :]\n    else:\n"
        "        ring[i : i + n] = v\n",
        "over > 0",
    ),
    "the ring's own size, and a flag": (
        "    i = place.item()\n    n = v.size(0)\n    wraps = i + n > ring.shape[0]\n    if not wraps:\n"
        "        ring[i : i + n] = v\n    else:\n        cut = len(ring) - i\n        rest = n - cut\n"
        "        ring[i:] = v[:cut]\n        ring[:rest] = v[cut:]\n",
        "not wraps",
    ),
    "room that is less than what comes": (
        "    i = place.item()\n    room = size - i\n    if len(v) < room:\n        ring[i : i + len(v)] = v\n"
        "    else:\n        ring[i:size] = v[:room]\n        ring[: len(v) - room] = v[room:]\n",
        "len(v) < room",
    ),
    "a tensor for a bound": (
        "    n = v.shape[0]\n    if place + n <= size:\n        ring[place : place + n] = v\n    else:\n"
        "        ring[place:] = v[: size - place]\n        ring[: place + n - size] = v[size - place :]\n",
        "place + n <= size",
    ),
    "another count than the rows": (
        "    i = place.item()\n    if i + 3 <= size:\n        ring[i : i + 3] = v\n    else:\n"
        "        ring[i:] = v[: size - i]\n        ring[: i + 3 - size] = v[size - i :]\n",
        "i + 3 <= size",
    ),
}
SHOWN = {
    "ring": TypeFact("tensor", "float32", ("6", "2")),
    "v": TypeFact("tensor", "float32", ("4", "2")),
    "place": TypeFact("tensor", "int64", ()),
    "i": TypeFact("symint"),
    "size": TypeFact("int"),
}


@pytest.mark.parametrize("name", STORES)
def test_what_is_compiled_raises_where_slices_do(name: str) -> None:
    """Places before and behind the ring, rings of another size than is said, and batches of more than its rows."""
    import torch

    body, test = STORES[name]
    text = f"{BEGIN}{body}    return ring\n"
    (new,) = with_imports("wrapping_store", context_of(text, test, SHOWN))
    before, now = load(text), load(new)
    same = 0
    for own, said, count, place in itertools.product((1, 3), (2, 3), range(9), range(-6, 8)):
        v = torch.arange(1.0, 2 * count + 1).view(count, 2)
        expected = outcome(before, (torch.zeros(own, 2), v, torch.tensor(place), said))[0]
        with patch("torch.compiler.is_compiling", lambda: True):
            got = outcome(now, (torch.zeros(own, 2), v, torch.tensor(place), said))[0]
        if not isinstance(got, type):
            assert not isinstance(expected, type), (own, said, count, place)
            assert torch.equal(expected, got), (own, said, count, place)
            same += 1
        elif not isinstance(expected, type):  # slices that fit one row, or none, store it several times, or nowhere
            assert count <= 1 or place > said or own != said or "+ 3" in body, (own, said, count, place)
    assert same > 3


@pytest.mark.parametrize(
    ("place", "count"),
    [(5, 4), (6, 4), (2, 9), (-5, 3), (7, 4), (-1, 4), (-9, 3), (5, 8)],
    ids=lambda value: str(value),
)
def test_compiled_it_raises_just_where_eager_does(place: int, count: int) -> None:
    import torch

    body, test = STORES["an end that is named"]
    text = f"{BEGIN}{body}    return ring\n".replace("ring, v, place, size", "v, place").replace(
        "    i = place", "    size = 6\n    ring = torch.zeros(size, 2)\n    i = place"
    )
    (new,) = with_imports("wrapping_store", context_of(text, test, SHOWN))
    v = torch.arange(2.0 * count).view(count, 2)
    raises = isinstance(outcome(load(text), (v, torch.tensor(place)))[0], type)
    assert raises == (place in (7, -1, -9, 5) and (place, count) != (5, 4)) or (place, count) == (5, 8)
    inside = (v, torch.tensor(1))
    assert failures(text, new, [inside, (v, torch.tensor(place))], ("export", "compile")) == []


def test_a_list_is_no_ring() -> None:
    body, test = STORES["an end that is named"]
    facts = {**SHOWN, "ring": TypeFact("list"), "v": TypeFact("list")}
    assert candidates("wrapping_store", context_of(f"{BEGIN}{body}    return ring\n", test, facts)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if end <= size", "if end <= size + 1"),
        ("if end <= size", "if end < size - 1"),
        ("if end <= size", "if i < size"),
        ("ring[: end - size]", "ring[: end - size + 1]"),
        ("first = size - i", "first = size - i - 1"),
        ("first = size - i", "first = n // 2"),
    ],
)
def test_a_test_of_something_else_is_left_alone(old: str, new: str) -> None:
    body, _ = STORES["an end that is named"]
    text = f"{BEGIN}{body}    return ring\n"
    assert old in text
    text = text.replace(old, new)
    test = text.partition("    if ")[2].partition(":")[0]
    assert candidates("wrapping_store", context_of(text, test, SHOWN)) == []
