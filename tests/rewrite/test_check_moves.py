"""check_instead_of_raise, split_check, move_check: exact texts, look-alikes, and the texts run by torch."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import Claim, TypeFact

TYPES = {"x": TENSOR, "t": INTEGERS, "n": COUNT, "u": COUNT}


def test_a_raise_with_a_constant_message_becomes_one_check() -> None:
    text = 'def fn(x, t):\n    if t.sum() != x.shape[0]:\n        raise ValueError("sizes")\n    return x\n'
    found = rewritten("check_instead_of_raise", context_of(text, "t.sum() != x.shape[0]", TYPES, "DDE103"))
    assert found[0] == (
        'def fn(x, t):\n    torch._check_value(t.sum().item() == x.shape[0], lambda: "sizes")\n    return x\n'
    )
    assert found[1] == (
        "def fn(x, t):\n"
        "    if torch.compiler.is_compiling():\n"
        "        torch._check(t.sum().item() == x.shape[0])\n"
        "    elif t.sum() != x.shape[0]:\n"
        '        raise ValueError("sizes")\n'
        "    return x\n"
    )


@pytest.mark.parametrize(
    ("exception", "check"),
    [
        ("RuntimeError", "_check"),
        ("ValueError", "_check_value"),
        ("IndexError", "_check_index"),
        ("TypeError", "_check_type"),
        ("NotImplementedError", "_check_not_implemented"),
    ],
)
def test_the_check_has_the_exception_type(exception: str, check: str) -> None:
    text = f'def fn(n):\n    if n > 4:\n        raise {exception}("m")\n'
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found[0] == f'def fn(n):\n    torch.{check}(n <= 4, lambda: "m")\n'
    assert "is_compiling" in found[1]  # strict export refuses a text


@pytest.mark.parametrize(
    ("condition", "checked"),
    [
        ("f > 4", "torch.sym_not(f > 4)"),
        ("not f <= 4", "f <= 4"),
        ("x[0].item() > 4", "torch.sym_not(x[0].item() > 4)"),
        ("7 in t", "torch.sym_not((t == 7).any().item())"),
        ("7 not in t", "(t == 7).any().item()"),
        ("t.max() > self.limit", "torch.sym_not((t.max() > self.limit).item())"),
        ("len(x) > u and n in (1, 2)", "sym_or(len(x) <= u, sym_and(n != 1, n != 2))"),
    ],
)
def test_one_line_says_it_where_every_operand_is_known(condition: str, checked: str) -> None:
    text = f'def fn(self, x, f, t, n, u):\n    if {condition}:\n        raise ValueError("m")\n'
    types = {**TYPES, "f": TypeFact("symfloat")}
    found = rewritten("check_instead_of_raise", context_of(text, condition, types, "DDE103"))
    assert f'    torch._check_value({checked}, lambda: "m")\n' in found[0]


@pytest.mark.parametrize(
    "condition", ["n > limit", "bool(limit)", "not limit > n", "n in (limit, 2)", "x.shape != [limit]"]
)
def test_what_may_be_no_bool_leaves_eager_alone(condition: str) -> None:
    text = f'def fn(x, n, limit):\n    if {condition}:\n        raise ValueError("m")\n'
    context = context_of(text, condition, TYPES, "DDE103")
    assert "is_compiling" in rewritten("check_instead_of_raise", context)[0]
    untraced = rewritten("check_instead_of_raise", replace(context, kind="static"))
    assert untraced
    assert all("is_compiling" in one for one in untraced)


@pytest.mark.parametrize(
    ("raised", "is_one_line"),
    [
        ('ValueError(f"above {LIMIT} {name}")', True),
        ('ValueError("above %d" % LIMIT)', True),
        ('ValueError("a {}".format(name))', True),
        ('ValueError("a" "b")', True),
        ('ValueError(f"above {n}")', False),
        ('ValueError(f"above {x.shape}")', False),
        ('ValueError(f"above {local}")', False),
        ("ValueError(LIMIT)", False),
        ('ValueError("a", LIMIT)', False),
    ],
)
def test_a_text_goes_into_the_check_where_dynamo_takes_it(raised: str, is_one_line: bool) -> None:
    body = f"    local = 3\n    if n > 4:\n        raise {raised}\n"
    text = f"LIMIT = 4\n\n\ndef fn(n, x, name):\n{body}"
    types = {**TYPES, "name": TypeFact("str"), "local": TypeFact("int")}
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", types, "DDE103"))
    assert ("is_compiling" not in found[0]) is is_one_line


@pytest.mark.parametrize(
    ("condition", "checked"),
    [
        ("not x.size()", "len(x.size()) > 0"),
        ("not (x.shape[1:])", "len(x.shape[1:]) > 0"),
        ("x.shape", "len(x.shape) == 0"),
    ],
)
def test_the_truth_of_a_shape_is_whether_it_has_dimensions(condition: str, checked: str) -> None:
    text = f'def fn(x, n):\n    if n > 4 or {condition}:\n        raise ValueError("m")\n    return x\n'
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found
    assert all(f"({checked})" in text or f"({checked}, " in text for text in found)


def test_what_stood_under_else_follows_the_check() -> None:
    text = 'def fn(n):\n    if n > 4:\n        raise ValueError("m")\n    else:\n        n = 1\n    return n\n'
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found[0] == 'def fn(n):\n    torch._check_value(n <= 4, lambda: "m")\n    n = 1\n    return n\n'


def test_the_last_elif_becomes_an_else() -> None:
    text = 'def fn(n, k):\n    if k:\n        k = 2\n    elif n > 4:\n        raise ValueError("m")\n    return k\n'
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found[0] == (
        'def fn(n, k):\n    if k:\n        k = 2\n    else:\n        torch._check_value(n <= 4, lambda: "m")\n'
        "    return k\n"
    )


def test_the_loop_over_two_shapes_takes_no_names_that_are_read_later() -> None:
    text = "def fn(x, t, expected):\n    if x.shape != t.shape:\n        raise KeyError(x)\n    return expected\n"
    context = context_of(text, "x.shape != t.shape", TYPES, "DDE103")
    assert rewritten("check_instead_of_raise", context) == []


@pytest.mark.parametrize("raised", ['AssertionError("m")', 'ValueError(f"{t}")', "MyError(n)", 'ValueError("a", n)'])
def test_other_raises_keep_their_own_words_in_eager(raised: str) -> None:
    text = f"def fn(n, t):\n    if n > 4:  # why\n        # inner\n        raise {raised}\n"
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found == [
        "def fn(n, t):\n"
        "    if torch.compiler.is_compiling():\n"
        "        torch._check(n <= 4)\n"
        "    elif n > 4:  # why\n"
        "        # inner\n"
        f"        raise {raised}\n"
    ]


BESIDE = """\
    if torch.compiler.is_compiling():
        torch._check(n <= 4)
    elif n > 4:  # why
        raise KeyError(n)
"""


@pytest.mark.parametrize(
    ("other", "after"),
    [
        ("    else:\n        k = 2\n", "    k = 2\n"),
        ("    # other\n    else:\n        # inner\n        k = 2\n", "    # other\n    # inner\n    k = 2\n"),
        ("    else: k = 2\n", "    k = 2\n"),
        (
            "    # other\n    elif k:  # also\n        k = 2\n    else:\n        k = 3\n",
            "    # other\n    if k:  # also\n        k = 2\n    else:\n        k = 3\n",
        ),
        (
            "    else:\n        if k:\n            k = (2,\n                 3)\n",
            "    if k:\n        k = (2,\n             3)\n",
        ),
    ],
)
def test_what_stood_under_else_follows_both_forms(other: str, after: str) -> None:
    text = f"def fn(n, k):\n    if n > 4:  # why\n        raise KeyError(n)\n{other}    return k\n"
    (found,) = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found == f"def fn(n, k):\n{BESIDE}{after}    return k\n"
    text = text.replace("KeyError(n)", 'ValueError("m")')
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))[0]
    assert found.endswith(f'    torch._check_value(n <= 4, lambda: "m")  # why\n{after}    return k\n')


def test_an_elif_with_an_else_becomes_an_else() -> None:
    text = (
        "def fn(n, k):\n    if k:\n        pass\n    elif n > 4:\n        raise KeyError(n)\n    else:\n        k = 2\n"
    )
    (found,) = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    inner = BESIDE.replace("  # why", "").replace("    ", "        ", 1).replace("\n", "\n    ")[:-4]
    assert found == f"def fn(n, k):\n    if k:\n        pass\n    else:\n{inner}        k = 2\n"


def test_a_comment_inside_is_never_lost() -> None:
    text = 'def fn(n):\n    if n > 4:\n        # keep me\n        raise ValueError("m")\n'
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found
    assert all("# keep me" in one for one in found)


@pytest.mark.parametrize(
    ("condition", "checked"),
    [
        ("(t < 0).any() or (t > 9).any()", "torch.sym_not(((t < 0).any() | (t > 9).any()).item())"),
        ("torch.any(t < 0) or t.isnan().any()", "torch.sym_not((torch.any(t < 0) | t.isnan().any()).item())"),
        ("t.min() < 0 or t.max() > 1", "torch.sym_not(((t.min() < 0) | (t.max() > 1)).item())"),
        ("not ((t < 0).all() and mask.any())", "((t < 0).all() & mask.any()).item()"),
        ("not (t > 0).any() or mask.any()", None),
        ("mask.any() or t[mask].max() > 3", None),
        ("mask.any() or t.max() > 3", None),
    ],
)
def test_what_is_said_of_several_tensors_is_said_once(condition: str, checked: str | None) -> None:
    text = f'def fn(t, mask):\n    if {condition}:\n        raise ValueError("m")\n'
    types = {"t": TypeFact("tensor", "float32", ("8",)), "mask": MASK}
    found = rewritten("check_instead_of_raise", context_of(text, condition, types, "DDE103"))[0]
    assert found.count('"m"') == (1 if checked else 2)
    assert checked is None or f'    torch._check_value({checked}, lambda: "m")\n' in found


@pytest.mark.parametrize(
    ("condition", "checked"),
    [
        ("t[0] != 0", "(t[0] == 0).item()"),
        ("t[-1] == n", "(t[-1] != n).item()"),
        ("not t[0] == 0", "(t[0] == 0).item()"),
    ],
)
def test_an_equality_of_floats_is_turned_round(condition: str, checked: str) -> None:
    text = f'def fn(t, n):\n    if {condition}:\n        raise ValueError("m")\n'
    types = {"t": TypeFact("tensor", "float32", ("8",)), "n": TypeFact("symfloat")}
    found = rewritten("check_instead_of_raise", context_of(text, condition, types, "DDE103"))
    assert f'    torch._check_value({checked}, lambda: "m")\n' in found[0]


def test_or_is_taken_apart_and_what_is_known_guards_the_rest() -> None:
    text = (
        "def fn(t, mask=None):\n"
        "    if t.min() < 0 or mask is not None and mask.sum() == 0:\n        raise KeyError(t)\n"
    )
    context = context_of(text, "t.min() < 0", {"t": INTEGERS, "mask": MASK}, "DDE103")
    assert rewritten("check_instead_of_raise", context)[0] == (
        "def fn(t, mask=None):\n"
        "    if torch.compiler.is_compiling():\n"
        "        torch._check(t.min().item() >= 0)\n"
        "        if mask is not None:\n"
        "            torch._check(mask.sum().item() != 0)\n"
        "    elif t.min() < 0 or mask is not None and mask.sum() == 0:\n"
        "        raise KeyError(t)\n"
    )


def test_two_unknown_conditions_are_joined_by_sym_or() -> None:
    text = "def fn(n, u):\n    if n == 0 and u > 3:\n        raise KeyError(n)\n"
    found = candidates("check_instead_of_raise", context_of(text, "n == 0", TYPES, "DDE103"))
    assert "torch._check(sym_or(n != 0, u <= 3))" in found[0].edits[0].content
    assert "sym_or" in {needed.name for needed in found[0].imports}


def test_an_assert_is_checked_beside_itself() -> None:
    text = "def fn(n, u):\n\tassert 0 <= n <= u, (\n\t\tf'{n}'\n\t)  # tail\n\treturn n\n"
    found = rewritten("check_instead_of_raise", context_of(text, "0 <= n <= u", TYPES, "DDE104"))
    assert found == [
        "def fn(n, u):\n"
        "\tif torch.compiler.is_compiling():\n"
        "\t\ttorch._check(0 <= n)\n"
        "\t\ttorch._check(n <= u)\n"
        "\telse:\n"
        "\t\tassert 0 <= n <= u, (\n"
        "\t\t\tf'{n}'\n"
        "\t\t)  # tail\n"
        "\treturn n\n"
    ]


def test_whole_shapes_are_compared_dimension_by_dimension() -> None:
    text = "def fn(x, t):\n    if x.shape[:2] != t.shape:\n        raise KeyError(x)\n"
    found = rewritten("check_instead_of_raise", context_of(text, "x.shape[:2] != t.shape", {}, "DDE103"))
    assert "        for actual, expected in zip(x.shape[:2], t.shape):\n" in found[0]
    assert "            torch._check(actual == expected)\n" in found[0]


def test_a_size_that_is_still_a_tensor_is_read_in_its_check() -> None:
    text = "def fn(x, k):\n    assert list(x.size()) == [4, k]\n"
    types = {"x": TypeFact("tensor", "float32", ("4", "u0")), "k": TypeFact("tensor", "int64", ())}
    found = rewritten("check_instead_of_raise", context_of(text, "list(x.size()) == [4, k]", types, "DDE104"))
    assert "        torch._check(list(x.size())[0] == 4)\n" in found[0]
    assert "        torch._check(list(x.size())[1] == k.item())\n" in found[0]


def test_any_and_all_become_a_loop_of_checks() -> None:
    text = 'def fn(sizes):\n    if any(s <= 0 for s in sizes if s):\n        raise ValueError("m")\n'
    found = rewritten("check_instead_of_raise", context_of(text, "any(s <= 0 for s in sizes if s)", {}, "DDE103"))
    assert found[1] == (
        'def fn(sizes):\n    for s in sizes:\n        if s:\n            torch._check_value(s > 0, lambda: "m")\n'
    )


def test_windows_newlines_and_an_else_survive() -> None:
    text = "def fn(n):\r\n    if n > 4:\r\n        raise KeyError(n)\r\n    else:\r\n        n = 1\r\n    return n\r\n"
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found == [
        "def fn(n):\r\n"
        "    if torch.compiler.is_compiling():\r\n"
        "        torch._check(n <= 4)\r\n"
        "    elif n > 4:\r\n"
        "        raise KeyError(n)\r\n"
        "    n = 1\r\n"
        "    return n\r\n"
    ]


def test_the_last_elif_gets_an_arm_before_it() -> None:
    text = "def fn(n, k):\n    if k:\n        k = 2\n    elif n > 4:\n        raise KeyError(n)\n    return k\n"
    found = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103"))
    assert found == [
        "def fn(n, k):\n"
        "    if k:\n"
        "        k = 2\n"
        "    elif torch.compiler.is_compiling():\n"
        "        torch._check(n <= 4)\n"
        "    elif n > 4:\n"
        "        raise KeyError(n)\n"
        "    return k\n"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def fn(n):\n    if n > 4:\n        return 1\n    raise ValueError(n)\n",
        "def fn(n):\n    if n > 4:\n        n = 1\n    return n\n",
        "def fn(n):\n    if not torch.compiler.is_compiling() and n > 4:\n        raise KeyError(n)\n",
        "def fn(n):\n    if (m := n) and n > 4:\n        raise KeyError(m)\n",
        "def fn(n):\n    if n: assert n > 4\n",
    ],
)
def test_look_alikes_are_left_alone(text: str) -> None:
    assert candidates("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE103")) == []


def test_a_second_run_proposes_nothing() -> None:
    text = "def fn(n):\n    assert n > 4, n\n"
    fixed = rewritten("check_instead_of_raise", context_of(text, "n > 4", TYPES, "DDE104"))[0]
    again = rewritten("check_instead_of_raise", context_of(fixed, "n > 4", TYPES, "DDE104"))
    assert again == []


def test_split_check_says_each_condition_alone() -> None:
    text = 'def fn(u, n):\n    torch._check(0 <= u <= n and not (u == 3 or u > 9), lambda: "m")  # tail\n'
    found = rewritten("split_check", context_of(text, "0 <= u <= n", TYPES, "DDE107"))
    assert found == [
        "def fn(u, n):\n"
        '    torch._check(0 <= u, lambda: "m")\n'
        '    torch._check(u <= n, lambda: "m")\n'
        '    torch._check(u != 3, lambda: "m")\n'
        '    torch._check(u <= 9, lambda: "m")  # tail\n'
    ]


def test_split_check_joins_what_only_holds_together() -> None:
    text = "def fn(u, n):\n    torch._check_value(u == 0 or u >= n)\n"
    found = with_imports("split_check", context_of(text, "u == 0", TYPES, "DDE107"))
    assert "    torch._check_value(sym_or(u == 0, u >= n))\n" in found[0]
    assert "from torch.fx.experimental.symbolic_shapes import sym_or\n" in found[0]


@pytest.mark.parametrize("check", ["torch._check(u >= 0)", 'torch._check(u == n, lambda: "m")'])
def test_split_check_leaves_simple_checks_alone(check: str) -> None:
    text = f"def fn(u, n):\n    {check}\n"
    assert candidates("split_check", context_of(text, check, TYPES, "DDE107")) == []


def test_a_late_check_moves_before_the_line_that_needs_it() -> None:
    text = (
        "def fn(x, u, n):\n    y = x.narrow(0, 0, u)\n    z = 1\n"
        "    torch._check(u <= n)  # a fact\n    torch._check(z > 0)\n    return y\n"
    )
    context = context_of(text, "x.narrow(0, 0, u)", TYPES, "DDE308")
    assert rewritten("move_check", context) == [
        "def fn(x, u, n):\n    torch._check(u <= n)  # a fact\n    y = x.narrow(0, 0, u)\n    z = 1\n"
        "    torch._check(z > 0)\n    return y\n"
    ]


def test_a_check_stays_behind_what_it_reads() -> None:
    text = "def fn(x, u):\n    y = x.narrow(0, 0, u)\n    n = y.shape[1]\n    torch._check(u <= n)\n    return y\n"
    assert candidates("move_check", context_of(text, "x.narrow(0, 0, u)", TYPES, "DDE308")) == []


# ---------------------------------------------------------------------- run by torch


def samples() -> list[tuple[object, ...]]:
    import torch

    return [(torch.arange(4.0), torch.tensor(values)) for values in ([1, 0, 0], [1, 2, 3], [0, 0, 9])]


@pytest.mark.parametrize(
    ("block", "asking"),
    [
        ("if t.sum() > 5:\n        raise ValueError(f'{t}')", "t.sum() > 5"),
        ("if t.max() > 2 or t.min() < 0:\n        raise KeyError('m')", "t.max() > 2"),
        ("assert (t < 3).all() and t.sum() < 6, f'{t}'", "(t < 3).all()"),
        ("assert t.sum().item() in (1, 2, 9)", "t.sum().item() in (1, 2, 9)"),
    ],
)
def test_checked_programs_trace_and_raise_where_eager_does(block: str, asking: str) -> None:
    text = f"import torch\n\n\ndef fn(x, t):\n    {block}\n    return x * 2\n"
    found = with_imports("check_instead_of_raise", context_of(text, asking, TYPES, "DDE103"))
    assert failures(text, found[0], samples(), ("export", "compile")) == []
    # strict export drops an equality that fixes a number which nothing else uses; the last form says it otherwise
    assert failures(text, found[-1], samples(), ("strict",)) == []


def test_one_line_checks_trace_and_raise_the_same_type() -> None:
    text = "import torch\n\n\ndef fn(x, t):\n    if t.sum() > 5:\n        raise IndexError('m')\n    return x * 2\n"
    found = with_imports("check_instead_of_raise", context_of(text, "t.sum() > 5", TYPES, "DDE103"))
    assert "torch._check_index(t.sum().item() <= 5, lambda: 'm')" in found[0]
    assert failures(text, found[0], samples(), ("export", "compile")) == []
    assert failures(text, found[1], samples(), ("export", "strict", "compile")) == []


def test_texts_over_constants_trace_when_they_change() -> None:
    head = "import torch\n\nLIMIT = 5\n\n\n"
    text = f"{head}def fn(x, t):\n    if t.sum() > 5:\n        raise ValueError(f'above {{LIMIT}}')\n    return x * 2\n"
    found = with_imports("check_instead_of_raise", context_of(text, "t.sum() > 5", TYPES, "DDE103"))
    assert "lambda: f'above {LIMIT}')" in found[0]
    assert failures(text, found[0], samples(), ("export", "compile")) == []


def test_split_checks_trace() -> None:
    text = (
        "import torch\n\n\ndef fn(x, t):\n    n = t.sum().item()\n"
        "    torch._check(0 <= n <= 7 and not (n == 3 or n > 8))\n    return x * n\n"
    )
    found = with_imports("split_check", context_of(text, "0 <= n <= 7", {**TYPES, "t": INTEGERS}, "DDE107"))
    assert failures(text, found[0], samples()) == []


def test_claims() -> None:
    text = "def fn(n):\n    assert n > 4\n"
    (one,) = candidates("check_instead_of_raise", context_of(text, "n > 4", {"n": TypeFact("symint")}, "DDE104"))
    assert one.claim is Claim.EQUIVALENT
    assert one.decisions
    assert one.imports[0].module == "torch"


def test_no_text_where_a_target_refuses_it() -> None:
    text = 'def fn(x, n):\n    if n > 4:\n        raise ValueError("large")\n    return x\n'
    context = context_of(text, "n > 4", {"n": COUNT}, "DDE103")
    assert 'torch._check_value(n <= 4, lambda: "large")' in rewritten("check_instead_of_raise", context)[0]
    strict = replace(context, targets=("export", "strict"))
    assert all("lambda" not in one for one in rewritten("check_instead_of_raise", strict))
    assert rewritten("check_instead_of_raise", strict)
