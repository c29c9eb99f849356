"""How far an outlined region reaches: names that change their type, and lists made before a loop."""

from __future__ import annotations

from control_flow import context_of, rewritten

from ddelint.diagnostics import TypeFact

SIZES = TypeFact("tensor", "int64", ("4",))
SCORES = TypeFact("tensor", "float32", ("4",))


def test_an_array_goes_on_to_the_tensor_that_is_made_of_it() -> None:
    body = "    mask = drawn(sizes)\n    mask = torch.tensor(mask)\n    return mask * 2\n"
    text = f"import torch\n\n\ndef fn(sizes):\n{body}"
    types = {"sizes": SIZES, "mask": TypeFact("tensor", "bool", ("4",))}
    first, second = rewritten("outline", context_of(text, "drawn(sizes)", types, "DDE206"))
    assert "    mask = drawn(sizes)\n    return mask\n" in first
    assert "    mask = drawn(sizes)\n    mask = torch.tensor(mask)\n    return mask\n" in second


def test_a_list_that_a_loop_fills_belongs_to_the_region() -> None:
    text = (
        "import torch\n\n\ndef fn(order, scores):\n    kept = []\n    while order.shape[0] > 0:\n"
        "        kept.append(order[0])\n        order = order[1:][scores[order[1:]] < 1]\n"
        "    return torch.stack(kept)\n"
    )
    types = {
        "order": SIZES,
        "scores": SCORES,
        "kept": TypeFact("list", length=2, element=TypeFact("tensor", "int64", ())),
    }
    found = rewritten("outline", context_of(text, "order.shape[0] > 0", types, "DDE106"))
    assert "    kept = []\n    while order.shape[0] > 0:\n" in found[0].partition("custom_op")[0]
    assert found[0].count("kept = []") == 1
