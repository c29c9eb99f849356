"""outline: the smallest region that cannot be traced becomes a custom operator."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import replace

import pytest
from control_flow import COUNT, INTEGERS, SCALAR, TENSOR, candidates, context_of, load

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context, NotOffered

PIECES = TypeFact("list", element=TENSOR, length=2, python_type="list")
TYPES = {
    "x": TENSOR,
    "y": TENSOR,
    "out": TENSOR,
    "t": INTEGERS,
    "n": COUNT,
    "total": SCALAR,
    "self.scale": TypeFact("float", value="0.5", python_type="float"),
    "pieces": TypeFact("tuple", element=TENSOR, length=None, python_type="tuple"),
}


def context(body: str, asking: str, header: str = "def fn(x, t, n):") -> Context:
    text = f"import torch\n\n\n{header}\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    return context_of(text, asking, TYPES)


def outlined(found: Context) -> list[str]:
    """The functions that the candidates make of the region, without decorators' fakes and gradients."""
    texts = []
    for candidate in candidates("outline", found):
        assert candidate.last_resort
        text = found.site.source.apply(candidate.edits)
        tree = ast.parse(text)
        texts.append(ast.unparse(next(node for node in tree.body if isinstance(node, ast.FunctionDef))))
    return texts


def reason(found: Context) -> str:
    with pytest.raises(NotOffered) as error:
        candidates("outline", found)
    return str(error.value)


def test_a_region_grows_until_tensors_come_out() -> None:
    found = context(
        """
        y = x + 1
        pieces = list(y.split(t.tolist()))
        out = torch.stack([p.sum() for p in pieces])
        return out * 2
        """,
        "list(y.split(t.tolist()))",
    )
    assert outlined(found)[0] == (
        "def _fn_out(y: torch.Tensor, t: torch.Tensor):\n    pieces = list(y.split(t.tolist()))\n"
        "    out = torch.stack([p.sum() for p in pieces])\n    return out"
    )


def test_a_list_that_is_filled_is_made_inside() -> None:
    found = context(
        """
        pieces = []
        for i in t.tolist():
            pieces.append(x[i] * 2)
        out = torch.stack(pieces)
        return out
        """,
        "t.tolist()",
    )
    text = outlined(found)[0]
    assert text.startswith("def _fn_out(t: torch.Tensor, x: torch.Tensor):\n    pieces = []\n")
    assert text.endswith("    return out")


def test_attributes_are_handed_over_as_parameters() -> None:
    body = "while (x > t.sum()).any():\n    x = x * self.scale\nreturn x\n"
    found = context(body, "(x > t.sum()).any()", "def fn(self, x, t):")
    assert outlined(found) == [
        "def _fn_x(x: torch.Tensor, t: torch.Tensor, scale: float):\n"
        "    while (x > t.sum()).any():\n        x = x * scale\n    return x"
    ]


def test_what_the_region_changes_is_copied_in_the_operator_only() -> None:
    found = context("out = x.clone()\nfor i in t.tolist():\n    out[i] = 0\nreturn out\n", "t.tolist()")
    (candidate,) = [c for c in candidates("outline", found) if "out[i]" in c.edits[0].content]
    text = candidate.edits[0].content
    assert "    return _fn_out(t, out.clone())" in text
    assert "def _fn_out(t: torch.Tensor, out: torch.Tensor):\n    for i in t.tolist():\n" in text


@pytest.mark.parametrize(
    ("body", "asking", "why"),
    [
        ("k = t.sum().item()\nreturn {f'after {k}': x}\n", "f'after {k}'", "cannot come out of an operator"),
        (
            "for i in t.tolist():\n    x = x + torch.randn(4)\nreturn x\n",
            "t.tolist()",
            "its gradient would draw others",
        ),
        ("for i in t.tolist():\n    self.last = x\nreturn x\n", "t.tolist()", "`self.last` cannot be handed"),
        ("for i in t.tolist():\n    yield x\n", "t.tolist()", "more than a computation"),
    ],
)
def test_why_there_is_none(body: str, asking: str, why: str) -> None:
    assert why in reason(context(body, asking, "def fn(self, x, t):"))


def test_an_operator_that_draws_numbers_says_so() -> None:
    body = """
        pieces = []
        for k in t.tolist():
            pieces.append(torch.randperm(9)[:k])
        out = torch.cat(pieces)
        return out
        """
    types = TYPES | {"out": INTEGERS}
    text = f"import torch\n\n\ndef fn(t):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    found = context_of(text, "t.tolist()", types)
    (candidate,) = [c for c in candidates("outline", found) if "randperm" in c.edits[0].content]
    assert "mutates_args=(), tags=(torch.Tag.nondeterministic_seeded,))" in candidate.edits[0].content


def test_a_name_that_is_a_list_first_and_a_tensor_later() -> None:
    body = """
        out = []
        for k in t.tolist():
            out.append(x[:k].sum())
        out = torch.stack(out)
        return out * 2
        """
    text = f"import torch\n\n\ndef fn(x, t):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    types = TYPES | {"out": TypeFact("other"), "out@5": TypeFact("list", length=0), "out@8": TENSOR}
    assert outlined(context_of(text, "t.tolist()", types))[0].endswith("    out = torch.stack(out)\n    return out")


SOLVER = """
import torch


def fn(x, w, t):
    for k in t.tolist():
        x = x * w + k
        if x.abs().max() > 40:
            break
    return x * 2, w
"""


@pytest.mark.parametrize(
    ("steps", "given_back"),
    [
        (["self.steps += x.sum()"], True),
        (["self.steps *= 2", "self.steps += x.sum()"], True),
        (["self.steps += x.sum()", "self.steps = self.steps * 2"], False),
    ],
)
def test_an_attribute_that_is_changed_by_an_operator_keeps_its_tensor(steps: list[str], given_back: bool) -> None:
    """`self.steps += 1` changes the buffer itself: giving the attribute another tensor is something else."""
    body = "".join(f"        {step}\n" for step in steps)
    text = f"import torch\n\n\ndef update(self, x):\n    if x.sum() > 1:\n{body}    return x\n"
    found = context_of(text, "x.sum() > 1", TYPES | {"self.steps": SCALAR})
    new = found.site.source.apply(candidates("outline", found)[0].edits)
    assert ("steps.copy_(steps_after)" in new) is given_back
    assert ("    self.steps = (" in new) is not given_back


def test_gradients_flow_through_the_operator() -> None:
    import torch

    facts = {"x": TENSOR, "w": TENSOR, "t": INTEGERS}
    found = context_of(SOLVER, "t.tolist()", facts)
    candidate = next(c for c in candidates("outline", found) if "for k in" in c.edits[0].content)
    text = found.site.source.apply(candidate.edits)
    fake = "@_fn_x_op.register_fake\ndef _(t, x, w):\n    return x.new_empty(x.shape)\n\n\n"
    text = text.replace(
        '@torch.library.custom_op("model::fn_x_backward',
        fake + '@torch.library.custom_op("model::fn_x_backward',
    )
    eager, program = load(SOLVER), load(text)
    compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
    for turns in ([1, 2], [7, 9], []):
        gradients = []
        for function in (eager, program, compiled):
            x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)
            result, _ = function(x, w, torch.tensor(turns, dtype=torch.int64))
            result.sum().backward()
            gradients.append((result.tolist(), x.grad.tolist(), w.grad.tolist() if w.grad is not None else [0.0, 0.0]))
        assert gradients[0] == gradients[1] == gradients[2]


@pytest.mark.parametrize(
    ("value", "tagged"),
    [
        ("mask_of(t)", True),
        ("np.random.choice(t, 3)", True),
        ("list(t.tolist())", False),
        ("t.unique().tolist()", False),
    ],
)
def test_what_a_helper_may_draw_is_drawn_once(value: str, tagged: bool) -> None:
    text = f"import numpy as np\nimport torch\n\n\ndef fn(t):\n    ids = torch.tensor({value})\n    return ids * 2\n"
    found = context_of(text, value, {"t": INTEGERS, "ids": INTEGERS})
    assert {"nondeterministic_seeded" in c.edits[0].content for c in candidates("outline", found)} == {tagged}


LAID_OUT_OTHERWISE = """
import torch


def fn(x, t):
    for k in t.tolist():
        x = x.mT + k
    return x
"""


def test_what_comes_out_lies_in_memory_as_the_fake_kernel_says() -> None:
    import torch

    found = context_of(LAID_OUT_OTHERWISE, "t.tolist()", {"x": replace(TENSOR, requires_grad=False), "t": INTEGERS})
    candidate = next(c for c in candidates("outline", found) if "for k in" in c.edits[0].content)
    program = load(found.site.source.apply(candidate.edits))
    x, t = torch.ones(2, 3), torch.tensor([1])
    assert not program(x, t).is_contiguous()
    assert program.__globals__["_fn_x_op"](t, x).is_contiguous()


def test_a_name_that_both_arms_give_another_kind_has_that_kind() -> None:
    body = """
        if n < 0:
            limit = t.max()
        else:
            limit = t.min()
        rows = []
        for k in t.tolist():
            rows.append(x[:k].sum() * limit)
        total = torch.stack(rows)
        return total * 2
        """
    text = f"import torch\n\n\ndef fn(x, t, n, limit):\n{textwrap.indent(textwrap.dedent(body).strip(), '    ')}\n"
    limits = {"limit": TypeFact("other"), "limit@6": replace(SCALAR, dtype="int64")}
    found = context_of(text, "t.tolist()", TYPES | limits | {"total": TENSOR})
    assert outlined(found)[0].startswith(
        "def _fn_total(t: torch.Tensor, x: torch.Tensor, limit: torch.Tensor):\n    rows = []"
    )


def test_an_attribute_and_a_name_that_are_called_alike_are_two_operands() -> None:
    body = "while (x > t.sum()).any():\n    x = x * self.x + x\nreturn x\n"
    types = {**TYPES, "self.x": TYPES["x"]}
    text = f"import torch\n\n\ndef fn(self, x, t):\n{textwrap.indent(body, '    ')}"
    (function, *_) = outlined(context_of(text, "(x > t.sum()).any()", types))
    arguments = ast.parse(function).body[0].args.args  # type: ignore[attr-defined]
    assert sorted(argument.arg for argument in arguments) == ["t", "x", "x_"]
    assert "x * x_ + x" in function
