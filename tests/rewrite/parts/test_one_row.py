"""Rows where there is nothing: what the moves are shown, and that what they make of it runs of nothing."""

from __future__ import annotations

import pytest
from control_flow import context_of, failures

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.parts.respelling import respelled
from ddelint.rewrite.search.offering import in_order

SELECTED = TypeFact("tensor", "float32", ("?",))
TYPES = {"x": TypeFact("tensor", "float32", ("6",)), "kept": SELECTED, "weights": SELECTED}
FILLED = "torch.cat([{0}, {0}.new_zeros({1})])[: torch.sym_max({0}.shape[0], {1})]"
HEAD = "import torch\n\n\ndef fn(x):\n"
PROGRAMS = {
    "quantile": (
        "    kept = x[x.abs() > 0.5]\n    if kept.numel() < 2:\n        return x * 1\n"
        "    return x - torch.quantile(kept, 0.9)\n",
        "kept.numel() < 2",
        2,
    ),
    "body": (
        "    kept = x[x > 0]\n    shift = x.new_ones(())\n    if kept.shape[0] > 0:\n"
        "        shift = torch.logsumexp(kept, 0) + kept[0]\n    return x - shift\n",
        "kept.shape[0] > 0",
        1,
    ),
    "otherwise": (
        "    kept = x[x > 0]\n    if not kept.size(0):\n        shift = x.mean()\n    else:\n"
        "        shift = kept.mode().values\n    return x - shift\n",
        "not kept.size(0)",
        1,
    ),
    "mask": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    kept = x[keep]\n"
        "    return x - torch.quantile(kept, 0.5) * kept[-1]\n",
        "not keep.any()",
        1,
    ),
    "places": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    kept = keep.nonzero().squeeze(1)\n"
        "    return x - kept[0] * kept[-1]\n",
        "not keep.any()",
        1,
    ),
    "places of several": (
        "    table = x.reshape(2, 3)\n    shift = x.sum()\n    if (table > 0).sum() > 0:\n"
        "        kept, weights = torch.where(table > 0)\n        shift = kept[0] * 2 + weights[-1] + 0.5\n"
        "    return x - shift\n",
        "(table > 0).sum() > 0",
        1,
    ),
    "places of the same rows": (
        "    kept, weights = torch.nonzero(x.reshape(3, 2) > 0, as_tuple=True)\n    if kept.numel() == 0:\n"
        "        return x * 1\n    return x - kept[0] + weights[-1]\n",
        "kept.numel() == 0",
        1,
    ),
    "counted mask": (
        "    shift = x.sum()\n    if int((x > 0).sum()) > 1:\n        kept, weights = x[x > 0], (x * 2)[x > 0]\n"
        "        shift = kept.kthvalue(2).values + weights.median()\n    return x - shift\n",
        "int((x > 0).sum()) > 1",
        2,
    ),
    "one of two": (
        "    kept, weights = x[x > 0], x[x > 2]\n"
        "    if len(kept) == 0 or weights.numel() < 1:\n        return x.sum() * 0\n"
        "    return kept[0] * weights[-1]\n",
        "len(kept) == 0 or weights.numel() < 1",
        1,
    ),
    "both": (
        "    kept, weights = x[x > 0], x[x > 2]\n"
        "    shift = x.sum()\n    if kept.shape[0] > 0 and weights.shape[0] > 0:\n"
        "        shift = kept.kthvalue(1).values * weights[-1]\n    return x - shift\n",
        "kept.shape[0] > 0 and weights.shape[0] > 0",
        1,
    ),
    "the least": (
        "    kept, weights = x[x > 0], x[x > 2]\n"
        "    if min(kept.shape[0], weights.shape[0]) == 0:\n        return x.sum() * 0\n"
        "    return kept[0] * weights[-1]\n",
        "min(kept.shape[0], weights.shape[0]) == 0",
        1,
    ),
    "product": (
        "    kept, weights = x[x > 0], x[x > 2]\n"
        "    if kept.size(0) * weights.size(0) < 1:\n        return x.sum() * 0\n"
        "    return kept[0] * weights[-1]\n",
        "kept.size(0) * weights.size(0) < 1",
        1,
    ),
    "in": (
        "    kept, weights = x[x > 0], x[x > 2]\n    if 0 in (len(kept), len(weights)):\n        return x.sum() * 0\n"
        "    return kept[0] * weights[-1]\n",
        "0 in (len(kept), len(weights))",
        1,
    ),
    "reassigned": (
        "    kept, weights = x[x > 0], (x + 1)[x > 0]\n    if kept.shape[0] == 0:\n        return x.sum() * 0\n"
        "    order = weights.argsort()\n    kept, weights = kept[order], weights[order]\n"
        "    return kept.kthvalue(1).values * weights[-1]\n",
        "kept.shape[0] == 0",
        1,
    ),
}
PROGRAMS |= {
    "arm": (
        "    kept = x[x > 0]\n    shift = kept.softmax(0).pow(2).mean() if len(kept) else x.sum() * 0\n"
        "    return x - shift\n",
        "len(kept)",
        1,
    ),
    "other arm": (
        "    kept = x[x.abs() > 0.5]\n"
        "    return x - (x.mean() if kept.numel() < 2 else torch.quantile(kept, 0.9) + kept[1])\n",
        "kept.numel() < 2",
        2,
    ),
    "comprehension": (
        "    parts = [x[x > 0], x[x > 2]]\n"
        "    shifts = [kept.kthvalue(1).values if len(kept) else x.sum() for kept in parts]\n"
        "    return x - torch.stack(shifts).sum()\n",
        "len(kept)",
        1,
    ),
}
GUARDED = {
    "and": (
        "    kept = x[x > 0]\n    shift = x.sum()\n    if len(kept) > 0 and kept[0] > 1:\n"
        "        shift = kept[-1] - kept[0]\n    return x - shift\n",
        "len(kept) > 0 and kept[0] > 1",
        1,
    ),
    "or": (
        "    kept = x[x > 0]\n    if kept.numel() < 2 or kept[1] < kept.mean():\n        return x * 1\n"
        "    return x - kept[1]\n",
        "kept.numel() < 2 or kept[1] < kept.mean()",
        2,
    ),
    "in the test alone": (
        "    kept = x[x > 0]\n    shift = x.sum()\n    if x[0] > 0 and kept.shape[0] > 0 and kept.max() > 2.5:\n"
        "        shift = shift * 2\n    return x - shift\n",
        "x[0] > 0 and kept.shape[0] > 0 and kept.max() > 2.5",
        1,
    ),
}
PROGRAMS |= GUARDED
ALIKE = {"both", "the least", "product"}
"""What gives the same text as "one of two", but for the test."""


def filled(body: str, asking: str) -> list[str]:
    found = [each.context.site.source.text for each in respelled(context_of(HEAD + body, asking, TYPES))]
    return [text for text in found if "new_zeros(" in text]


@pytest.mark.parametrize(("body", "asking", "rows"), PROGRAMS.values(), ids=PROGRAMS)
def test_what_is_counted_gets_as_many_rows_as_the_test_wants(body: str, asking: str, rows: int) -> None:
    (text,) = filled(body, asking)
    packed = "".join(text.split()).replace(",)", ")")
    for name in ("kept", "weights"):
        expected = FILLED.format(name, rows).replace(" ", "")
        if "else x." not in body and " - (x" not in body:  # eager computes both arms of a choice, too
            expected += f"iftorch.compiler.is_compiling()else{name}"
        assert (expected in packed) is (name in body)


ON_THE_WAY = {
    "once while nothing changes": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    middle = x[keep].median()\n"
        "    return x - (x[keep] - middle).kthvalue(1).values\n",
        "not keep.any()",
        1,
    ),
    "not where the mask is another": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    middle = x[keep].median()\n"
        "    keep = x >= x.max()\n    return x - (x[keep] - middle).kthvalue(1).values\n",
        "not keep.any()",
        1,
    ),
    "again where somebody may hold it": (
        "    if (x > 0).sum() == 0:\n        return x * 1\n    first = x[x > 0]\n    first += 1\n"
        "    return x - x[x > 0].kthvalue(1).values * first.kthvalue(1).values\n",
        "(x > 0).sum() == 0",
        2,
    ),
    "again behind a call that may change the rows": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    best = x[keep].argmax()\n"
        "    z = rescaled(x)\n    return z - x[keep].kthvalue(1).values * best\n",
        "not keep.any()",
        2,
    ),
    "not behind such a call in its statement": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n"
        "    return (rescaled(x) - x[keep].kthvalue(1).values) * x[x > 9].sum()\n",
        "not keep.any()",
        0,
    ),
    "not where the call may change the mask": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n    widened(keep)\n"
        "    return x - x[keep].kthvalue(1).values\n",
        "not keep.any()",
        0,
    ),
    "handed over": (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n"
        "    return x - torch.minimum(x[keep], x.exp()[keep]).kthvalue(1).values * torch.quantile(x[keep], 0.5)\n",
        "not keep.any()",
        3,
    ),
    "in the block": (
        "    shift = x.sum()\n    if (x > 0).any():\n        shift = shift + x[x > 0].argmax() * x[x > 0][-1]\n"
        "    return x - shift\n",
        "(x > 0).any()",
        2,
    ),
}
"""Selections without a name, and how many get one."""


@pytest.mark.parametrize(("body", "asking", "count"), ON_THE_WAY.values(), ids=ON_THE_WAY)
def test_a_selection_on_the_way_gets_a_name_and_its_rows(body: str, asking: str, count: int) -> None:
    texts = filled(body, asking)
    assert [text.count("new_zeros(") for text in texts] == [count] * bool(count)


def test_what_is_selected_only_now_and_then_stays() -> None:
    body = (
        "    keep = x > 0\n    if not keep.any():\n        return x * 1\n"
        "    return x - (x[keep][0] if x.sum() > 2 else x[0])\n"
    )
    assert filled(body, "not keep.any()") == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "asking", "count"), [one for one in ON_THE_WAY.values() if "rescaled" not in one[0] and one[2]]
)
def test_selections_on_the_way_run_of_nothing_while_compiling(body: str, asking: str, count: int) -> None:
    import torch

    load_moves()
    context = context_of(HEAD + body, asking, TYPES)
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    samples = [(torch.tensor(values),) for values in ([1.0, -2, 3, 4, -5, 6], [0.0] * 6, [-0.5, 3, 0, 0, 0, 0])]
    clean = [text for text in texts if not failures(HEAD + body, text, samples, ("export", "compile"))]
    assert any("chosen_x" in text or "first.new_zeros" in text for text in clean)


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("    if x.sum() > 2:\n        return x\n    return x - x.median()\n", "x.sum() > 2"),
        (
            "    kept = x[x > 0]\n    if kept.shape[0] == 4:\n        return x\n    return x - x[0]\n",
            "kept.shape[0] == 4",
        ),
        (
            "    kept, weights = x[x > 0], x[x > 2]\n    if len(kept) == 0 and len(weights) == 0:\n        return x\n"
            "    return kept.sum() * weights.sum() * x\n",
            "len(kept) == 0 and len(weights) == 0",
        ),
        ("    kept = x[x > 0]\n    if len(kept) > 99:\n        x = x + kept.sum()\n    return x\n", "len(kept) > 99"),
        (
            "    kept = x[x > 0]\n    if len(kept) == 0:\n        raise ValueError\n    return kept[0]\n",
            "len(kept) == 0",
        ),
    ],
)
def test_what_asks_otherwise_stays(body: str, asking: str) -> None:
    assert filled(body, asking) == []


@pytest.mark.slow
@pytest.mark.parametrize(("body", "asking", "rows"), [PROGRAMS[name] for name in sorted(PROGRAMS.keys() - ALIKE)])
def test_what_moves_make_of_it_runs_of_nothing(body: str, asking: str, rows: int) -> None:
    import torch

    load_moves()
    context = context_of(HEAD + body, asking, TYPES)
    texts = [context.site.source.apply(each.edits) for each in in_order(["where_merge"], context)]
    samples = [(torch.tensor(values),) for values in ([1.0, -2, 3, 4, -5, 6], [0.0] * 6, [-0.5, 3, 0, 0, 0, 0])]
    clean = [text for text in texts if not failures(HEAD + body, text, samples, ("export", "compile"))]
    assert any(f"new_zeros({rows})" in text for text in clean)


def test_a_number_that_is_read_from_them_is_a_number_still() -> None:
    """Eager returns a float either way, and so does what chooses."""
    body = (
        "    at = x.nonzero()[:, 0]\n    if at.numel() == 0:\n        return 0.0\n    return 1 / (at[0].item() + 1)\n"
    )
    load_moves()
    context = context_of(HEAD + body, "at.numel() == 0", {**TYPES, "at": TypeFact("tensor", "int64", ("u0",))})
    offered = [c for c in in_order(["where_merge"], context) if "at_or_zeros" in c.edits[0].content]
    assert offered
    assert all(".item()" in candidate.edits[-1].content.rpartition("where(")[2] for candidate in offered)
