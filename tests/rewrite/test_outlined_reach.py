"""How far an outlined region reaches: names that change their type, and lists made before a loop."""

from __future__ import annotations

import pytest
from control_flow import context_of, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import NotOffered

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


@pytest.mark.parametrize(
    ("read", "flows"),
    [
        ("np.argsort(-scores[0].detach().cpu().numpy())", False),
        ("picked((scores > 0).numpy(), scores.shape[0])", False),
        ("picked(scores.data.numpy(), scores.numel())", False),
        ("picked(scores.argsort(), scores.detach())", False),
        ("picked(scores.detach(), scores * 2)", True),
        ("picked(scores)", True),
        ("scores.abs().item() + picked(order, scores[0].cpu())", True),
    ],
)
def test_no_gradient_is_promised_to_what_is_read_without_one(read: str, flows: bool) -> None:
    text = f"import torch\n\n\ndef fn(order, scores, x):\n    out = x * {read}\n    return out\n"
    float_of_rows = TypeFact("tensor", "float32", ("4", "2"))
    types = {"order": SIZES, "scores": float_of_rows, "x": float_of_rows, "out": float_of_rows}
    *_, found = rewritten("outline", context_of(text, read, types, "DDE206"))
    assert ("scores = scores.detach().requires_grad_()" in found) is flows
    assert ("scores.detach()" in found.rpartition(" else ")[2]) is not flows
    assert "x = x.detach().requires_grad_()" in found


def test_a_search_that_is_left_by_a_break_is_a_region() -> None:
    body = (
        "    for at, row in enumerate(rows):\n"
        "        if row.sum() < x.sum():\n"
        "            best = row\n"
        "            break\n"
        "    else:\n"
        "        at, best = -1, x\n"
    )
    text = f"import torch\n\n\ndef fn(rows, x):\n{body}    return best, at\n"
    row = TypeFact("tensor", "float32", ("2",))
    types = {
        "rows": TypeFact("tensor", "float32", ("4", "2")),
        "x": row,
        "row": row,
        "best": row,
        "at": TypeFact("int"),
    }
    *_, found = rewritten("outline", context_of(text, "row.sum() < x.sum()", types, "DDE105"))
    assert f"{body}    return at, best\n" in found


@pytest.mark.parametrize(
    ("sync", "is_outlined"),
    [
        ("for p in self.net.parameters():\n            p.mul_(2)", False),
        ("for p, q in zip(self.net.parameters(), self.other.parameters()):\n            p.data.copy_(q)", False),
        ("self.net.load_state_dict(self.other.state_dict())", False),
        ("for b in self.net.buffers():\n            b.mul_(2)", True),
        ("for p in self.net.parameters():\n            print(p.sum())", True),
    ],
)
def test_an_operator_changes_no_parameters(sync: str, is_outlined: bool) -> None:
    """It gives back buffers alone, and its gradient runs it once more."""
    text = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        y = x\n"
        "        if x.sum() > 0:\n            self.sync()\n            y = drawn(self.net, x)\n        return y + 1\n\n"
        f"    def sync(self):\n        {sync}\n"
    )
    module = TypeFact("module", length=2)
    types = {"x": SCORES, "y": SCORES, "self": module, "self.net": module, "self.other": module}
    context = context_of(text, "x.sum() > 0", types, "DDE105")
    if not is_outlined:
        with pytest.raises(NotOffered, match="are changed"):
            rewritten("outline", context)
        return
    found = rewritten("outline", context)
    assert any("self.sync()" in one.partition("@torch.library")[0] for one in found)
