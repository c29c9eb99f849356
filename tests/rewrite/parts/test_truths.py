"""Tests said as tensors of one boolean: what was built answers as the test does."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

import pytest
from control_flow import COUNT, MASK, SCALAR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.truths import NotAPredicate, Truths

INTEGER = TypeFact("tensor", "int64", ())
FLAGS = TypeFact("list", length=2, element=TypeFact("symbool"))
VECTOR = TypeFact("tensor", "int64", ("u0",))
ROWS = TypeFact("tensor", "int64", ("u0", "2"))
NUMBERS = {"s": SCALAR, "t": INTEGER, "mask": MASK, "n": COUNT, "flag": TypeFact("str"), "flags": FLAGS}
READ = {"level": TypeFact("symfloat"), "sure": TypeFact("symbool")}
TYPES = {"v": VECTOR, "r": ROWS, **READ, **NUMBERS}


def built(test: str, names: Mapping[str, str] | None = None) -> str:
    head = f"import torch\n\n\ndef fn({', '.join(TYPES)}, others):\n"
    text = f"{head}    if {test}:\n        s = s + 1\n    return s\n"
    context = context_of(text, f"if {test}:", TYPES)
    statement = context.site.statement
    assert isinstance(statement, ast.If)
    truths = Truths(context, names=names or {})
    return truths.write.code(truths.of(statement.test))


def answers_alike(predicate: str, test: str, values: dict[str, Any]) -> bool:
    """Whether a predicate is a tensor of one bool, and says what its test says."""
    found = eval(predicate, values)
    is_one_bool = (str(found.dtype), found.shape) == ("torch.bool", ())
    return is_one_bool and bool(found) is bool(eval(test, values))


TESTS = [
    "s > 1", "not s > 1", "s > 1 and t < 3", "not (s > 1 or not t == 2)", "s", "not t", "1 < t <= 3", "0 <= n < t",
    "t.item() > 2", "int(t) > 2", "int(mask.sum()) != n",
    "n > 2", "n", "bool(t) or n == 0", "mask.any()", "not mask.all() and s > 0", "torch.equal(s, t)",
    "any(p > 1 for p in (s, t))", "not all([s > 1, t < 2, n > 0])", "all(p < n for p in (s, t)) or mask.any()",
    "any(len(mask[: p + 1]) > n for p in range(3))", "torch.allclose(s, s + 1e-9) or t > n",
    "s + t > 2 and n", "mask.any().item()", "t.item() < 2 < n",
    "s.item() > 1", "float(s) <= 0.5 or n", "0 < s.sum().item()", "s.item() > 1.1", "int(s) >= 2",
    "s in (1, 2)", "t not in (0, 3)", "0 in (n, t)", "len(mask[:n]) == 0 or len(mask) < n",
    "any(flags)", "not all(flags)",
    "sure", "not sure or n > 2", "sure and mask.any()",
    "level > 1.1", "0.3 <= level < n", "not level * 2 > 1.1 or t > 2", "level < s.item()", "level != 1.1 and n",
]  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
def test_a_predicate_answers_as_its_test(test: str) -> None:
    import torch

    predicate = built(test)
    for number in range(24):
        torch.manual_seed(number)
        t, n = torch.randint(0, 4, ()), number % 5
        values = {"s": torch.randint(0, 4, ()).float(), "t": t, "mask": torch.rand(3) > 0.5, "n": n, "torch": torch}
        values["sure"] = number % 3 == 1
        values["level"] = (0.1, 0.3, 0.55, 1.1, 2.5)[number % 5]
        values["flags"] = [number % 2 > 0, number % 3 > 0]
        values["s"] = values["s"] if number % 6 else values["t"].float()
        if "equal" in test or "allclose" in test:
            values["t"] = values["t"].float()
        assert answers_alike(predicate, test, values)


def test_a_flag_of_run_time_is_asked_as_a_number() -> None:
    """Inductor fills a tensor with no `or` of tests, and does not have the flag in the backward pass."""
    assert built("sure") == "torch.full((), torch.sym_ite(sure, 1, 0), dtype=torch.bool)"
    assert "sym_ite" not in built("n > 2 or n == 0")


@pytest.mark.parametrize("test", ["level > 1.1", "level * 2 <= 1.1", "0.3 < level"])
def test_a_float_that_was_read_is_asked_as_a_tensor(test: str) -> None:
    """In the backward pass Inductor has the tensor, and not the float."""
    assert ", dtype=torch.float64)" in built(test)
    assert "torch.bool" not in built(test)


@pytest.mark.parametrize(
    "test", ["torch.equal(s, t)", "not torch.equal(t, s)", "torch.equal(s, t) or n > 3", "torch.equal(t, s) and n > 0"]
)
@pytest.mark.parametrize("shapes", [((4,), (1,)), ((4,), (3,)), ((0,), (1,)), ((2, 3), (3,)), ((0,), (0,))])
def test_tensors_of_other_shapes_are_not_equal(test: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    import torch

    for n in (0, 2, 4):
        values = {"s": torch.ones(shapes[0]), "t": torch.ones(shapes[1]), "n": n, "torch": torch}
        assert bool(eval(built(test), values)) is bool(eval(test, values))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("s.item() > 1", "s > 1"),
        ("float(s) <= 0.5", "s <= 0.5"),
        ("0 != s.sum().item()", "0 != s.sum()"),
        ("s.item() > 0.1", "s.double() > 0.1"),
        ("s.item() < 1e6", "s.double() < 1e6"),
        ("s.sum().item() < s.item() * 0.3", "s.sum().double() < s.item() * 0.3"),
        ("int(s) > 1", "torch.full((), int(s) > 1, dtype=torch.bool)"),
    ],
)
def test_a_float_that_is_read_is_compared_as_a_tensor_in_double_precision_where_need_be(
    test: str, expected: str
) -> None:
    assert built(test) == expected


def test_what_is_negated_twice_stays_as_it_is() -> None:
    assert built("not (not mask.any())") == "mask.any()"


def test_names_are_renamed_where_they_are_read() -> None:
    assert built("s > 1 and s.sum() < n", {"s": "kept"}) == "(kept > 1) & (kept.sum() < n)"


@pytest.mark.parametrize("test", ["flag", "flag is None", "s in (1, n)", "flag == 'a' and s > 1", "(m := s)"])
def test_what_no_tensor_says(test: str) -> None:
    with pytest.raises(NotAPredicate):
        built(test)


COUNTED = [
    "v.numel() and v[0] == 1", "len(v) > 0 and v[-1] > 1", "v.shape[0] == 0 or v.max() < 3", "not (len(v) and v[0])",
    "len(v) > 1 and v[1] > v[0]", "v.size(0) != 0 and (v[0] == 1 or v.min() == 2) and n", "n > 2 or len(v) and v[0]",
    "not v.numel() or v[0] < n or v[-1] == 2", "len(v) >= 2 and v[-2] == v[0]", "not len(r) or r[0, 1] > 1",
    "len(v) > 1 and v.max() < 0", "v.numel() > 1 and v.max() < 0", "r.numel() > 1 and r.max() < 0",
    "len(v) * len(r) > 1 and v.max() < 0", "(len(v) > 0 and n < 5) and v.max() < 0",
    "len(v) > 0 and len(v) > 1 and v[1] < 0",
]  # fmt: skip


@pytest.mark.parametrize("test", COUNTED)
def test_what_is_asked_behind_a_count_raises_for_nothing_neither(test: str) -> None:
    import torch

    predicate = built(test)
    for number in range(24):
        torch.manual_seed(number)
        v = torch.randint(0, 4, (number % 4,)) - number % 3 * 2
        values = {"v": v, "r": torch.stack([v, v.flip(0)], 1), "n": number % 5, "torch": torch}
        assert answers_alike(predicate, test, values)


def test_elements_that_no_count_stands_before_are_read_as_they_are() -> None:
    assert built("v[0] == 1 and v.numel()").startswith("(v[0] == 1) &")
    assert "v.new_zeros(1), v])[-1] > 1" in built("len(v) and v[-1] > 1")
    assert "& (v[2] > 1)" in built("len(v) > 1 and v[2] > 1")
    assert built("len(others) > 0 and others[0] == t").endswith("(others[0] == t)")  # of which nothing says what it is


WHOLE = [
    ("int64", "t.item() > 1e9", 1_000_000_001), ("int64", "1e9 < int(t)", 1_000_000_001),
    ("int64", "t.item() == 16777217.0", 16_777_216), ("int64", "t.item() > 0.5", 1),
    ("int64", "t.item() >= 2.9999999999", 3),
    ("int64", "t.item() > wide", 1_000_000_001), ("uint8", "t.item() > 300", 100), ("uint8", "t.item() > -1", 100),
    ("uint8", "int(t) < high", 100), ("int8", "t.item() > 200", 100), ("int32", "t.item() < 3_000_000_000", 5),
    ("uint8", "t.item() == 44", 44), ("int16", "high != t.item()", 44),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "test", "value"), WHOLE)
def test_a_whole_number_that_is_read_is_compared_as_python_does(dtype: str, test: str, value: int) -> None:
    import torch

    types = {"t": TypeFact("tensor", dtype, ()), "wide": TypeFact("float"), "high": TypeFact("int")}
    text = f"import torch\n\n\ndef fn(t, wide, high, s):\n    if {test}:\n        s = s + 1\n    return s\n"
    context = context_of(text, f"if {test}:", types)
    assert isinstance(context.site.statement, ast.If)
    truths = Truths(context)
    predicate = truths.write.code(truths.of(context.site.statement.test))
    assert "torch.full(" not in predicate
    values = {"t": torch.tensor(value, dtype=getattr(torch, dtype)), "wide": 1e9, "high": 300, "torch": torch}
    assert bool(eval(predicate, values)) is bool(eval(test, values))


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("t.item() > 2", "t > 2"),
        ("t.item() > 0.5", "t > 0.5"),
        ("t.item() > n", "t > n"),
        ("t.item() > 1e9", "t.double() > 1e9"),
    ],
)
def test_whole_numbers_are_widened_where_need_be_alone(test: str, expected: str) -> None:
    assert built(test) == expected


@pytest.mark.parametrize("number", ["9007199254740992.0", "-1e18"])
def test_beside_a_float_that_large_no_dtype_holds_each_integer(number: str) -> None:
    """2**53 + 1 is above 2**53 in Python, and not in double precision."""
    assert "double()" not in built(f"t.item() > {number}")
