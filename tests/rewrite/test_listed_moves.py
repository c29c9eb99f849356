"""tensor_instead_of_list, clamped_difference, and loops over distinct numbers: texts, look-alikes, the same results."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, rewritten

from ddelint.nouns.diagnostics import TypeFact

TENSORS = TypeFact("list", element=TENSOR)
NUMBERS = TypeFact("list", element=TypeFact("symint"))
MODULES = TypeFact("module", python_type="torch.nn.modules.container.ModuleList")
TYPES = {
    "t": INTEGERS,
    "m": TypeFact("tensor", "int64", ("u0",)),
    "x": TENSOR,
    "out": TENSOR,
    "chosen": INTEGERS,
    "v": NUMBERS,
    "k": COUNT,
    "w": TENSORS,
    "self.experts": MODULES,
}


WHOLE = "v = m + 1\nreturn x * v.sum().item() / v.shape[0]"


def function(body: str) -> str:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import torch\n\n\ndef fn(self, x, t, n, chosen, out):\n{lines}"


@pytest.mark.parametrize(
    ("body", "asking", "expected"),
    [
        ("v = t.tolist()\nreturn v.index(max(v))", "max(v)", "return t.argmax().item()"),
        ("return t.tolist().index(min(t.tolist()))", "min(t.tolist())", "return t.argmin().item()"),
        ("v = t.tolist()\nbest = max(v)\nreturn v.index(best)", "v.index(best)", "return t.argmax().item()"),
        ("return v.index(max(v))", "max(v)", "return torch.tensor(v).argmax().item()"),
        ("v = t.tolist()\nreturn v.index(n)", "v.index(n)", "return (t == n).int().argmax().item()"),
        (
            "v = t.tolist()\nreturn max(range(len(v)), key=lambda i: v[i])",
            "max(range(len(v)), key=lambda i: v[i])",
            "return t.argmax().item()",
        ),
        (
            "v = t.tolist()\nreturn max(range(len(v)), key=v.__getitem__), v",
            "max(range(len(v)), key=v.__getitem__)",
            "v = t.tolist()\nreturn t.argmax().item(), v",
        ),
        (
            "return next(i for i, k in enumerate(t.tolist()) if k > n)",
            "k > n",
            "return (t > n).int().argmax().item()",
        ),
        (
            "return next((k for k in t.tolist() if k + 1 > n), 0)",
            "k + 1 > n",
            "return torch.where((t + 1 > n).any(), t[(t + 1 > n).int().argmax()], 0).item()",
        ),
        ("v = t.tolist()\nreturn sum(v[:k])", "v[:k]", "return t[:k].sum().item()"),
        (
            "v = t.tolist()\nreturn x[sum(v[:k]) :], v",
            "sum(v[:k])",
            "v = t.tolist()\nreturn x[t[:k].sum().item() :], v",
        ),
        ("v = t.tolist()\nreturn max(v[k : k + 2])", "v[k : k + 2]", "return t[k : k + 2].max().item()"),
        ("v = t.tolist()\nreturn x.narrow(0, 0, v[k])", "v[k]", "return x.narrow(0, 0, t[k].item())"),
        ("v = m.tolist()\nreturn max(v)", "m.tolist()", "return m.max().item()"),
        ("v = (m + 1).tolist()\nreturn x * sum(v) / len(v)", "(m + 1).tolist()", WHOLE),
        ("v = m.tolist()\nreturn v.index(max(v)), min(v)", "m.tolist()", "return m.argmax().item(), m.min().item()"),
        ("v = m.tolist()\nreturn x.new_zeros(max(v))", "max(v)", "return x.new_zeros(m.max().item())"),
        ("v = t.tolist()\nreturn v[k + 1] - v[k]", "v[k + 1]", "v = t.tolist()\nreturn t[k + 1].item() - v[k]"),
    ],
)
def test_a_list_of_numbers_asks_its_tensor(body: str, asking: str, expected: str) -> None:
    assert function(expected) in rewritten("tensor_instead_of_list", context_of(function(body), asking, TYPES))


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("w = [str(k) for k in v]\nreturn w.index(max(w))", "max(w)"),
        ("return next(i for i, k in enumerate(t.tolist()) if k > i)", "k > i"),
        ("return next(i for i, k in enumerate(t.tolist()) if k > n and x[k] > 0)", "k > n and x[k] > 0"),
        ("return max(range(3), key=lambda i: v[i])", "max(range(3), key=lambda i: v[i])"),
        ("v = t.tolist()\nreturn max(v)", "t.tolist()"),
        ("v = m.tolist()\nprint(v)\nreturn max(v)", "m.tolist()"),
        ("u = (m * 0.5).tolist()\nreturn sum(u)", "(m * 0.5).tolist()"),
    ],
)
def test_other_lists_stay(body: str, asking: str) -> None:
    assert rewritten("tensor_instead_of_list", context_of(function(body), asking, TYPES)) == []


@pytest.mark.parametrize(
    ("body", "asking", "expected"),
    [
        (
            "if x.numel() < n:\n    x = torch.cat([x, x.new_zeros(n - x.numel())])\nreturn x",
            "x.numel() < n",
            "x = torch.cat([x, x.new_zeros(torch.sym_max(n - x.numel(), 0))])",
        ),
        (
            "if n > x.size(0):\n    x = torch.nn.functional.pad(x, (0, n - x.size(0)))\nreturn x",
            "n > x.size(0)",
            "x = torch.nn.functional.pad(x, (0, torch.sym_max(n - x.size(0), 0)))",
        ),
        (
            "pad = n - x.shape[0]\nif pad > 0:\n    x = torch.nn.functional.pad(x, (0, pad))\nreturn x",
            "pad > 0",
            "x = torch.nn.functional.pad(x, (0, torch.sym_max(pad, 0)))",
        ),
        (
            "over = 0\nif x.numel() > n:\n    over += x.numel() - n\n    x = x[:n]\nreturn x, over",
            "x.numel() > n",
            "over += torch.sym_max(x.numel() - n, 0)",
        ),
    ],
)
def test_a_difference_is_made_up_for_always(body: str, asking: str, expected: str) -> None:
    (text,) = rewritten("clamped_difference", context_of(function(body), asking, TYPES))
    assert f"    if torch.compiler.is_compiling() or {asking}:\n" in text
    assert f"        {expected}\n" in text


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("if x.numel() < n:\n    x = x + 1\nreturn x", "x.numel() < n"),
        ("if x.numel() < n:\n    x = x.new_zeros(n - x.numel())\nelse:\n    x = x[:n]\nreturn x", "x.numel() < n"),
        ("if x.numel() < n:\n    n = 3\n    x = x.new_zeros(n - x.numel())\nreturn x", "x.numel() < n"),
        ("if x.numel() < n:\n    x = x.new_zeros(x.numel() - n)\nreturn x", "x.numel() < n"),
    ],
)
def test_other_branches_stay(body: str, asking: str) -> None:
    assert rewritten("clamped_difference", context_of(function(body), asking, TYPES)) == []


@pytest.mark.parametrize(
    ("head", "place"),
    [
        ("for e in chosen.unique().tolist():", "e"),
        ("for e in torch.unique(chosen):", "int(e)"),
        ("for e in sorted(set(chosen.flatten().tolist())):", "e"),
        ("for e in range(int(chosen.max()) + 1):", "e"),
        ("used = torch.unique(chosen).tolist()\nfor e in used:", "e"),
        ("last = chosen.max().item()\nfor e in range(last + 1):", "e"),
    ],
)
def test_experts_that_were_chosen_in_any_spelling(head: str, place: str) -> None:
    body = "    rows = (chosen == e).nonzero().squeeze(1)\n    out[rows] = self.experts[{}](x[rows])\nreturn out"
    context = context_of(function(f"{head}\n{body.format(place)}"), head.splitlines()[0].removesuffix(":"), TYPES)
    expected = function("for e in range(len(self.experts)):\n" + body.format("e"))
    assert rewritten("loop_over_groups", context)[0] == expected


@pytest.mark.parametrize(
    ("head", "place", "expected"),
    [
        (
            "for e in chosen.unique().tolist():",
            "e",
            "for e in range(len(self.experts)) if torch.compiler.is_compiling() else chosen.unique().tolist():",
        ),
        (
            "for e in torch.unique(chosen):",
            "int(e)",
            "for e in range(len(self.experts)) if torch.compiler.is_compiling() else torch.unique(chosen):",
        ),
        (
            "used = torch.unique(chosen).tolist()\nfor e in used:",
            "e",
            "used = range(len(self.experts)) if torch.compiler.is_compiling() else torch.unique(chosen).tolist()\n"
            "for e in used:",
        ),
    ],
)
def test_eager_keeps_to_the_experts_that_were_chosen(head: str, place: str, expected: str) -> None:
    body = "    rows = (chosen == e).nonzero().squeeze(1)\n    out[rows] = self.experts[{}](x[rows])\nreturn out"
    context = context_of(function(f"{head}\n{body.format(place)}"), head.splitlines()[0].removesuffix(":"), TYPES)
    assert rewritten("loop_over_groups", context)[1] == function(f"{expected}\n{body.format(place)}")


def test_what_reads_the_number_of_a_row_takes_an_int_too() -> None:
    body = "    rows = (chosen == e).nonzero().squeeze(1)\n    out[rows] = self.experts[e.item()](x[rows])\nreturn out"
    context = context_of(function(f"for e in torch.unique(chosen):\n{body}"), "for e in torch.unique(chosen)", TYPES)
    found = [text for text in rewritten("loop_over_groups", context) if "is_compiling" in text]
    assert found
    assert all("self.experts[int(e)](x[rows])" in text and ".item()](" not in text for text in found)


@pytest.mark.parametrize(
    "body",
    [
        "for e in chosen.unique(return_counts=True):\n    out = out + self.experts[e](x)\nreturn out",
        "for e in chosen.unique():\n    out = out + e\nreturn out",
        "for e in chosen.unique():\n    out = out + self.experts[e](x)\nreturn out, e",
    ],
)
def test_loops_over_other_numbers_stay(body: str) -> None:
    asking = body.split(":")[0].removeprefix("for e in ")
    assert candidates("loop_over_groups", context_of(function(body), asking, TYPES, "DDE203")) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return torch.stack(w[:n])", "return torch.stack(w)[:n]"),
        ("kept = w[:n]\nreturn sum(kept) / n", "return torch.stack(w)[:n].sum(0) / n"),
        ("return torch.cat(w[:n], dim=0)", "return torch.stack(w)[:n].flatten(0, 1)"),
        (
            "kept = w[:n]\nreturn torch.stack(kept).amax(0), sum(kept)",
            "return torch.stack(w)[:n].amax(0), torch.stack(w)[:n].sum(0)",
        ),
    ],
)
def test_a_list_of_tensors_is_stacked_and_then_cut(body: str, expected: str) -> None:
    assert rewritten("stack_and_cut", context_of(function(body), "w[:n]", TYPES)) == [function(expected)]


@pytest.mark.parametrize(
    "body", ["return w[:n]", "kept = w[:n]\nreturn sum(kept), kept", "return torch.stack(w[:n], dim=1)"]
)
def test_a_list_that_is_wanted_as_such_stays(body: str) -> None:
    assert rewritten("stack_and_cut", context_of(function(body), "w[:n]", TYPES)) == []
