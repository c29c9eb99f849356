"""What a run of statements reads, gives and changes."""

from __future__ import annotations

import ast

import pytest

from ddelint.rewrite.reading.regions import (
    assigned_on_every_way,
    changed_in_place,
    ends_in_return,
    free_names,
    live_behind,
    of_unknown_length,
    separate_names,
)
from ddelint.sources.source import SourceFile


@pytest.mark.parametrize(
    ("body", "free"),
    [
        ("y = x\nz = y", {"x"}),
        ("if c:\n    y = x\nz = y", {"c", "x", "y"}),
        ("if c:\n    y = x\nelse:\n    y = w\nz = y", {"c", "x", "w"}),
        ("if c:\n    raise E\nelse:\n    y = w\nz = y", {"c", "E", "w"}),
        ("for i in a:\n    b = i + b", {"a", "b"}),
        ("while b > 1:\n    c = b\n    b = c", {"b"}),
        ("y += x", {"x", "y"}),
        ("z = [p.sum() for p in a]", {"a"}),
        ("with a as b:\n    c = b\nd = c", {"a"}),
        ("try:\n    y = x\nexcept E:\n    z = y", {"x", "y", "E"}),
        ("match m:\n    case 0:\n        y = a\n    case n:\n        y = n\nz = y", {"m", "a"}),
        ("match m:\n    case 0:\n        y = a\nz = y", {"m", "a", "y"}),
        ("match m:\n    case [p, *q] if p > c:\n        y = q", {"m", "c"}),
        ("for i in a:\n    if c:\n        break\nelse:\n    i = b\nz = i", {"a", "b", "c"}),
        ("for i in a:\n    if c:\n        break\nz = i", {"a", "c", "i"}),
        ("z = n if (n := x) > 0 else -n", {"x"}),
        ("z = n + (n if (n := x) > 0 else 1)", {"n", "x"}),
        ("if (n := x) > 0 and n < 5:\n    y = n\nz = n", {"x"}),
        ("while (n := step(x)) > 0:\n    x = x - n\ny = n", {"step", "x"}),
        ("if c and (n := x) > 0:\n    y = n\nz = n", {"c", "n", "x"}),
        ("if n > 0 and (n := x) > 0:\n    y = n", {"n", "x"}),
        ("if (n := n + 1) > 0:\n    y = n", {"n"}),
        ("if any((n := p) > 0 for p in a):\n    y = n", {"a", "any", "n"}),
    ],
)
def test_names_that_are_read_before_they_are_given(body: str, free: set[str]) -> None:
    assert free_names(ast.parse(body).body) == free


def test_what_statements_change_in_place() -> None:
    body = "a[0] = 1\nb.add_(1)\nc = c + 1\nd = e.clone()\nd[0] = 2\nf += 1\nself.g.zero_()\nh = []\nh.append(1)"
    assert changed_in_place(ast.parse(body).body) == {"a", "b", "f", "self.g"}


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("if c:\n    x = x.clone()\n    x[0] = 1", set()),
        ("if c:\n    x[0] = 1\nelse:\n    x = x.clone()", {"x"}),
        ("for i in a:\n    y = x + i\n    y[0] = 1\n    x.zero_()", {"x"}),
        ("if c:\n    x = x.clone()\nx[0] = 1", {"x"}),
        ("for r in rows:\n    t = r * 2\n    t = r\n    t.mul_(2)", {"t"}),
        ("for r in rows:\n    t = r * 2\n    t += r\n    t.mul_(2)", set()),
        ("with c:\n    if d:\n        rows = []\n        rows.append(x)", set()),
        ("while x.add_(1).sum() < 4:\n    y = x * 2\n    y.zero_()", {"x"}),
    ],
)
def test_a_block_changes_nothing_that_it_has_made(body: str, changed: set[str]) -> None:
    assert changed_in_place(ast.parse(body).body) == changed


@pytest.mark.parametrize(
    ("body", "given", "returns"),
    [
        ("a = 1\nif c:\n    b = 1\nelse:\n    b = 2", {"a", "b"}, False),
        ("while (n := f(x)) > 0:\n    x = x - n", {"n"}, False),
        ("if (n := f(x)) > 0 and (m := n):\n    pass", {"n"}, False),
        ("match (n := f(x)):\n    case 0:\n        a = 1", {"n"}, False),
        ("for i in a:\n    b = 1", set(), False),
        ("for i in a:\n    if c:\n        b = i\n        break\nelse:\n    i = b = 0", {"i", "b"}, False),
        ("for i in a:\n    if c:\n        break\n    b = i\nelse:\n    b = 0", set(), False),
        ("for i in a:\n    with c as b:\n        if d:\n            break\nelse:\n    return 0", {"i", "b"}, False),
        ("for i in a:\n    for j in i:\n        break\nelse:\n    j = 1", {"j"}, False),
        ("while True:\n    b = 1\n    if c:\n        d = 2\n        break", {"b", "d"}, False),
        ("while c:\n    b = 1\n    break", set(), False),
        ("match a:\n    case 0:\n        b = 1\n    case _:\n        b = c = 2", {"b"}, False),
        ("match a:\n    case 0:\n        b = 1", set(), False),
        ("match a:\n    case 0:\n        return 1\n    case _:\n        return 2", set(), True),
        ("match a:\n    case 0:\n        return 1\n    case b:\n        c = b", {"b", "c"}, False),
        ("if c:\n    return 1\nd = 2\nreturn d", {"d"}, True),
        ("if c:\n    return 1\nelse:\n    return 2", set(), True),
        ("if c:\n    return 1", set(), False),
    ],
)
def test_what_every_way_gives(body: str, given: set[str], returns: bool) -> None:
    parsed = ast.parse(body).body
    assert assigned_on_every_way(parsed) == given
    assert ends_in_return(parsed) == returns


@pytest.mark.parametrize(
    ("body", "live"),
    [
        ("HERE\nreturn a", {"a"}),
        ("HERE\na = b\nreturn a", {"b"}),
        ("for i in x:\n    HERE\nfor i in y:\n    b = i", {"x", "y"}),
        ("for i in x:\n    b = a\n    HERE\n    a = 1\nreturn c", {"x", "c"}),
        ("while a > 0:\n    HERE\n    b = 1\nreturn b", {"a", "b"}),
        ("if c:\n    HERE\nelse:\n    d = e\nreturn d", {"d"}),
        ("if c:\n    HERE\n    d = 1\nreturn d", set()),
        ("try:\n    HERE\nexcept E:\n    b = f\nreturn b", {"b", "f"}),
    ],
)
def test_what_is_read_behind_a_statement(body: str, live: set[str]) -> None:
    text = "def fn():\n" + "".join(f"    {line}\n" for line in body.replace("HERE", "here = 1").splitlines())
    source = SourceFile("program.py", text)
    here = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Assign) and ast.unparse(n) == "here = 1")
    assert live_behind(source, here) == live


@pytest.mark.parametrize(
    ("body", "growing"),
    [
        ("keep = []\nwhile rows.shape[0] > 0:\n    keep.append(rows[0])\n    rows = rows[1:]", {"keep"}),
        ("for row in rows:\n    if row > 0:\n        keep.append(row)", {"keep"}),
        ("for row in rows:\n    if row > 0:\n        keep += [row]", {"keep"}),
        ("while go:\n    for row in rows:\n        keep.extend(row)\n    go = False", {"keep"}),
        ("for level in range(3):\n    keep.append(rows[level])", set()),
        ("for row in rows:\n    pass\nelse:\n    if row > 0:\n        keep.append(row)", {"keep"}),
        ("for row in rows:\n    if row > 0:\n        break\nelse:\n    keep.append(row)", {"keep"}),
        ("for row in rows:\n    pass\nelse:\n    keep.append(row)", set()),
        ("for row in rows:\n    keep.append(row)\n    if row > 0:\n        break", {"keep"}),
        ("for row in rows:\n    if row > 0:\n        continue\n    keep.append(row)", {"keep"}),
        ("for row in rows:\n    keep.append(row)\n    if row > 0:\n        continue\n    other = row", set()),
        ("for row in rows:\n    keep.append(row)\n    for one in row:\n        if one:\n            break", set()),
        ("while go:\n    self.keep.append(rows)\n    go = False", set()),
    ],
)
def test_lists_whose_length_nobody_knows(body: str, growing: set[str]) -> None:
    assert of_unknown_length(ast.parse(body).body) == growing


@pytest.mark.parametrize(
    ("value", "alone"),
    [
        ("self.trimmed(x)", False),
        ("self.drop(x)", False),
        ("helper(x)", False),
        ("x.view(-1)", False),
        ("torch.relu(x)", True),
        ("self.scale.exp()", True),
        ("x * 2", True),
    ],
)
def test_what_may_be_given_back_is_no_value_of_its_own(value: str, alone: bool) -> None:
    body = ast.parse(f"y = {value}").body
    assert separate_names(body, given_back=True) == ({"y"} if alone else set())
