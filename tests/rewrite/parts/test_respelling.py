"""Statements in other words: what the moves are shown, and what comes of it in the text that there is."""

from __future__ import annotations

import ast

import pytest
from control_flow import INTEGERS, SCALAR, TENSOR, candidates, context_of

from ddelint.rewrite.parts.respelling import respelled

TYPES = {"x": TENSOR, "y": TENSOR, "mode": INTEGERS, "total": SCALAR}


def said(body: str, asking: str) -> str:
    """The function's body as the moves see it; empty where it has no other words."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    context = context_of(f"def fn(x, y, mode, total):\n{lines}", asking, TYPES)
    found = [each.context.site for each in respelled(context)]
    if not found:
        return ""
    (site,) = found
    assert isinstance(site.node, ast.expr)
    assert site.source.text.startswith("def fn(x, y, mode, total):\n")
    return "\n".join(line[4:] for line in site.source.text.splitlines()[1:]) + f"\n? {ast.unparse(site.node)}"


@pytest.mark.parametrize(
    ("body", "asking", "expected"),
    [
        (
            "match mode.item():\n    case 0:  # none\n        y = x\n    case 1 | 2 if y.any():\n        y = -x\n"
            "    case _:\n        y = x + 1\nreturn y",
            "0",
            "# none\nif mode.item() == 0:\n    y = x\nelif (mode.item() == 1 or mode.item() == 2) and y.any():\n"
            "    y = -x\nelse:\n    y = x + 1\nreturn y\n? mode.item() == 0",
        ),
        (
            "match bool(x.any()):\n    case True:\n        return x\n    case False:\n        return y",
            "True",
            "if bool(x.any()):\n    return x\nelif not bool(x.any()):\n    return y\n? bool(x.any())",
        ),
        (
            "match int(total):\n    case 0:\n        y = x\n    case other:\n        y = x * other\nreturn y",
            "0",
            "if int(total) == 0:\n    y = x\nelse:\n    other = int(total)\n    y = x * other\nreturn y\n"
            "? int(total) == 0",
        ),
        (
            "match int(total):\n    case 0:\n        y = x\n    case n if n > 3:\n        y = x * n\nreturn y",
            "0",
            "",
        ),
        (
            "return x / (n if (n := mode.sum().item()) > 0 else 1)",
            "(n := mode.sum().item()) > 0",
            "n = mode.sum().item()\nreturn x / (n if n > 0 else 1)\n? n > 0",
        ),
        (
            "if (top := x.max()) > 3 and y.any():\n    y = y * top\nreturn y",
            "(top := x.max()) > 3 and y.any()",
            "top = x.max()\nif top > 3 and y.any():\n    y = y * top\nreturn y\n? top > 3 and y.any()",
        ),
        (
            "if len(x):\n    y = y + y\nreturn y",
            "len(x)",
            "if x.shape[0] > 0:\n    y = y + y\nreturn y\n? x.shape[0] > 0",
        ),
        (
            "y = y if not len(x * 2) else x * 2\nreturn y",
            "len(x * 2)",
            "y = y if (x * 2).shape[0] == 0 else x * 2\nreturn y\n? (x * 2).shape[0] == 0",
        ),
        ("if len([x, y]):\n    y = x + y\nreturn y", "len([x, y])", ""),
        (
            "if not math.isfinite(total.item()):\n    y = x\nreturn y",
            "math.isfinite(total.item())",
            "if not torch.isfinite(total):\n    y = x\nreturn y\n? not torch.isfinite(total)",
        ),
        (
            "return x if np.isnan(float(total)) or math.isinf(total) else y",
            "np.isnan(float(total)) or math.isinf(total)",
            "return x if torch.isnan(total) or torch.isinf(total) else y\n? torch.isnan(total) or torch.isinf(total)",
        ),
        (
            "if isnan(float(total)):\n    y = x\nreturn y",
            "isnan(float(total))",
            "if torch.isnan(total):\n    y = x\nreturn y\n? torch.isnan(total)",
        ),
        ("if math.isnan(1 / 3):\n    y = x\nreturn y", "math.isnan(1 / 3)", ""),
        (
            "y = x / n if (n := mode.sum().item()) else y\nreturn y",
            "n := mode.sum().item()",
            "n = mode.sum().item()\ny = x / n if n else y\nreturn y\n? n",
        ),
        (
            "if n := mode.sum().item():\n    y = x / n\nreturn y",
            "n := mode.sum().item()",
            "n = mode.sum().item()\nif n:\n    y = x / n\nreturn y\n? n",
        ),
        (
            "y = x[: (n := int(total))] if total > 2 else x",
            "total > 2",
            "",
        ),
        ("if y.any() and (top := x.max()) > 3:\n    y = y * top\nreturn y", "y.any() and (top := x.max()) > 3", ""),
        ("match mode.tolist():\n    case [first, *_]:\n        return x[first]\nreturn x", "first", ""),
        (
            "for i in range(3):\n    if i > 0 and total > i:\n        y[i] = 1\nreturn y",
            "total > i",
            "for i in range(3):\n    if i > 0:\n        if total > i:\n            y[i] = 1\nreturn y\n? total > i",
        ),
        (
            "if mode is not None and x.ndim > 1 and y.any():\n    y = y + x\nreturn y",
            "y.any()",
            "if mode is not None and x.ndim > 1:\n    if y.any():\n        y = y + x\nreturn y\n? y.any()",
        ),
        ("if x.ndim > 1 and y.any():\n    y = x\nelse:\n    y = -x\nreturn y", "y.any()", ""),
        ("if x.ndim > 1 or y.any():\n    y = x\nreturn y", "y.any()", ""),
        ("if y.any() and x.ndim > 1:\n    y = x\nreturn y", "y.any()", ""),
        ("while (n := x.sum()) > 0:\n    x = x - n\nreturn x", "(n := x.sum()) > 0", ""),
    ],
)
def test_what_the_moves_are_shown(body: str, asking: str, expected: str) -> None:
    assert said(body, asking) == expected


def test_what_they_make_of_it_changes_the_text_that_there_is() -> None:
    cases = "        case 0:\n            y = x\n        case _:\n            y = -x\n"
    text = f"def fn(x, mode):\n    match mode.sum():\n{cases}    return y\n"
    (respelling,) = respelled(context_of(text, "0", TYPES))
    first = candidates("where_merge", respelling.context)[0]
    offered = respelling.said(first)
    assert offered is not None
    new = respelling.before.site.source.apply(offered.edits)
    assert new == "def fn(x, mode):\n    y = torch.where(mode.sum() == 0, x, -x)\n    return y\n"
    assert offered.is_never_safe  # which case an input takes is not recorded


def test_what_is_shown_is_the_test_not_the_arm_that_reads_it_first() -> None:
    text = "def fn(x, y, mode):\n    return x / n if (n := mode.sum().item()) else y\n"
    (respelling,) = respelled(context_of(text, "n := mode.sum().item()", TYPES))
    node = respelling.context.site.node
    assert isinstance(node, ast.Name)
    assert isinstance(respelling.context.site.source.parents[node], ast.IfExp)


def test_a_name_before_the_test_leaves_the_decision_what_it_was() -> None:
    text = "def fn(x, total):\n    if (top := x.max()) > 3:\n        x = x * top\n    return x\n"
    context = context_of(text, "(top := x.max()) > 3", TYPES)
    (respelling,) = respelled(context)
    offered = [respelling.said(candidate) for candidate in candidates("where_merge", respelling.context)]
    assert offered
    for one in offered:
        assert one is not None
        assert one.decisions == (context.site.span,)
        assert not one.doubt
