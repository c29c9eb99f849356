"""A tensor that is nothing but a number is read where it is bound; a number whose value is wanted is no symbol."""

from __future__ import annotations

import pytest
from control_flow import INTEGERS, MASK, TENSOR, candidates, context_of, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.static_fixes import fixed_text, with_static_fixes
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source

INDEX = TypeFact("tensor", "int64", ())
TYPES = {"x": TENSOR, "m": MASK, "t": INDEX, "k": INDEX, "n": INDEX}
HEAD = "import torch\n\n\ndef fn(x, m, t, table):\n"


def text(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines)


def first(move: str, asking: str, *lines: str) -> str:
    return rewritten(move, context_of(text(*lines), asking, TYPES))[0]


def test_a_size_is_read_where_it_is_bound() -> None:
    uses = (
        "a = x.new_zeros(n)",
        "b = torch.arange(n + 1)",
        "for i in range(int(n)):",
        "    b = b + x[n.item()]",
        "return a, b, x[:n]",
    )
    expected = (
        "a = x.new_zeros(n)",
        "b = torch.arange(n + 1)",
        "for i in range(n):",
        "    b = b + x[n]",
        "return a, b, x[:n]",
    )
    assert first("explicit_item", "x.new_zeros(n)", "n = m.sum()", *uses) == text("n = m.sum().item()", *expected)


def test_casts_go_where_the_number_is_read_at_once() -> None:
    before = ("n = t.max() - 1", "a = x.narrow(0, 0, int(n))", "return a + torch.ones(int(n))")
    after = ("n = (t.max() - 1).item()", "a = x.narrow(0, 0, n)", "return a + torch.ones(n)")
    assert first("item_instead_of_cast", "int(n)", *before) == text(*after)


@pytest.mark.parametrize(
    "use",
    [
        "b = x / n",
        "b = n > 3",
        "b = n.float()",
        "b = torch.stack([n, n])",
        "b = str(n)",
        "b = torch.where(m, n, x)",
        "n += 1",
    ],
)
def test_a_tensor_stays_one_for_its_other_uses(use: str) -> None:
    lines = ("n = m.sum()", "a = x.new_zeros(n)", use, "return a, b")
    assert first("explicit_item", "x.new_zeros(n)", *lines) == text(lines[0], "a = x.new_zeros(n.item())", *lines[2:])


def test_a_tensor_of_several_numbers_is_not_read() -> None:
    lines = ("n = m.sum(0)", "a = x.new_zeros(n)", "return a, x[:n]")
    texts = rewritten("explicit_item", context_of(text(*lines), "x.new_zeros(n)", {"x": TENSOR, "n": INTEGERS}))
    assert texts == []


def test_a_read_that_is_repeated_goes_to_where_the_name_is_bound() -> None:
    before = ("n = m.sum()", "a = x.narrow(0, 0, n.item())", "return a + torch.ones(n.item())")
    after = ("n = m.sum().item()", "a = x.narrow(0, 0, n)", "return a + torch.ones(n)")
    assert first("hoist_item", "torch.ones(n.item())", *before) == text(*after)


@pytest.mark.parametrize(
    ("value", "write"), [("t[0]", "t[0] = 1"), ("t.view(())", "t.add_(1)"), ("t[0].detach()", "t += 1")]
)
def test_a_view_is_read_where_its_number_is_wanted(value: str, write: str) -> None:
    lines = (f"n = {value}", write, "a = x.new_zeros(n)", "return a, x[:n]")
    assert first("explicit_item", "x.new_zeros(n)", *lines) == text(*lines).replace("zeros(n)", "zeros(n.item())")
    fresh = text(*lines).replace(f"n = {value}", f"n = ({value}).sum()")
    context = context_of(fresh, "x.new_zeros(n)", TYPES)
    assert rewritten("explicit_item", context)[0] == fresh.replace(".sum()", ".sum().item()")


@pytest.mark.parametrize("mask", ["x > 0", "torch.isnan(x)"])
def test_fixes_of_several_findings_say_the_same(mask: str) -> None:
    uses = "a = x.new_zeros(n)\n    b = torch.arange(int(n))\n    c = torch.ones(int(n))\n    return a, b, c, x[:n]\n"
    source = SourceFile("model.py", f"import torch\n\n\n@torch.compile\ndef f(x):\n    n = ({mask}).sum()\n    {uses}")
    after = fixed_text(source, with_static_fixes(check_source(source), {"model.py": source}), True)
    assert after == source.text.replace(".sum()", ".sum().item()").replace("int(n)", "n")


@pytest.mark.parametrize(
    "lines",
    [
        ("names = {0: 1.0}", "k = int(t)", "return x * names[k]"),
        ("names = dict(a=1)", "return x * names.get(int(t), 2)"),
        ("names = {0: 1.0}", "return x * names[int(t) + 1]"),
        ("names = {}", "k = int(t)", "names[k, 1] = x", "return names"),
        ("k = int(t)", "return {k: x}"),
        ("k = int(t)", "return {v: k for v in {k}}"),
        ("return {int(t) for _ in range(3)}",),
        ("seen = set()", "k = int(t)", "seen.add(k)", "return x"),
        ("seen = {1, 2}", "if int(t) in seen:", "    return x", "return t"),
        ("k = int(t)", "return f'{k} rows'"),
        ("return '{} rows'.format(int(t))",),
        ("return '%d of %d' % (int(t), 4)",),
        ("return str(int(t))",),
        ("if (k := int(t)) > 3:", "    return hash(k)", "return x"),
        ("k = int(t)", "return x if k is 1 else t"),
        ("match int(t):", "    case int():", "        return x"),
        ("k = int(t)", "match k, x:", "    case int() | float(), _:", "        return x"),
    ],
)
def test_a_number_whose_value_is_wanted_stays_a_cast(lines: tuple[str, ...]) -> None:
    assert candidates("item_instead_of_cast", context_of(text(*lines), "int(t)", TYPES)) == []


@pytest.mark.parametrize(
    "lines",
    [
        ("match bool(t):", "    case True:", "        return x", "    case False:", "        return t"),
        ("match bool(t):", "    case True | None:", "        return x", "return t"),
        ("found = bool(t)", "match found:", "    case False:", "        return x", "return t"),
        ("match bool(t), 1:", "    case (True, _):", "        return x", "return t"),
        ("return x if bool(t) is True else t",),
        ("found = bool(t)", "if found is not False:", "    return x", "return t"),
        ("found = bool(t)", "if torch.compiler.is_compiling():", "    return {found: x}", "return t"),
    ],
)
def test_a_truth_value_that_is_compared_by_identity_stays_a_cast(lines: tuple[str, ...]) -> None:
    assert candidates("item_instead_of_cast", context_of(text(*lines), "bool(t)", TYPES)) == []


@pytest.mark.parametrize(
    "lines",
    [
        ("k = int(t)", "return x[k]"),
        ("k = int(t)", "return x[k, 1], (k, 1)"),
        ("k = int(t)", "return x.add(k)"),
        ("k = int(t)", "if k > 3:", "    raise ValueError(f'{k} rows')", "return x"),
        ("return {1: int(t)}",),
        ("k = int(t)", "return x % k"),
        ("k = int(t)", "return k in (1, 2)"),
        ("match int(t):", "    case 0 | 1:", "        return x", "    case _:", "        return t"),
        ("k = int(t)", "if not torch.compiler.is_compiling():", "    print(f'{k} rows')", "return x[k]"),
        ("k = int(t)", "if torch.compiler.is_compiling():", "    return x", "else:", "    return {k: x}"),
        ("k = int(t)", "return x if k is None else t[k]"),
    ],
)
def test_other_numbers_become_symbols(lines: tuple[str, ...]) -> None:
    assert first("item_instead_of_cast", "int(t)", *lines) == text(*lines).replace("int(t)", "t.item()")
