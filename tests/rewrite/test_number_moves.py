"""Casts, lengths, maxima and implicit reads: what the text becomes, and where the moves stay silent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import COUNT, INTEGERS, MASK, SCALAR, TENSOR, candidates, context_of, rewritten

from ddelint.nouns.diagnostics import Claim, TypeFact

INDEX = TypeFact("tensor", "int64", ())
LOSSES = TypeFact("list", element=SCALAR, length=2, python_type="list")
FLAG = TypeFact("tensor", "bool", ())


def body(line: str, before: str = "") -> str:
    return f"import torch\n\n\ndef fn(x, t, m, n):\n{before}    {line}\n"


def changed(move: str, line: str, asking: str, types: dict[str, TypeFact], before: str = "") -> list[str]:
    """The line under `def` after each candidate."""
    texts = rewritten(move, context_of(body(line, before), asking, types))
    return [text.split("\n", 4)[4].removeprefix(before).strip() for text in texts]


@pytest.mark.parametrize(
    ("line", "asking", "types", "expected"),
    [
        ("y = int(t)", "int(t)", {"t": INDEX}, "y = t.item()"),
        ("y = int(t) + 1", "int(t)", {"t": INDEX}, "y = t.item() + 1"),
        ("y = int(x + t)", "int(x + t)", {"x": INDEX, "t": INDEX}, "y = (x + t).item()"),
        ("y = int(t)", "int(t)", {"t": SCALAR}, "y = t.long().item()"),
        ("y = int(m.any())", "int(m.any())", {"m": MASK}, "y = m.any().long().item()"),
        ("y = int(t.max())", "int(t.max())", {"t": INTEGERS}, "y = t.max().item()"),
        ("y = int(t.item())", "int(t.item())", {"t": INDEX}, "y = t.item()"),
        ("y = int(t.item())", "int(t.item())", {"t": SCALAR}, "y = torch.sym_int(t.item())"),
        ("y = int(t.item())", "int(t.item())", {}, "y = torch.sym_int(t.item())"),
        ("y = int(n)", "int(n)", {"n": COUNT}, "y = n"),
        ("y = float(t)", "float(t)", {"t": SCALAR}, "y = t.item()"),
        ("y = float(t)", "float(t)", {"t": INDEX}, "y = t.double().item()"),
        ("y = round(t)", "round(t)", {"t": SCALAR}, "y = torch.sym_int(t.round().item())"),
        ("y = round(t.item())", "round(t.item())", {"t": SCALAR}, "y = torch.sym_int(t.round().item())"),
        ("y = bool(t)", "bool(t)", {"t": FLAG}, "y = t.item()"),
        ("y = bool(t)", "bool(t)", {"t": INDEX}, "y = (t != 0).item()"),
        ("y = int(x.shape[-1] / 2)", "int(x.shape[-1] / 2)", {}, "y = x.shape[-1] // 2"),
        ("y = int((x.size(0) + 1) / 2)", "int((x.size(0) + 1) / 2)", {}, "y = (x.size(0) + 1) // 2"),
        ("y = int(x.shape[0])", "int(x.shape[0])", {}, "y = x.shape[0]"),
        ("y = int(x.shape[0] * 0.5)", "int(x.shape[0] * 0.5)", {}, "y = torch.sym_int(x.shape[0] * 0.5)"),
        ("y = [int(v) for v in t]", "int(v)", {"t": INTEGERS}, "y = t.tolist()"),
        ("y = list(map(int, t))", "map(int, t)", {"t": INTEGERS}, "y = t.tolist()"),
    ],
)
def test_a_cast_becomes_an_item(line: str, asking: str, types: dict[str, TypeFact], expected: str) -> None:
    assert expected in changed("item_instead_of_cast", line, asking, types)


@pytest.mark.parametrize(
    ("line", "asking", "types"),
    [
        ("y = int('3')", "int('3')", {}),
        ("y = int(n, 16)", "int(n, 16)", {}),
        ("y = int(n)", "int(n)", {"n": TypeFact("str", value="'3'")}),
        ("y = round(t, 2)", "round(t, 2)", {"t": SCALAR}),
        ("y = int(next(n))", "int(next(n))", {}),
    ],
)
def test_other_casts_stay(line: str, asking: str, types: dict[str, TypeFact]) -> None:
    assert changed("item_instead_of_cast", line, asking, types) == []


def test_a_cast_that_the_asking_line_only_uses_is_found() -> None:
    before = "    top = int(t.max())\n"
    texts = rewritten("item_instead_of_cast", context_of(body("y = x[:top]", before), "x[:top]", {"t": INTEGERS}))
    assert texts == [body("y = x[:top]", "    top = t.max().item()\n")]


def test_the_alias_of_torch_is_used() -> None:
    text = "import torch as th\n\n\ndef fn(t):\n    return int(t.item())\n"
    assert "th.sym_int(t.item())" in rewritten("item_instead_of_cast", context_of(text, "int(t.item())"))[0]


def test_comments_and_line_ends_around_a_cast_stay() -> None:
    text = "import torch\r\n\r\ndef fn(t):\r\n\treturn [  # sizes\r\n\t\tint(t),  # one\r\n\t]\r\n"
    assert rewritten("item_instead_of_cast", context_of(text, "int(t)", {"t": INDEX})) == [
        text.replace("int(t)", "t.item()")
    ]


@pytest.mark.parametrize(
    ("line", "asking", "types", "expected"),
    [
        ("y = len(t)", "len(t)", {"t": TENSOR}, ["y = t.shape[0]"]),
        ("y = len(x[m])", "len(x[m])", {"x": TENSOR, "m": MASK}, ["y = x[m].shape[0]"]),
        ("y = len(t) == 0", "len(t) == 0", {"t": TENSOR}, ["y = t.shape[0] == 0"]),
        ("y = len(t) / len(n)", "len(t)", {"t": TENSOR, "n": TypeFact("list")}, ["y = t.shape[0] / len(n)"]),
        ("y = len(n)", "len(n)", {"n": TypeFact("list", length=3)}, []),
        ("y = len(n)", "len(n)", {"n": TypeFact("dict", length=3)}, []),
        ("y = len('abc')", "len('abc')", {}, []),
    ],
)
def test_the_length_of_a_tensor_is_its_size(
    line: str, asking: str, types: dict[str, TypeFact], expected: list[str]
) -> None:
    assert changed("shape_instead_of_len", line, asking, types) == expected


OBJECT = TypeFact("other", python_type="made_here.Matches")


@pytest.mark.parametrize(
    ("own", "line", "expected"),
    [
        ("return self.left.shape[0]", "y = len(n) < 2", "y = n.left.shape[0] < 2"),
        ('"""Pairs."""\n        return self.left.size(0)', "y = len(n)", "y = n.left.size(0)"),
        ("return len(self.left)", "y = len(x.found)", "y = x.found.left.shape[0]"),
        ("return int(self.keep.sum())", "y = max(len(n), 1)", "y = max(n.__len__(), 1)"),
        ("return self.left.shape[0] * self.right.shape[1]", "y = len(n)", "y = n.left.shape[0] * n.right.shape[1]"),
        ("left = self.left\n        return left.shape[0]", "y = len(n)", "y = n.__len__()"),
        ("return SIZES[self]", "y = len(n)", "y = n.__len__()"),
        ("return self.left.numel()", "y = len(x.pop())", ""),
    ],
)
def test_the_length_of_an_object_is_what_it_returns(own: str, line: str, expected: str) -> None:
    text = f"class Matches:\n    def __len__(self):\n        {own}\n\n\ndef fn(x, n):\n    {line}\n"
    asking = line[line.index("len(") : line.index(")") + 1]
    found = rewritten(
        "shape_instead_of_len", context_of(text, asking, {"n": OBJECT, "x.found": OBJECT, "x.pop()": OBJECT})
    )
    assert [one.splitlines()[-1].strip() for one in found] == ([expected] if expected else [])


def test_the_length_of_an_object_of_another_file_is_asked_of_it() -> None:
    (found,) = rewritten("shape_instead_of_len", context_of("def fn(n):\n    return len(n)\n", "len(n)", {"n": OBJECT}))
    assert found.endswith("return n.__len__()\n")


@pytest.mark.parametrize(
    ("line", "asking", "types", "expected"),
    [
        ("y = max(n, 1)", "max(n, 1)", {"n": COUNT}, "y = torch.sym_max(n, 1)"),
        ("y = min(n, 1, x.shape[0])", "min(n", {"n": COUNT}, "y = torch.sym_min(torch.sym_min(n, 1), x.shape[0])"),
        ("y = max([n, 1])", "max([n, 1])", {"n": COUNT}, "y = torch.sym_max(n, 1)"),
        ("y = max(n)", "max(n)", {"n": TypeFact("list")}, "y = functools.reduce(torch.sym_max, n)"),
        ("y = max(t)", "max(t)", {"t": INTEGERS}, "y = t.max()"),
        ("y = max(ts)", "max(ts)", {"ts": LOSSES}, "y = torch.stack(list(ts)).max()"),
        ("y = min(t for t in ts)", "min(t for t in ts)", {"t": SCALAR}, "y = torch.stack([t for t in ts]).min()"),
        ("y = max([t * 2 for t in ts])", "max([", {"t": SCALAR}, "y = torch.stack([t * 2 for t in ts]).max()"),
        ("y = max(t, x)", "max(t, x)", {"t": SCALAR, "x": SCALAR}, "y = torch.maximum(t, x)"),
        ("y = max(t, 1)", "max(t, 1)", {"t": SCALAR}, "y = t.clamp(min=1)"),
        ("y = n if n > 1 else 1", "n > 1", {"n": COUNT}, "y = torch.sym_max(n, 1)"),
        ("y = 1 if n > 1 else n", "n > 1", {"n": COUNT}, "y = torch.sym_min(1, n)"),
        ("y = x[: n if n < 4 else 4]", "n < 4", {"n": COUNT}, "y = x[: torch.sym_min(n, 4)]"),
    ],
)
def test_comparisons_in_python_become_symbols(
    line: str, asking: str, types: dict[str, TypeFact], expected: str
) -> None:
    assert expected in changed("symbolic_minmax", line, asking, types)


def test_clamping_by_an_if() -> None:
    text = "import torch\n\n\ndef fn(n, k):\n    if n > k:\n        n = k\n    return n\n"
    assert rewritten("symbolic_minmax", context_of(text, "n > k", {"n": COUNT, "k": COUNT})) == [
        "import torch\n\n\ndef fn(n, k):\n    n = torch.sym_min(n, k)\n    return n\n"
    ]


def test_dividing_upwards() -> None:
    text = "import math\nimport torch\n\n\ndef fn(n):\n    return math.ceil((n + 1) / 2) * 3\n"
    assert "return -(-(n + 1) // 2) * 3" in rewritten("symbolic_minmax", context_of(text, "math.ceil", {"n": COUNT}))[0]


@pytest.mark.parametrize(
    "line", ["y = max(*n)", "y = max(n, key=abs)", "y = max(n, default=0)", "y = x if n > 1 else 1"]
)
def test_other_maxima_stay(line: str) -> None:
    assert changed("symbolic_minmax", line, line.removeprefix("y = "), {"n": COUNT}) == []


@pytest.mark.parametrize(
    ("line", "asking", "types", "expected"),
    [
        ("y = x.expand(-1, n)", "x.expand(-1, n)", {"x": TENSOR, "n": INDEX}, "y = x.expand(-1, n.item())"),
        ("y = x[:n]", "x[:n]", {"x": TENSOR, "n": INDEX}, "y = x[:n.item()]"),
        ("y = x[: n + 1]", "x[: n + 1]", {"x": TENSOR, "n": INDEX}, "y = x[: n.item() + 1]"),
        ("y = torch.zeros((n, 2))", "torch.zeros", {"n": INDEX}, "y = torch.zeros((n.item(), 2))"),
        ("y = torch.arange(m.sum())", "torch.arange", {"m": MASK}, "y = torch.arange(m.sum().item())"),
        ("h, w = t", "h, w = t", {"t": INTEGERS}, "h, w = t.tolist()"),
        (
            "y = x.new_zeros(n, n)",
            "x.new_zeros",
            {"x": TENSOR, "n": INDEX},
            "n_value = n.item()\n    y = x.new_zeros(n_value, n_value)",
        ),
    ],
)
def test_an_implicit_read_becomes_explicit(line: str, asking: str, types: dict[str, TypeFact], expected: str) -> None:
    assert expected in changed("explicit_item", line, asking, types)


def test_a_tensor_is_read_where_it_is_made() -> None:
    before = "    k = m.sum()\n"
    types = {"m": MASK, "k": INDEX, "x": TENSOR}
    texts = rewritten("explicit_item", context_of(body("y = x[:k]", before), "x[:k]", types))
    assert body("y = x[:k]", "    k = m.sum().item()\n") in texts


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("y = x + n", {"x": TENSOR, "n": INDEX}),
        ("y = x[:n]", {"x": TENSOR, "n": TypeFact("int", value="3")}),
        ("y = x[t]", {"x": TENSOR, "t": INTEGERS}),
        ("y = x.expand(-1, t)", {"x": TENSOR, "t": SCALAR}),
    ],
)
def test_tensors_in_their_place_are_left_alone(line: str, types: dict[str, TypeFact]) -> None:
    assert changed("explicit_item", line, line.removeprefix("y = "), types) == []


@pytest.mark.parametrize(
    ("move", "line", "asking", "expected"),
    [
        ("explicit_item", "y = alarms[grade] * 1", "alarms[grade]", ["y = alarms[torch.as_tensor(grade).item()] * 1"]),
        (
            "explicit_item",
            "y = x.new_zeros(grade, grade)",
            "x.new_zeros",
            ["grade_value = torch.as_tensor(grade).item()\n    y = x.new_zeros(grade_value, grade_value)"],
        ),
        ("explicit_item", "y = x[: grade + 1]", "x[: grade + 1]", ["y = x[: torch.as_tensor(grade).item() + 1]"]),
        ("item_instead_of_cast", "y = x[: int(grade)]", "int(grade)", ["y = x[: torch.as_tensor(grade).item()]"]),
    ],
)
def test_what_is_an_int_in_eager_and_a_tensor_while_compiling_is_read_as_either(
    move: str, line: str, asking: str, expected: list[str]
) -> None:
    import torch

    before = "    grade = 1 if m.sum() > 1 else 2\n"
    seen = {"x": TENSOR, "alarms": TENSOR, "m": MASK, "grade": INDEX}
    text = body(line, before).replace("def fn(", "def fn(alarms, ")
    found = context_of(text, asking, seen)
    plain, *_ = rewritten(move, found)
    assert "as_tensor" not in plain
    texts = rewritten(move, replace(found, types_in=lambda function: {"grade": TypeFact("int")}))
    assert texts[: len(expected)] == [text.replace(line, new) for new in expected]
    for drawn in (1, torch.tensor(2)):
        spelled = {"alarms": torch.arange(4.0), "x": torch.arange(4.0), "grade": drawn, "torch": torch}
        results = []
        for lines in (line, expected[0].replace("\n    ", "\n")):
            exec(lines, found_in := dict(spelled))
            results.append(found_in["y"])
        assert torch.equal(*results)


def test_what_was_an_int_in_the_original_and_is_a_tensor_by_now_is_read_as_a_tensor() -> None:
    text = body("y = x[: grade + 1]", "    grade = torch.where(m.sum() > 1, 1, 2)\n")
    found = context_of(text, "x[: grade + 1]", {"x": TENSOR, "m": MASK, "grade": INDEX})
    assert rewritten("explicit_item", replace(found, types_in=lambda function: {"grade": TypeFact("int")})) == [
        text.replace("grade + 1", "grade.item() + 1"),
        text.replace("1, 2)", "1, 2).item()"),
    ]


def test_claims_say_what_is_certain() -> None:
    context = context_of(body("y = int(n / t)"), "int(n / t)", {"n": COUNT, "t": COUNT})
    claims = [candidate.claim for candidate in candidates("item_instead_of_cast", context)]
    assert claims == [Claim.RESTRUCTURED, Claim.EQUIVALENT]


def test_a_maximum_over_several_lines_keeps_its_comments() -> None:
    text = "import torch\n\n\ndef fn(n):\n    return max(\n        n,  # rows\n        1,  # at least one\n    )\n"
    assert rewritten("symbolic_minmax", context_of(text, "max(\n", {"n": COUNT})) == [
        text.replace("max(", "torch.sym_max(")
    ]


def test_a_fix_that_would_lose_a_comment_is_not_offered() -> None:
    text = "import torch\n\n\ndef fn(t):\n    return int(  # the top\n        t.max()\n    )\n"
    assert rewritten("item_instead_of_cast", context_of(text, "int(", {"t": INTEGERS})) == []
    kept = text.replace("int(  # the top", "int(")
    assert rewritten("item_instead_of_cast", context_of(kept, "int(", {"t": INTEGERS})) == [
        "import torch\n\n\ndef fn(t):\n    return t.max().item()\n"
    ]
