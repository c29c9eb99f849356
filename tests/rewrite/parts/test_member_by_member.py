"""Collections of as many members on both sides of a test: each member is chosen."""

from __future__ import annotations

import pytest
from control_flow import context_of, failures

from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.search.offering import in_order

HEAD = "import torch\n\n\ndef fn(x, y):\n    parts = [x, y]\n    total = x.sum() + y.sum()\n"
PROGRAMS = {
    "what is gone through": (
        "    if total > 1:\n        parts = [part * 2 for part in parts]\n    return parts[0].sum() + parts[1]\n",
        "[torch.where(total > 1, part * 2, part) for part in parts]",
    ),
    "both sides": (
        "    if total > 1:\n        new = [part.exp() for part in parts]\n    else:\n"
        "        new = [part - 1 for part in parts]\n    return new[0].sum() * new[1]\n",
        "[torch.where(total > 1, part.exp(), part - 1) for part in parts]",
    ),
    "a tuple": (
        "    parts = tuple(parts)\n    if total > 1:\n        parts = tuple(part.neg() for part in parts)\n"
        "    return parts[0].sum() + parts[1]\n",
        "tuple(torch.where(total > 1, part.neg(), part) for part in parts)",
    ),
    "values of a dictionary": (
        '    named = {"x": x, "y": y}\n    if total > 1:\n'
        "        named = {name: one / 2 for name, one in named.items()}\n"
        '    return named["x"].sum() + named["y"]\n',
        "{name: torch.where(total > 1, one / 2, one) for name, one in named.items()}",
    ),
    "an early return": (
        "    if total > 1:\n        return [torch.zeros_like(part) for part in parts]\n"
        "    parts = [part * 3 for part in parts]\n    return parts\n",
        "[torch.where(total > 1, when_true, when_false) for when_true, when_false in zip(",
    ),
    "a test that reads the name of a member": (
        "    x = x - 1\n    if x.sum() + y.sum() > 0:\n        parts = [x * 2 for x in parts]\n"
        "    return parts[0].sum() + parts[1]\n",
        "[torch.where(x.sum() + y.sum() > 0, when_true, when_false) for when_true, when_false in zip([",
    ),
    "a pair of one": (
        "    pairs = [(x,), (y,)]\n    if total > 1:\n        new = [a * 2 for (a,) in pairs]\n    else:\n"
        "        new = [a + 2 for (a,) in pairs]\n    return new[0].sum() + new[1]\n",
        "for (a,) in pairs]",
    ),
}


@pytest.mark.parametrize(("body", "expected"), PROGRAMS.values(), ids=PROGRAMS)
def test_each_member_is_chosen(body: str, expected: str) -> None:
    import torch

    load_moves()
    context = context_of(HEAD + body, "total > 1" if "if total > 1" in body else "x.sum() + y.sum() > 0")
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    written = [text for text in texts if "".join(expected.split()) in "".join(text.split())]
    samples = [(torch.full((3,), value), torch.arange(3.0)) for value in (-4.0, 0.5, 2.0)]
    assert any(not failures(HEAD + body, text, samples, ("export", "compile")) for text in written)


@pytest.mark.parametrize(
    "body",
    [
        "    if total > 1:\n        parts = [part for part in parts if part.dim()]\n    return parts\n",
        "    if total > 1:\n        parts = [a * b for a, b in zip(parts, [y, x])]\n    return parts[0] + parts[1]\n",
        "    more = [x + i for i in range(3)]\n    if total > 1:\n        parts = more\n"
        "    else:\n        parts = [part * 2 for part in parts]\n    return parts[0] + parts[1]\n",
        "    if total > 1:\n        parts = [part * 2 for part in parts]\n    parts[0] = x\n    return parts\n",
        "    parts = {1: x}\n    if total > 1:\n        parts = {2 * key: one for key, one in parts.items()}\n"
        "    return parts\n",
    ],
)
def test_what_may_have_other_members_is_not_chosen_so(body: str) -> None:
    load_moves()
    context = context_of(HEAD + body, "total > 1")
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    assert not [text for text in texts if "torch.where(total > 1, [" in text or "torch.where(total > 1, {" in text]
    assert not [text for text in texts if "torch.where(total > 1, part" in text or "zip(" in text]
