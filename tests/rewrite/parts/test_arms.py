"""What one arm of a branch computes: its values, what has to stand before them, and what it may not do."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.arms import Arm, ArmReader, NotMergeable, Value
from ddelint.rewrite.parts.truths import Truths
from ddelint.rewrite.writing.rewrites import Expr
from ddelint.rewrite.writing.writer import Writer

TYPES = {"x": TENSOR, "y": TENSOR, "t": INTEGERS, "n": COUNT, "mask": MASK, "d": TypeFact("dict", length=2)}


def read(body: str, local: frozenset[str] = frozenset()) -> tuple[Arm, Writer]:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    context = context_of(
        f"import torch\n\n\ndef fn(x, y, t, n):\n    if t.any():\n{lines}    return x\n", "t.any()", TYPES
    )
    statement, write = context.site.statement, context.write
    assert isinstance(statement, ast.If)

    def choose(test: Expr, first: Value, second: Value) -> Expr:
        return write.expr("choose({}, {}, {})", test, first.built, second.built)

    def truths(names: Mapping[str, str]) -> Truths:
        return Truths(context, names=names)

    return ArmReader(context, choose, truths, local=local).read(statement.body, "then"), write


def shown(arm: Arm, write: Writer) -> tuple[list[str], dict[str, str]]:
    import libcst

    prelude = [libcst.Module([]).code_for_node(line).strip() for line in arm.prelude]
    return prelude, {f"{t.text} {t.method}".strip(): write.code(v.built) for t, v in arm.values.items()}


@pytest.mark.parametrize(
    ("body", "prelude", "values"),
    [
        ("y = x * 2", [], {"y": "x * 2"}),
        ("y: torch.Tensor = x * 2", [], {"y": "x * 2"}),
        ("y = x * 2\nx = y + n", ["y_then = x * 2"], {"y": "y_then", "x": "y_then + n"}),
        ("x, y = y, x", [], {"x": "y", "y": "x"}),
        ("x, y = f(t)", ["x_then, y_then = f(t)"], {"x": "x_then", "y": "y_then"}),
        ("y = x\ny += n if n > 2 else 3", [], {"y": "x + (n if n > 2 else 3)"}),
        ("x[0] = 1\nself.y = x.sum()", None, {}),
        ("self.last = y\nx[t > 0] = 1", [], {"self.last": "y", "x[t > 0]": "1"}),
        ("x = x.clone()\nx[0] += n", ["x_then = x.clone()", "x_then[0] += n"], {"x": "x_then"}),
        ("x = x.clone()\nx.add_(x)", ["x_then = x.clone()", "x_then.add_(x_then)"], {"x": "x_then"}),
        ("self.seen.add_(1, alpha=n)", [], {"self.seen copy_": "self.seen.add(1, alpha=n)"}),
        ("self.m.mul_(n)\nself.m.add_(x)", ["m_then = self.m.mul(n)"], {"self.m copy_": "m_then.add(x)"}),
        ("self.m.mul_(n)\ny = self.m", ["m_then = self.m.mul(n)"], {"self.m copy_": "m_then", "y": "m_then"}),
        ("self.k += 1\ny = self.k * 2", ["k_then = self.k + 1"], {"self.k": "k_then", "y": "k_then * 2"}),
        ("self.k = n\ny = self.layer(x)", None, {}),
        ("d['k'] = n\ny = d['k'] + d['other']", ["k_then = n"], {"d['k']": "k_then", "y": "k_then + d['other']"}),
        ("d['k'] = n\nd['k'] += x\nd['m'] = y", ["k_then = n"], {"d['k']": "k_then + x", "d['m']": "y"}),
        ("d['k'] = n\ny = f(d)", None, {}),
        ("d['k'] = n\ny = sum(v for v in d.values())", None, {}),
        ("t['k'] = n\ny = t['k']", None, {}),
        ("self.k = n\ny = f(x, self)", None, {}),
        ("x.zero_()\ny.fill_(n)", [], {"x copy_": "0", "y copy_": "n"}),
        ("rows.append(x)", [], {"rows append": "x"}),
        ("if t.sum() > 2:\n    y = x\nelse:\n    y += 1", [], {"y": "choose(t.sum() > 2, x, y + 1)"}),
        ("x = t\nif x.any():\n    y = x", ["x_then = t"], {"x": "x_then", "y": "choose(x_then.any(), x_then, y)"}),
        ("y = foo(\n    x,  # first\n    n,\n)", [], {"y": "foo( x, # first n, )"}),
    ],
)  # fmt: skip
def test_values(body: str, prelude: list[str] | None, values: dict[str, str]) -> None:
    if prelude is None:
        with pytest.raises(NotMergeable, match="read again"):
            read(body)
        return
    assert shown(*read(body)) == (prelude, values)


def test_names_of_the_arm_only_keep_their_names() -> None:
    arm, write = read("z = x + 1\nz *= 2\ny = z", frozenset({"z"}))
    assert shown(arm, write) == (["z = x + 1", "z = z * 2"], {"y": "z"})


def test_what_is_returned() -> None:
    arm, write = read("if t.sum() > 2:\n    return x, n\nelse:\n    return (y, n)")
    assert arm.structure.made_by == "("
    assert [write.code(value.built) for value in arm.returned or ()] == [
        "choose(t.sum() > 2, x, y)",
        "choose(t.sum() > 2, n, n)",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "print(x)",
        "y = x.add_(1)",
        "y = torch.rand(3)",
        "y = None",
        "y = [x, x]",
        "return (*y, x)",
        "return x\ny = x",
        "y //= 2",
        "x[0] //= 2",
        "y.append(x)\ny.append(x)",
        "x[0] = 1\nx[0] = 2",
        "y = x + 1\nself.rows[y] = 1",
        "x.copy_(y, non_blocking=True)",
        "x.unknown_()",
        "(a, b), c = f(t)",
        "for i in range(3):\n    y = x",
        "if t.sum() > 2:\n    x[0] = 1\ny = x",
        "x[0] = 2\nif t.sum() > 2:\n    x[0] = 1",
        "if t.sum() > 2:\n    y.append(x)",
        "if t.sum() > 2:\n    return x\nelse:\n    y = x",
        "if t.sum() > 2:\n    return x\nelse:\n    return x, y",
        "if (m := t.sum()) > 2:\n    y = x",
    ],
)
def test_what_does_more_than_compute_is_no_arm(body: str) -> None:
    with pytest.raises(NotMergeable):
        read(body)
