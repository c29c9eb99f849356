"""Stacks, narrow, facts, logic, divisors, counts, caches, fakes, retired calls: what the text becomes."""

from __future__ import annotations

import dataclasses
import textwrap

import pytest
import torch
from control_flow import COUNT, INTEGERS, MASK, SCALAR, TENSOR, candidates, context_of, rewritten

from ddelint.nouns.diagnostics import Claim, Span, Symbol, TypeFact

INDEX = TypeFact("tensor", "int64", ())
FLAG = TypeFact("tensor", "bool", ())
BATCH = TypeFact("tensor", "float32", ("8", "6"))
NUMBERS = TypeFact("list", length=3, element=TypeFact("float"))
TENSORS = TypeFact("list", length=3, element=TypeFact("tensor", "float32", ("4",)))
RAGGED = TypeFact("list", length=3, element=TypeFact("tensor", "float32", ("?",)))
LAYERS = TypeFact("module", python_type="torch.nn.modules.container.ModuleList", length=3)

HEAD = "import torch\n\n\ndef fn(x, t, m, n, table):\n"


def changed(
    move: str, lines: str, asking: str, types: dict[str, TypeFact], code: str = "DDE101", others: str = ""
) -> list[str]:
    """The body of `fn` after each candidate; `others` stand before it."""
    body, head = "".join(f"    {line}\n" for line in lines.split("\n")), others + HEAD
    texts = rewritten(move, context_of(head + body, asking, types, code))
    return ["\n".join(line.removeprefix("    ") for line in text.removeprefix(head).splitlines()) for text in texts]


@pytest.mark.parametrize(
    ("subscript", "expected"),
    [
        ("x[:, a:b, c:d]", ["x[:, a:b][:, :, c:d]"]),
        ("x[a : b + 1, c:]", ["x[a : b + 1][:, c:]"]),
        ("x[..., a:b, :, c:d]", ["x[..., a:b, :, :][..., :, :, c:d]"]),
        ("x[0, a:b, None, c:d]", ["x[:, a:b][0, :, None, c:d]"]),
        ("x[a:b, :n, -1, ::2]", ["x[a:b][:, :n, -1, ::2]"]),
        ("x[a:b, c:d, :n]", ["x[a:b][:, c:d][:, :, :n]"]),
        ("x[:, a:b]", []),
        ("x[i, a:b, c:d]", []),
    ],
)
def test_one_slice_after_the_other(subscript: str, expected: list[str]) -> None:
    assert changed("one_slice_at_a_time", f"y = {subscript}", subscript, {}, "DDE803") == [f"y = {e}" for e in expected]


def test_one_slice_after_the_other_is_the_same_view() -> None:
    torch = pytest.importorskip("torch")
    x, a, b, c, d, n = torch.arange(360.0).reshape(3, 4, 5, 6), 1, 3, 0, 2, 2
    texts = [
        "x[..., a:b, :, c:d]",
        "x[0, a:b, None, c:d]",
        "x[a:b, :n, -1, ::2]",
        "x[a:b, c:d, :n]",
        "x[a:, 1:, None, :n]",
    ]
    for text in texts:
        (rewritten_text,) = changed("one_slice_at_a_time", f"y = {text}", text, {}, "DDE803")
        values = {"x": x, "a": a, "b": b, "c": c, "d": d, "n": n}
        one, other = eval(text, values), eval(rewritten_text.removeprefix("y = "), values)
        assert torch.equal(one, other)
        assert (one.stride(), one.storage_offset()) == (other.stride(), other.storage_offset())


@pytest.mark.parametrize(
    ("line", "types", "expected"),
    [
        ("y = table[n]", {"table": TENSORS, "n": COUNT}, "y = torch.stack(table)[n]"),
        (
            "y = table[n]",
            {"table": TENSORS, "n": COUNT},
            "y = torch.stack(table)[n] if torch.compiler.is_compiling() else table[n]",
        ),
        ("y = table[t]", {"table": TENSORS, "t": INDEX}, "y = torch.stack(table)[t.item()]"),
        ("y = table[int(t)]", {"table": TENSORS, "t": INDEX}, "y = torch.stack(table)[t.item()]"),
        (
            "y = table[n]",
            {"table": NUMBERS, "n": COUNT},
            "y = torch.tensor(table, dtype=torch.float64)[n].item()",
        ),
        ("y = (1, -2, 3)[n]", {"n": COUNT}, "y = torch.tensor((1, -2, 3))[n].item()"),
        (
            "y = table[n](x, 2)",
            {"table": LAYERS, "n": COUNT},
            "y = torch.stack([module(x, 2) for module in table])[n]",
        ),
        (
            "y = table[n](x, 2)",
            {"table": LAYERS, "n": COUNT},
            "y = (\n    torch.stack([module(x, 2) for module in table])[n]\n    if torch.compiler.is_compiling()\n"
            "    else table[n](x, 2)\n)",
        ),
    ],
)
def test_a_list_is_stacked(line: str, types: dict[str, TypeFact], expected: str) -> None:
    assert expected in changed("stack_and_index", line, line.removeprefix("y = "), types)


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("y = table[0]", {"table": TENSORS}),
        ("y = table[n]", {"table": RAGGED, "n": COUNT}),
        ("y = table[n]", {"table": TypeFact("dict"), "n": COUNT}),
        ("y = table[n]", {"table": TypeFact("list", element=TypeFact("str")), "n": COUNT}),
        ("y = x[n]", {"x": TENSOR, "n": COUNT}),
        ("y = table[1:]", {"table": TENSORS}),
        ("y = table[-1]", {"table": TENSORS}),
        ("y = torch.stack(table)[n] if torch.compiler.is_compiling() else table[n]", {"table": TENSORS, "n": COUNT}),
    ],
)
def test_other_containers_stay(line: str, types: dict[str, TypeFact]) -> None:
    assert changed("stack_and_index", line, line.removeprefix("y = "), types) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "    layer = table[n]\n    return layer(x) + layer(y)\n",
            "    return torch.stack([module(x) for module in table])[n] + "
            "torch.stack([module(y) for module in table])[n]\n",
        ),
        (
            "    layer = table[n]\n    return layer(x)\n",
            "    if not torch.compiler.is_compiling():\n        layer = table[n]\n"
            "    return torch.stack([module(x) for module in table])[n] "
            "if torch.compiler.is_compiling() else layer(x)\n",
        ),
        ("    layer = table[n]\n    return layer(x), layer\n", ""),
        ("    layer = table[n]\n    n += 1\n    return layer(x)\n", ""),
        ("    layer = table[n]\n    if x is None:\n        layer = y\n    return layer(x)\n", ""),
    ],
)
def test_a_module_that_is_chosen_under_a_name_is_called_by_it(body: str, expected: str) -> None:
    text = f"import torch\n\n\ndef fn(x, y, table, n):\n{body}"
    facts = {"table": LAYERS, "n": COUNT, "x": TENSOR, "y": TENSOR}
    found = rewritten("stack_and_index", context_of(text, "table[n]", facts))
    assert any(expected in one for one in found) if expected else not found


def test_a_table_of_the_module_is_seen_without_types() -> None:
    text = "import torch\n\nGAINS = [0.25, 1, 2.0]\n\n\ndef fn(x, k):\n    return x * GAINS[k.item()]\n"
    assert (
        "x * torch.tensor(GAINS, dtype=torch.float64)[k.item()].item()"
        in rewritten("stack_and_index", context_of(text, "GAINS[k.item()]"))[0]
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = x[:n]", "y = x.narrow(0, 0, n)"),
        ("y = x[:n]", "y = x.narrow(0, 0, torch.sym_min(n, x.shape[0]))"),
        ("y = x[n:]", "y = x.narrow(0, n, x.shape[0] - n)"),
        ("y = x[n : n + 3]", "y = x.narrow(0, n, 3)"),
        ("y = x[:, n : n + 3]", "y = x.narrow(1, n, 3)"),
        ("y = x[2:n]", "y = x.narrow(0, 2, n - 2)"),
        ("y = x[n:]", "y = x.narrow(0, torch.sym_min(n, x.shape[0]), x.shape[0] - torch.sym_min(n, x.shape[0]))"),
        ("y = x.t()[n:]", "y = (whole := x.t()).narrow(0, n, whole.shape[0] - n)"),
        ("y = x.t()[:, n:-1]", "y = (whole := x.t()).narrow(1, n, whole.shape[1] - 1 - n)"),
        ("y = x.t()[0, n:]", "y = (whole := x.t())[0].narrow(0, n, whole.shape[1] - n)"),
        ("y = x.t()[:n]", "y = x.t().narrow(0, 0, n)"),
        ("y = x.t()[:n]", "y = (whole := x.t()).narrow(0, 0, torch.sym_min(n, whole.shape[0]))"),
        ("y = x.t()[:n]", "y = (whole := x.t()).index_select(0, torch.arange(n, device=whole.device))"),
        ("x.t()[n:] += t", "(whole := x.t()).narrow(0, n, whole.shape[0] - n).add_(t)"),
        ("y = x[-n:]", "y = x.narrow(0, x.shape[0] - n, n)"),
        ("y = x[: -n]", "y = x.narrow(0, 0, x.shape[0] - n)"),
        ("y = x[0:n:2]", "y = x.narrow(0, 0, n)[::2]"),
        ("y = x[:n]", "y = x.index_select(0, torch.arange(n, device=x.device))"),
        ("y = x[:, n : n + 3]", "y = x.index_select(1, torch.arange(3, device=x.device) + n)"),
        ("y = x[0, :n]", "y = x[0].narrow(0, 0, n)"),
        ("y = x[:n, None]", "y = x[:, None].narrow(0, 0, n)"),
        ("x[:n] = t", "x.narrow(0, 0, n).copy_(t)"),
        ("x[0, :n] = 1.0", "x[0].narrow(0, 0, n).fill_(1.0)"),
        (
            "x[0, :n] = 1.0",
            "if torch.compiler.is_compiling():\n"
            "    x[0].masked_fill_(\n        (\n            torch.arange(x.shape[1], device=x.device)\n"
            "            < n - x.shape[1] * torch.sym_max(torch.sym_min(n, 0), -1)\n        ),\n        1.0,\n    )\n"
            "else:\n    x[0, :n] = 1.0",
        ),
        (
            "x[n:] = True",
            "if torch.compiler.is_compiling():\n"
            "    x.transpose(0, -1).masked_fill_(\n"
            "        (\n            torch.arange(x.shape[0], device=x.device)\n"
            "            >= n - x.shape[0] * torch.sym_max(torch.sym_min(n, 0), -1)\n        ),\n        True,\n    )\n"
            "else:\n    x[n:] = True",
        ),
        ("x[:n] += t", "x.narrow(0, 0, n).add_(t)"),
    ],
)
def test_a_slice_becomes_narrow(line: str, expected: str) -> None:
    types = {"x": BATCH, "n": COUNT, "t": TENSOR}
    assert expected in changed("narrow", line, line.removeprefix("y = ").split(" +=")[0].split(" = ")[0], types)


@pytest.mark.parametrize("line", ["x[0, :n] = 5.0", "x[n:] = 5.0", "x[:, n:] = 5.0", "x[:n] = 5.0"])
@pytest.mark.parametrize("count", [0, 2, 4, 9, -1, -4, -9])
def test_a_number_is_filled_in_wherever_the_bound_lies(line: str, count: int) -> None:
    x = torch.arange(24.0).view(4, 6)
    expected, given = x.clone(), x.clone()
    exec(line, {"x": expected, "n": count})
    filled = changed("narrow", line, line.partition(" =")[0], {"x": BATCH, "n": COUNT})
    (counted,) = [one for one in filled if "masked_fill_" in one]
    compiled = textwrap.dedent(counted.partition("\n")[2].partition("else:")[0])
    exec(compiled, {"x": given, "n": count, "torch": torch})
    assert torch.equal(given, expected)


def test_a_bound_that_counts_is_never_negative() -> None:
    line, bound = "x[m.sum().item() :] = True", "m.sum().item()"
    found = changed("narrow", line, line.partition(" =")[0], {"x": BATCH, "m": MASK})
    (filled,) = [one for one in found if "masked_fill_" in one]
    assert f">= {bound}" in filled
    assert filled.count(bound) == 2, "it is compared as it is"


def test_a_name_is_bound_on_the_way_where_python_takes_it() -> None:
    line = "y = [row for row in x.t()[-n:]]"
    found = changed("narrow", line, "x.t()[-n:]", {"x": BATCH, "n": COUNT})
    assert found
    for text in found:
        compile(f"def fn(x, n):\n    {text}", "m.py", "exec")


@pytest.mark.parametrize(
    "line", ["y = x[1:3]", "y = table[:n]", "y = x[..., :n]", "y = x[:n, 1:n]", "y = x[::n]", "y = x[t, :n]"]
)
def test_other_slices_stay(line: str) -> None:
    types = {"x": BATCH, "n": COUNT, "table": NUMBERS, "t": INTEGERS}
    assert changed("narrow", line, line.removeprefix("y = "), types) == []


def test_a_value_that_is_read_twice_is_read_once() -> None:
    lines = "a = x.narrow(0, 0, m.sum().item())\nb = torch.ones(m.sum().item())\nreturn a * b"
    assert changed("hoist_item", lines, "a * b", {"x": TENSOR, "m": MASK}) == [
        "count = m.sum().item()\na = x.narrow(0, 0, count)\nb = torch.ones(count)\nreturn a * b"
    ]


def test_a_value_that_has_a_name_is_reused() -> None:
    lines = "k = m.sum().item()\nb = torch.ones(m.sum().item())\nreturn b[:k]"
    assert changed("hoist_item", lines, "b[:k]", {"m": MASK}) == ["k = m.sum().item()\nb = torch.ones(k)\nreturn b[:k]"]


@pytest.mark.parametrize(
    "lines",
    [
        "a = m.sum().item()\nm = ~m\nb = m.sum().item()\nreturn a + b",
        "a = m.sum().item()\nm[0] = True\nb = m.sum().item()\nreturn a + b",
        "if t:\n    a = m.sum().item()\nb = m.sum().item()\nreturn a + b",
        "a = torch.rand(3).sum().item()\nb = torch.rand(3).sum().item()\nreturn a + b",
        "a = m.sum().item()\nb = x.sum().item()\nreturn a + b",
    ],
)
def test_values_that_may_differ_are_read_twice(lines: str) -> None:
    assert changed("hoist_item", lines, "a + b", {"m": MASK}) == []


def test_a_helper_that_reads_is_called_once() -> None:
    text = (
        "import torch\n\n\ndef count(m):\n    return m.sum().item()\n\n\n"
        "def fn(x, m):\n    a = torch.ones(count(m))\n    return a * torch.zeros(count(m))\n"
    )
    after = rewritten("hoist_item", context_of(text, "a * torch.zeros(count(m))", {"m": MASK}))
    assert len(after) == 1
    assert after[0].count("count(m)") == 2  # the definition and one call


@pytest.mark.parametrize(
    ("line", "asking", "types", "expected"),
    [
        ("y = n > 1 and n < 5", "n > 1 and n < 5", {"n": COUNT}, "y = sym_and(n > 1, n < 5)"),
        ("y = not n > 1", "not n > 1", {"n": COUNT}, "y = n <= 1"),
        ("torch._check(0 <= n < 5)", "0 <= n < 5", {"n": COUNT}, "torch._check(sym_and(0 <= n, n < 5))"),
        ("torch._check(n in (1, 2))", "n in (1, 2)", {"n": COUNT}, "torch._check(sym_or(n == 1, n == 2))"),
        ("y = any([n > 1, n < 0])", "any([", {"n": COUNT}, "y = sym_or(n > 1, n < 0)"),
        (
            "y = all(v > 1 for v in (n, n))",
            "all(v > 1",
            {"n": COUNT, "v": COUNT},
            "y = sym_and(True, *(v > 1 for v in (n, n)))",
        ),
        ("y = t and m.any()", "t and", {"t": FLAG, "m": MASK}, "y = t & m.any()"),
        ("y = not t", "not t", {"t": FLAG}, "y = ~t"),
        ("y = not t", "not t", {"t": FLAG}, "y = torch.sym_not(t.item())"),
        (
            "y = not (t and m.any())",
            "not (t",
            {"t": FLAG, "m": MASK},
            "y = sym_or(torch.sym_not(t.item()), torch.sym_not(m.any().item()))",
        ),
        ("y = not t or n > 1", "not t or", {"t": FLAG, "n": COUNT}, "y = sym_or(torch.sym_not(t.item()), n > 1)"),
        ("y = m.any() and n > 1", "m.any() and", {"m": MASK, "n": COUNT}, "y = sym_and(m.any().item(), n > 1)"),
    ],
)
def test_logic_becomes_symbolic(line: str, asking: str, types: dict[str, TypeFact], expected: str) -> None:
    assert expected in changed("symbolic_logic", line, asking, types)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return not m.any()", "return torch.sym_not(m.any().item())"),
        ("return not bool(m.any())", "return torch.sym_not(bool(m.any()))"),
        ("return not m.any() or not t", "return sym_or(torch.sym_not(m.any().item()), torch.sym_not(t.item()))"),
        ("return not m.any() and n > 1", "return sym_and(torch.sym_not(m.any().item()), n > 1)"),
        ("return m.any() or t", "return m.any() | t"),
    ],
)
def test_a_bool_that_a_helper_returns_stays_one(line: str, expected: str) -> None:
    types = {"t": FLAG, "m": MASK, "n": COUNT}
    assert changed("symbolic_logic", line, line.removeprefix("return "), types)[0] == expected


SETTINGS = {"n": COUNT, "self.training": TypeFact("bool"), "self.sharp": TypeFact("bool")}
MADE = "class Model:\n    def __init__(self, sharp):\n        self.sharp: bool = sharp\n"
FOUND = "class Model:\n    def find(self, n):\n        self.sharp = n > 2\n"


@pytest.mark.parametrize(
    ("text", "others", "expected"),
    [
        ("n > 1 and not self.training", "", ["sym_and(n > 1, not self.training)"]),
        ("self.sharp or n > 1", MADE, ["sym_or(self.sharp, n > 1)"]),
        ("n if not self.training else 1", "", []),
        ("n if not self.sharp else 1", MADE, []),
        ("n if self.training and self.sharp else 1", MADE, []),
        ("n if not self.sharp else 1", FOUND, ["n if torch.sym_not(self.sharp) else 1"]),
    ],
)
def test_what_python_knows_is_not_asked_symbolically(text: str, others: str, expected: list[str]) -> None:
    """torch.compile takes no `torch.sym_not(True)`: "torch.* op returned non-Tensor"."""
    wanted = [f"y = {line}" for line in expected]
    assert changed("symbolic_logic", f"y = {text}", text, SETTINGS, others=others) == wanted


@pytest.mark.parametrize("line", ["y = n or 1", "y = n is None and x is None", "y = all(table)", "y = n in table"])
def test_logic_that_is_not_about_bools_stays(line: str) -> None:
    types = {"n": COUNT, "table": TypeFact("list"), "x": TENSOR}
    assert changed("symbolic_logic", line, line.removeprefix("y = "), types) in ([], [line])


def test_the_shortcut_goes_and_the_divisor_stays_positive() -> None:
    lines = "k = m.sum().item()\nif k == 0:\n    return x.new_zeros(())\ny = x[m]\nreturn y.sum() / k"
    types = {"x": TENSOR, "m": MASK, "k": TypeFact("int")}
    assert changed("clamp_divisor", lines, "k == 0", types, "DDE102") == [
        "k = m.sum().item()\nif not torch.compiler.is_compiling() and k == 0:\n    return x.new_zeros(())\n"
        "y = x[m]\nreturn y.sum() / torch.sym_max(k, 1)"
    ]


def test_a_mean_becomes_a_sum_over_at_least_one() -> None:
    lines = "y = x[m]\nif y.numel() > 0:\n    return y.mean(0) * 2\nreturn x.new_zeros(())"
    assert changed("clamp_divisor", lines, "y.numel() > 0", {"x": TENSOR, "m": MASK}) == [
        "y = x[m]\nif torch.compiler.is_compiling() or y.numel() > 0:\n"
        "    return y.sum(0) / torch.sym_max(y.shape[0], 1) * 2\nreturn x.new_zeros(())"
    ]


def test_nothing_divides_nothing_to_clamp() -> None:
    lines = "y = x[m]\nif y.numel() > 0:\n    return y.sum(0)\nreturn x.new_zeros(()) / 2"
    assert changed("clamp_divisor", lines, "y.numel() > 0", {"x": TENSOR, "m": MASK}) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torch._check_is_size(n)", ["torch._check(n >= 0)"]),
        ("torch._check_is_size(n, max=8)", ["torch._check(n >= 0)\ntorch._check(n <= 8)"]),
        ("torch._constrain_as_size(n, 2, 8)", ["torch._check(n >= 2)\ntorch._check(n <= 8)"]),
        ("torch._constrain_as_size(n, max=8)", ["torch._check(n >= 0)\ntorch._check(n <= 8)"]),
        ("torch._constrain_as_value(n, min=2)", ["torch._check(n >= 2)"]),
        ("torch.sym_constrain_range(n, min=2, max=None)", ["torch._check(n >= 2)"]),
        ("torch.sym_constrain_range_for_size(n + 1)", ["torch._check(n + 1 >= 0)"]),
        ("torch._constrain_as_value(n)", []),
        ("torch._check(n > 0)", []),
        ("y = torch._check_is_size(n)", []),
    ],
)
def test_retired_bounds_become_checks(line: str, expected: list[str]) -> None:
    assert changed("retired_api", line, line, {"n": COUNT}, "DDE601") == expected


def test_retired_guards_become_current_ones() -> None:
    line = "if guard_size_oblivious(x.shape[0] == 1):\n    return t\nreturn x"
    assert changed("retired_api", line, "guard_size_oblivious(x.shape[0] == 1)", {}, "DDE602") == [
        line.replace("guard_size_oblivious", "guard_or_false")
    ]
    shapes = "torch.fx.experimental.symbolic_shapes"
    text = (
        f"from {shapes} import guard_size_oblivious\n\n\ndef fn(x):\n    return guard_size_oblivious(x.shape[0] != 1)\n"
    )
    context = context_of(text, "guard_size_oblivious(x", code="DDE602")
    assert rewritten("retired_api", context) == [text.replace("guard_size_oblivious", "guard_or_true")]
    other = "y = guard_size_oblivious(n < 4)"
    assert changed("retired_api", other, "guard_size_oblivious(n < 4)", {}, "DDE602") == []


def test_a_check_in_scripted_code_is_gated() -> None:
    assert changed("retired_api", "torch._check(n > 0)\nreturn x", "torch._check(n > 0)", {}, "DDE605") == [
        "if not torch.jit.is_scripting():\n    torch._check(n > 0)\nreturn x"
    ]


@pytest.mark.parametrize(
    ("line", "types", "expected"),
    [
        ("y = t.item() // 2", {"t": INDEX}, ["y = (t // 2).item()"]),
        ("y = t.item() * 2 + 1", {"t": INDEX}, ["y = (t * 2 + 1).item()"]),
        ("y = int(t) // 2", {"t": INDEX}, ["y = (t // 2).item()"]),
        ("y = t.item() // 2", {"t": SCALAR}, []),
        ("y = t.item() / 2", {"t": INDEX}, []),
        ("y = t.item() * 300", {"t": TypeFact("tensor", "uint8", ())}, []),
        ("y = t.item() * n", {"t": INDEX, "n": TypeFact("float")}, []),
    ],
)
def test_arithmetic_moves_before_the_read(line: str, types: dict[str, TypeFact], expected: list[str]) -> None:
    assert changed("arithmetic_before_item", line, line.removeprefix("y = "), types) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "a, b = torch.chunk(x, 2)",
            "torch._check_value(x.shape[0] != 1)\nhalf = (x.shape[0] + 1) // 2\n"
            "a, b = (x.narrow(0, 0, half), x.narrow(0, half, x.shape[0] - half))",
        ),
        (
            "a, b = x.chunk(2, dim=-1)",
            "torch._check(x.shape[-1] % 2 == 0)\nhalf = x.shape[-1] // 2\n"
            "a, b = (x.narrow(-1, 0, half), x.narrow(-1, half, half))",
        ),
        (
            "a, b = x.split(n)",
            "torch._check(n > 0)\ntorch._check_value(n < x.shape[0])\ntorch._check_value(x.shape[0] <= 2 * n)\n"
            "a, b = x.split([n, x.shape[0] - n])",
        ),
        ("a, b = x[m]", "whole = x[m]\ntorch._check_value(whole.shape[0] == 2)\na, b = whole"),
        ("a, b, c = t", "torch._check_value(t.shape[0] == 3)\na, b, c = t"),
        ("a, b = t.unbind(1)", "torch._check_value(t.shape[1] == 2)\na, b = t.unbind(1)"),
        (
            "y = torch.nn.functional.one_hot(t)",
            "y = (t.unsqueeze(-1) == torch.arange(t.max().item() + 1, device=t.device)).long()",
        ),
        (
            "y = torch.nn.functional.one_hot(t, n)",
            "y = (t.unsqueeze(-1) == torch.arange(n, device=t.device)).long()",
        ),
        (
            "y = torch.nn.functional.one_hot(t, n + 1)[..., :4]",
            "y = (t.unsqueeze(-1) == torch.arange(4, device=t.device)).long()",
        ),
        (
            "y = torch.linspace(0, 1, n)",
            "y = torch.arange(n, dtype=torch.get_default_dtype()) / torch.sym_max(n - 1, 1)",
        ),
        (
            "y = x.unfold(0, n, 1)",
            "windows = (\n    torch.arange(0, x.shape[0] - n + 1, 1, device=x.device).unsqueeze(1)\n"
            "    + torch.arange(n, device=x.device)\n)\ny = x[windows].movedim(1, -1)",
        ),
    ],
)
def test_counts_become_static(line: str, expected: str) -> None:
    types = {"x": TENSOR, "m": MASK, "n": COUNT, "t": INTEGERS}
    assert expected in changed("static_count", line, line, types)


@pytest.mark.parametrize("line", ["y = x.chunk(n)", "a, b = x.split(2)", "a, *b = t", "y = x.chunk(*table)"])
def test_counts_that_stay(line: str) -> None:
    types = {"x": TENSOR, "n": COUNT, "t": INTEGERS}
    assert changed("static_count", line, line.split(" = ")[1], types) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = x.view(n, -1)", "y = x.view(n, x.numel() // n)"),
        ("y = x.view(n, -1)", "y = x.reshape(n, -1)"),
        ("y = x.reshape((-1, n, 2))", "y = x.reshape((x.numel() // (n * 2), n, 2))"),
        ("y = x.expand(-1, n)", "y = x.expand(x.shape[0], n)"),
        ("y = x.view((n, n))", "torch._check(n * n == x.numel())\ny = x.view((n, n))"),
    ],
)
def test_sizes_become_explicit(line: str, expected: str) -> None:
    assert expected in changed("explicit_size", line, line.removeprefix("y = "), {"x": BATCH, "n": COUNT})


def test_a_size_at_hand_is_taken() -> None:
    lines = "k = int(t.max().item())\nreturn torch.arange(k) < x"
    types = {"x": BATCH, "t": INTEGERS, "k": TypeFact("int", value="6")}
    assert changed("size_at_hand", lines, "torch.arange(k) < x", types, "DDE307") == [
        "torch._check(t.max().item() == x.shape[1])\nk = x.shape[1]\nreturn torch.arange(k) < x"
    ]


@pytest.mark.parametrize(
    ("repeated", "sized"),
    [
        ("x.repeat_interleave(torch.tensor(c))", "x.repeat_interleave(torch.tensor(c), output_size=sum(c))"),
        (
            "torch.repeat_interleave(x, torch.as_tensor(c, device=d), dim=0)",
            "torch.repeat_interleave(x, torch.as_tensor(c, device=d), dim=0, output_size=sum(c))",
        ),
        (
            "torch.repeat_interleave(x, torch.as_tensor(c, device=d))",
            "torch.repeat_interleave(x, torch.as_tensor(c, device=d), output_size=sum(c))",
        ),
        ("torch.repeat_interleave(x, t)", None),
    ],
)
def test_the_size_of_what_is_repeated_by_numbers_of_pythons_is_their_sum(repeated: str, sized: str | None) -> None:
    text = f"{HEAD}    y = {repeated}\n    return y + y.shape[0]\n"
    row = HEAD.count("\n") + 1
    context = context_of(text, "y.shape[0]", {"c": TypeFact("list"), "t": INTEGERS}, "DDE304", "y.shape[0] == 4")
    place = Span(context.site.source.filename, row, 9, row, 9 + len(repeated))
    symbols = (Symbol("y.shape[0]", repeated, place),)
    context = dataclasses.replace(context, diagnostic=dataclasses.replace(context.diagnostic, symbols=symbols))
    found = rewritten("size_at_hand", context)
    assert found == ([f"{HEAD}    y = {sized}\n    return y + y.shape[0]\n"] if sized else [])


def test_what_is_repeated_in_a_helper_is_sized_there() -> None:
    helper = (
        "def ids(sizes):\n    counts = torch.tensor(sizes)\n    return torch.arange(2).repeat_interleave(counts)\n\n\n"
    )
    text = f"import torch\n\n\n{helper}\n\ndef fn(x):\n    y = ids([2, 3])\n    return x + y.shape[0]\n"
    context = context_of(text, "y.shape[0]", {}, "DDE304", "y.shape[0] == 4")
    place = Span(context.site.source.filename, 6, 12, 6, 53)
    symbols = (Symbol("y.shape[0]", "…", place),)
    context = dataclasses.replace(context, diagnostic=dataclasses.replace(context.diagnostic, symbols=symbols))
    (found,) = rewritten("size_at_hand", context)
    assert "repeat_interleave(counts, output_size=sum(sizes))" in found


def test_where_nothing_says_what_is_asked_about_all_that_is_repeated_is_sized() -> None:
    lines = "y = x.repeat_interleave(torch.tensor(n))\nreturn combined(y)"
    (found,) = changed("size_at_hand", lines, "combined(y)", {"x": BATCH}, "DDE304")
    assert "x.repeat_interleave(torch.tensor(n), output_size=sum(n))" in found


def with_symbol(text: str, asking: str, symbol: Symbol, expression: str, types: dict[str, TypeFact]) -> list[str]:
    context = context_of(text, asking, types, "DDE304", expression)
    context = dataclasses.replace(
        context, diagnostic=dataclasses.replace(context.diagnostic, symbols=(symbol,), expression=expression)
    )
    return [text[len(HEAD) :] for text in rewritten("size_fact", context)]


def test_a_count_is_at_least_nothing_and_at_most_everything() -> None:
    text = HEAD + "    k = m.sum().item()\n    return x.new_zeros(k)\n"
    symbol = Symbol("k", "m.sum().item()")
    found = with_symbol(text, "x.new_zeros(k)", symbol, "k >= 0", {"m": MASK})
    assert found[0].splitlines() == [
        "    k = m.sum().item()",
        "    torch._check(k >= 0)",
        "    torch._check(k <= m.numel())",
        "    return x.new_zeros(k)",
    ]


@pytest.mark.parametrize(
    ("test", "offered"),
    [
        ("k > 0", False),
        ("k == 0", False),
        ("k < 0", True),
        ("k > 100", True),
        ("k <= m.numel()", True),
    ],
)
def test_bounds_that_leave_a_test_open_are_not_stated(test: str, offered: bool) -> None:
    text = HEAD + f"    k = m.sum().item()\n    if {test}:\n        return x\n    return m\n"
    symbol = Symbol("k", "m.sum().item()")
    assert bool(with_symbol(text, test, symbol, test, {"m": MASK})) is offered


@pytest.mark.parametrize("test", ["y.shape[0] > 0", "y.shape[0] >= 3", "y.shape[0] > x.shape[0]", "y.shape[0] == 2"])
def test_that_a_size_is_not_negative_decides_no_test(test: str) -> None:
    text = (
        HEAD
        + "    y = x[m]\n    match y.shape[0]:\n        case 0:\n            return x\n"
        + f"    if {test}:\n        return y\n"
    )
    for asking in (test, "0"):
        assert with_symbol(text, asking, Symbol("y.shape[0]", "x[m]"), test, {"m": MASK}) == []


def test_what_an_operator_asks_is_stated() -> None:
    text = HEAD + "    k = t.item()\n    return x.view(k, k)\n"
    symbol = Symbol("k", "t.item()")
    assert with_symbol(text, "x.view(k, k)", symbol, "k * k == 16", {"t": INDEX})[0] == (
        "    k = t.item()\n    torch._check(k * k == 16)\n    return x.view(k, k)\n"
    )
    assert with_symbol(text, "x.view(k, k)", symbol, "k == 0", {"t": INDEX})[0].splitlines()[1] == (
        "    torch._check(k != 0)"
    )


@pytest.mark.parametrize("number", [0, 1])
def test_whoever_hopes_that_there_is_not_one_row_may_hope_for_several(number: int) -> None:
    """Batch norm asks for one value a channel; where there is not one, what it goes on to asks for none."""
    text = HEAD + "    y = x[m]\n    return combined(y)\n"
    asked = f"y.shape[0] == {number}"
    found = with_symbol(text, "combined(y)", Symbol("y.shape[0]", "x[m]"), asked, {"m": MASK})
    stated = [next(line.strip() for line in one.splitlines() if "_check" in line) for one in found]
    assert f"torch._check(y.shape[0] != {number})" in stated
    assert stated.index(f"torch._check(y.shape[0] > {number})") < stated.index(f"torch._check({asked})")


def test_a_sum_of_integers_is_no_count() -> None:
    text = HEAD + "    k = t.sum().item()\n    if k >= 0:\n        return x\n    return t\n"
    assert with_symbol(text, "k >= 0", Symbol("k", "t.sum().item()"), "k >= 0", {"t": INTEGERS}) == []


def test_pieces_between_running_totals() -> None:
    lines = (
        "ends = t.cumsum(0).tolist()\nstarts = [0] + ends[:-1]\nparts = [x[s:e] for s, e in zip(starts, ends)]\n"
        "return torch.cat(parts)"
    )
    asking = "[x[s:e] for s, e in zip(starts, ends)]"
    assert changed("lengths", lines, asking, {"x": TENSOR, "t": INTEGERS}, "DDE302") == [
        "ends = t.cumsum(0).tolist()\nstarts = [0] + ends[:-1]\nlengths = t.tolist()\n"
        "parts = list(x.narrow(0, 0, sum(lengths)).split(lengths))\nreturn torch.cat(parts)"
    ]


@pytest.mark.parametrize(
    "pieces",
    [
        "[x[a:b] for a, b in zip(offs[:-1], offs[1:])]",
        "[x[a:b] for a, b in zip(offs, offs[1:])]",
        "[x[offs[i] : offs[i + 1]] for i in range(len(offs) - 1)]",
    ],
)
def test_pieces_between_offsets(pieces: str) -> None:
    lines = f"offs = t.tolist()\nreturn {pieces}"
    assert changed("lengths", lines, pieces, {"x": TENSOR, "t": INTEGERS}, "DDE302") == [
        "offs = t.tolist()\nlengths = torch.diff(t).tolist()\n"
        "return list(x.narrow(0, offs[0], offs[-1] - offs[0]).split(lengths))"
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "y = torch.tensor_split(x, t)",
            "y = torch.split(x, torch.diff(t, prepend=t.new_zeros(1), append=t.new_full((1,), x.shape[0])).tolist())",
        ),
        (
            "y = x.tensor_split(t, dim=1)",
            "y = torch.split(\n    x,\n    torch.diff(t, prepend=t.new_zeros(1), "
            "append=t.new_full((1,), x.shape[1])).tolist(),\n    dim=1,\n)",
        ),
    ],
)
def test_cuts_become_lengths(line: str, expected: str) -> None:
    types = {"x": TENSOR, "t": INTEGERS}
    assert changed("split_by_lengths", line, line.removeprefix("y = "), types, "DDE303") == [expected]


@pytest.mark.parametrize("line", ["y = torch.tensor_split(x, 3)", "y = torch.tensor_split(x, (1, 2))"])
def test_cuts_that_are_known_stay(line: str) -> None:
    assert changed("split_by_lengths", line, line.removeprefix("y = "), {"x": TENSOR}, "DDE303") == []


def test_a_cached_function_is_called_plain_while_compiling() -> None:
    text = (
        "import functools\nimport torch\n\n\n@functools.lru_cache(maxsize=None)\ndef ramp(n):\n"
        "    return torch.arange(n)\n\n\ndef plain(n):\n    return n\n\n\ndef fn(x, n):\n"
        "    return x + ramp(n) + plain(n)\n"
    )
    after = rewritten("bypass_cache", context_of(text, "ramp(n)", occurrence=1))
    assert after == [text.replace("+ ramp(n)", "+ (ramp.__wrapped__ if torch.compiler.is_compiling() else ramp)(n)")]
    assert rewritten("bypass_cache", context_of(text, "plain(n)", occurrence=1)) == after


def test_a_dictionary_is_passed_by() -> None:
    text = (
        "import torch\n\nCACHE = {}\n\n\ndef fn(n):\n    if n not in CACHE:\n        CACHE[n] = torch.arange(n)\n"
        "    return CACHE[n]\n"
    )
    assert rewritten("bypass_cache", context_of(text, "n not in CACHE")) == [
        text.replace(
            "    if n not", "    if torch.compiler.is_compiling():\n        return torch.arange(n)\n    if n not"
        )
    ]


@pytest.mark.parametrize(
    ("test", "copy", "expected"),
    [
        (
            "not y.is_contiguous(memory_format=torch.channels_last)",
            "y.to(memory_format=torch.channels_last)",
            "y = y.contiguous(memory_format=torch.channels_last)",
        ),
        ("not y.is_contiguous()", "y.contiguous()", "y = y.contiguous()"),
        ("y.stride(-1) != 1", "y.contiguous()", "y = y.contiguous()"),
        ("y.storage_offset() != 0", "y.clone()", "y = y.clone()"),
    ],
)
def test_a_layout_test_goes(test: str, copy: str, expected: str) -> None:
    lines = f"y = x[m]\nif {test}:\n    y = {copy}\nreturn y"
    assert changed("unconditional_format", lines, test, {}, "DDE403") == [f"y = x[m]\n{expected}\nreturn y"]


def test_a_layout_test_that_decides_more_stays() -> None:
    for lines in (
        "y = x[m]\nif not y.is_contiguous():\n    t = y.contiguous()\nreturn y",
        "y = x[m]\nif not y.is_contiguous():\n    y = y.contiguous()\nelse:\n    y = y + 1\nreturn y",
        "y = x[m]\nif not y.is_contiguous() and x.is_cuda():\n    y = y.contiguous()\nreturn y",
    ):
        assert changed("unconditional_format", lines, "not y.is_contiguous()", {}, "DDE403") == []


OPERATOR = (
    'import torch\n\n\n@torch.library.custom_op("own::positive", mutates_args=())\n'
    "def positive(x: torch.Tensor) -> torch.Tensor:\n    return x[x > 0].clone()\n\n\n"
    "def fn(x):\n    return positive(x).sum()\n"
)


def test_a_fake_kernel_with_a_size_of_its_own() -> None:
    seen = ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty(size)")
    context = dataclasses.replace(context_of(OPERATOR, "positive(x).sum()"), fake=seen, operator="own.positive")
    after = rewritten("fake_kernel", context)
    assert after[0] == OPERATOR.replace(
        ".clone()\n",
        ".clone()\n\n\n@positive.register_fake\ndef _(x: torch.Tensor) -> torch.Tensor:\n"
        "    size = torch.library.get_ctx().new_dynamic_size()\n    return x.new_empty(size)\n",
    )


def test_what_the_real_kernel_returned_is_what_the_fake_one_says() -> None:
    text = OPERATOR.replace("torch", "th").replace("import th", "import torch as th")
    seen = ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty(size, dtype=torch.float64)")
    context = dataclasses.replace(context_of(text, "positive(x).sum()"), fake=seen, operator="own.positive")
    first = rewritten("fake_kernel", context)[0]
    assert (
        "    size = th.library.get_ctx().new_dynamic_size()\n    return x.new_empty(size, dtype=th.float64)\n" in first
    )
    other = dataclasses.replace(context, operator="own.negative")
    assert rewritten("fake_kernel", other) == []


@pytest.mark.parametrize(
    ("definition", "parameters"),
    [
        ('library.define("pick(Tensor x, float least=0.5, *, bool up) -> Tensor")', "x, least=0.5, *, up"),
        ('torch.library.define("own::pick", "(Tensor(a!)? x, int[2] sizes) -> (Tensor, int)")', "x, sizes"),
    ],
)
def test_an_operator_that_a_schema_defines_gets_its_fake_below(definition: str, parameters: str) -> None:
    text = f"import torch\n\n{definition}\nlibrary.impl('pick', choose)\n\n\ndef fn(x):\n    return choose(x).sum()\n"
    context = dataclasses.replace(
        context_of(text, "choose(x).sum()"), fake=("return x.new_empty(3)",), operator="own.pick.default"
    )
    kernel = f'@torch.library.register_fake("own::pick")\ndef _({parameters}):\n    return x.new_empty(3)\n'
    assert rewritten("fake_kernel", context) == [text.replace(f"{definition}\n", f"{definition}\n\n\n{kernel}\n\n")]


def test_an_operator_with_a_fake_gets_no_second_one() -> None:
    text = OPERATOR.replace("def fn", "@positive.register_fake\ndef _(x):\n    return x.new_empty(3)\n\n\ndef fn")
    context = dataclasses.replace(
        context_of(text, "positive(x).sum()"), fake=("return x.new_empty(3)",), operator="own.positive"
    )
    assert rewritten("fake_kernel", context) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("y = sorted(t.tolist())", "y = t.sort().values.tolist()"),
        ("y = sorted(t.tolist(), reverse=True)", "y = t.sort(descending=True).values.tolist()"),
        ("y = x * math.sqrt(n)", "y = x * torch.sym_sqrt(n)"),
    ],
)
def test_functions_of_numbers_become_symbolic(line: str, expected: str) -> None:
    assert changed("symbolic_function", line, line.removeprefix("y = "), {"t": INTEGERS}) == [expected]


def test_every_candidate_says_what_it_claims() -> None:
    context = context_of(HEAD + "    y = x[:n]\n", "x[:n]", {"x": TENSOR, "n": COUNT})
    for candidate in candidates("narrow", context):
        assert candidate.claim is Claim.RESTRUCTURED
        assert candidate.notes
        assert "`x[:n]`" in candidate.message


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("    if n in MILESTONES:\n        x = x / 2\n    return x\n", "n in MILESTONES"),
        ("    if n not in MILESTONES:\n        return x\n    return x / 2\n", "n not in MILESTONES"),
        ("    return x / 2 if n in MILESTONES else x\n", "n in MILESTONES"),
        ("    factor = FACTORS.get(n)\n    return x if factor is None else x * factor\n", "FACTORS.get(n)"),
        ("    done = n in MILESTONES\n    return x * done\n", "n in MILESTONES"),
    ],
)
def test_what_others_fill_is_no_cache(body: str, asking: str) -> None:
    """As if it held nothing, while compiling: both answers must be seen, which the text alone never shows."""
    text = f"MILESTONES, FACTORS = (100, 200), {{7: 0.5}}\n\n\ndef fn(x, n):\n{body}"
    (candidate,) = candidates("bypass_cache", context_of(text, asking, {"x": TENSOR}, "DDE208"))
    assert candidate.claim is Claim.GENERAL_PATH
    assert len(candidate.decisions) == 1


@pytest.mark.parametrize(
    "body",
    [
        "    found = CACHE.get(n)\n    if found is None:\n        found = CACHE[n] = x[:n]\n    return found\n",
        "    found = CACHE.get(n)\n    if found is None:\n        CACHE.setdefault(n, x[:n])\n    return x[:n]\n",
        "    found = CACHE.get(n)\n    if found is not None:\n        return found\n    CACHE[n] = x\n    return x\n",
    ],
)
def test_what_is_filled_where_it_is_asked_is_one(body: str) -> None:
    text = f"CACHE = {{}}\n\n\ndef fn(x, n):\n{body}"
    found = list(candidates("bypass_cache", context_of(text, "CACHE.get(n)", {"x": TENSOR}, "DDE208")))
    assert [candidate.claim for candidate in found] == [Claim.EQUIVALENT]


def test_what_is_stored_for_others_is_missed() -> None:
    text = "SEEN = {}\n\n\ndef fn(x, n):\n    SEEN[n] = 1\n    return x[:n]\n"
    (candidate,) = candidates("bypass_cache", context_of(text, "SEEN[n]", {"x": TENSOR}, "DDE208"))
    assert candidate.claim is Claim.RESTRUCTURED
    assert "stores nothing" in candidate.doubt


def test_a_store_into_a_tensor_is_no_cache() -> None:
    assert changed("bypass_cache", "x[n:] = 0.0", "x[n:]", {"x": BATCH, "n": COUNT}) == []
