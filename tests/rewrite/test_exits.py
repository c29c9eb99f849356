"""Loops that are left early by data: lists, caches, numbers and several results come out of them."""

from __future__ import annotations

import pytest
from control_flow import SCALAR, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

ROW = TypeFact("tensor", "float32", ("4",))
TYPES = {
    "x": ROW,
    "t": SCALAR,
    "n": TypeFact("int"),
    "i": TypeFact("int"),
    "step": TypeFact("float"),
    "rows": TypeFact("list"),
}

LIST = (
    "    rows, n = [], 0\n    for _ in range(5):\n        x = x * 2\n        rows.append(x)\n"
    "        if x.sum() > t:\n            break\n        n += 1\n    return {result}\n"
)


@pytest.mark.parametrize(
    ("result", "behind"),
    [
        ("torch.stack(rows, dim=1)", "torch.stack(rows, dim=1).narrow(1, 0, rows_size)"),
        ("torch.cat(rows)", "torch.cat(rows).narrow(0, 0, rows_size * rows[0].shape[0])"),
        ("sum(rows) / len(rows)", "torch.stack(rows).narrow(0, 0, rows_size).sum(0) / rows_size"),
        ("rows[-1], len(rows)", "rows_last, rows_size"),
        ("rows[0], len(rows)", "rows[0], rows_size"),
        ("torch.stack([row * 2 for row in rows])", "torch.stack([row * 2 for row in rows]).narrow(0, 0, rows_size)"),
        ("sum(r.mean() for r in rows)", "torch.stack([r.mean() for r in rows]).narrow(0, 0, rows_size).sum(0)"),
    ],
)
def test_a_list_is_cut_where_the_loop_was_left(result: str, behind: str) -> None:
    text = f"def fn(x, t):\n{LIST.format(result=result)}"
    (found,) = rewritten("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105"))
    assert found.endswith(f"    return {behind}\n")


@pytest.mark.parametrize(
    "loop",
    [
        "    while n < 5 and x.sum() < t:\n        rows.append(x)\n        x, n = x * 2, n + 1\n",
        "    for n in range(5):\n        if n < 2:\n            continue\n        rows.append(x)\n"
        "        if x.sum() > t:\n            break\n",
    ],
)
def test_the_first_element_of_a_list_that_may_be_empty_is_left_alone(loop: str) -> None:
    text = f"def fn(x, t):\n    rows, n = [], 0\n{loop}    return rows[0], x\n"
    asked = "x.sum() < t" if "while" in loop else "x.sum() > t"
    assert candidates("masked_loop", context_of(text, asked, TYPES, "DDE105")) == []


AGAIN = (
    "def fn(x, t, flag):\n    if flag:\n        {before}\n        return torch.stack(rows)\n"
    "    else:\n        rows = []\n"
    "        for _ in range(5):\n            x = x * 2\n            rows.append(x)\n"
    "            if x.sum() > t:\n                break\n        {behind}\n    return {result}\n"
)


@pytest.mark.parametrize(
    ("behind", "result", "cut"),
    [
        ("rows = torch.stack(rows)", "rows, len(rows)", "rows = torch.stack(rows).narrow(0, 0, rows_size)"),
        (
            "rows, n = torch.cat(rows), 1",
            "rows[0], n",
            "rows, n = torch.cat(rows).narrow(0, 0, rows_size * rows[0].shape[0]), 1",
        ),
        ("n = len(rows); rows = x", "rows * n", "n = rows_size; rows = x"),
        ("x = torch.stack(rows)\n        rows = None", "x", "x = torch.stack(rows).narrow(0, 0, rows_size)"),
    ],
)
def test_a_name_may_be_a_list_elsewhere_and_something_else_afterwards(behind: str, result: str, cut: str) -> None:
    text = AGAIN.format(before="rows = [x]", behind=behind, result=result)
    (found,) = rewritten("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105"))
    assert f"        {cut}\n" in found
    assert found.endswith(f"    return {result}\n")


@pytest.mark.parametrize(
    ("before", "behind", "result"),
    [
        ("rows = [x]", "if flag > 1:\n            rows = [x]", "torch.stack(rows)"),  # one way alone
        ("rows = [x]", "x = torch.stack(rows)", "torch.stack(rows)"),  # of either branch
    ],
)
def test_a_name_that_may_be_another_list_behind_the_loop_is_left_alone(before: str, behind: str, result: str) -> None:
    text = AGAIN.format(before=before, behind=behind, result=result).replace("        return torch.stack(rows)\n", "")
    assert candidates("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    "result",
    [
        "rows",
        "rows[1]",
        "[row * 2 for row in rows]",
        "torch.stack(f(rows))",
        "torch.stack([row for row in rows if f(row)])",
        "torch.cat([row[1:] for row in rows])",
    ],
)
def test_a_list_that_is_read_in_another_way_is_left_alone(result: str) -> None:
    text = f"def fn(x, t):\n{LIST.format(result=result)}"
    assert candidates("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105")) == []


def test_an_eager_only_break_is_not_offered_where_a_list_would_grow_longer() -> None:
    text = f"def fn(x, t):\n{LIST.format(result='torch.stack(rows)')}"
    assert candidates("shortcut_in_eager", context_of(text, "x.sum() > t", TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    "body",
    [
        "    for _ in range(2):\n        for _ in range(4):\n            if x.sum() > t:\n                break\n"
        "            y = x\n    return y\n",
        "    for i in range(4):\n        if x.sum() > t:\n            break\n        if i > 2:\n            y = x\n"
        "    return y\n",
        "    for _ in range(4):\n        if x.sum() > t:\n            rows.append(x)\n            break\n"
        "        x = x * 2\n    return x\n",
        "    for _ in range(4):\n        if x.sum() > t:\n            break\n        z = x\n    return t\n",
        "    while x.sum() > t:\n        x = x / 2\n    return x\n",
        "    while True:\n        x = x / 2\n        if x.sum() > t:\n            break\n    return x\n",
    ],
)
def test_what_cannot_be_noted_is_left_alone(body: str) -> None:
    text = f"def fn(x, t, rows):\n{body}"
    assert candidates("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    "body",
    [
        LIST.format(result="torch.stack(rows), rows[-1], rows[0], sum(rows) / len(rows), n, x"),
        LIST.format(result="sum(row.mean() for row in rows), torch.stack([row * n for row in rows])"),
        "    step, n = 1.0, 0\n    while n < 4 and x.sum() > t:\n        x = x / 2 + step\n        step = step * 0.3\n"
        "        n += 1\n    return x, step, n\n",
        "    out = x.new_zeros(4, 4)\n    found = False\n    for i in range(4):\n        x = x * 2\n"
        "        if x.max() > 90:\n            x = torch.zeros_like(x)\n            break\n        out[i] = x\n"
        "        if i > 0 and x.sum() > t:\n            found = True\n            break\n    return x, out, found\n",
        "    for i in range(4):\n        if x.sum() > t:\n            return x, i\n        x = x * 2\n"
        "    return x, 9\n",
        "    for i in range(4):\n        x = x * 2\n        if i > 0:\n            if x.sum() > t:\n"
        "                break\n    return x, i\n",
        "    n = 0\n    while True:\n        x = x * 2\n        n += 1\n        if x.sum() > t or n >= 4:\n"
        "            break\n    return x, n\n",
        "    n = 0\n    while x.sum() > t:\n        x = x / 2\n        n += 1\n        if n == 3:\n            break\n"
        "    return x, n\n",
        "    for i in range(4):\n        if x.sum() > t:\n            return {'x': x, 'n': i}\n        x = x * 2\n"
        "    return {'x': x, 'n': 9}\n",
    ],
    ids=["list", "of each", "while", "two exits", "returns", "nested", "endless", "counted", "dictionary"],
)
def test_what_is_noted_agrees_with_eager(body: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    context = context_of(text, "x.sum() > t", TYPES, "DDE105")
    (program,) = with_imports("masked_loop", context)
    samples = [(torch.tensor([0.5, 1.0, 2.0, 3.0]), torch.tensor(limit)) for limit in (20.0, -1.0, 7.0, 900.0)]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_an_iteration_that_goes_on_in_two_ways() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    y = torch.zeros(4)\n    for i in range(4):\n        if x[i] > t:\n"
        "            y[i] = 1\n            continue\n        doubled = x[i] * 2\n        y[i] = doubled + 1\n"
        "    return y\n"
    )
    programs = with_imports("masked_loop", context_of(text, "x[i] > t", TYPES, "DDE105"))
    assert "        y[i] = torch.where(x[i] > t, 1, doubled_else + 1)\n" in programs[0]
    samples = [(torch.randn(4), torch.tensor(limit)) for limit in (-9.0, 0.0, 9.0)]
    for program in programs:
        assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("n < cfg.most and not done", "not done"),
        ("not done and n < cfg.most", "not done"),
        ("n < cfg.limits.most and not done", "not done"),
        ("n + 1 < cfg.most and not done", "not done"),
        ("self.going < cfg.most and x.sum() < t", "x.sum() < t"),
    ],
)
def test_a_limit_that_an_object_holds_ends_a_loop(test: str, asked: str) -> None:
    text = (
        f"def fn(self, x, t, cfg):\n    n, done = 0, False\n    while {test}:\n        x = x * 2\n"
        "        done = x.sum() > t\n        n += 1\n    return x, n\n"
    )
    numbers = dict.fromkeys(("cfg.most", "cfg.limits.most", "self.going"), TypeFact("int"))
    kinds = {"cfg": TypeFact("other"), "cfg.limits": TypeFact("other"), "self": TypeFact("other")}
    types = {**TYPES, **numbers, **kinds, "done": TypeFact("symbool")}
    (found,) = rewritten("masked_loop", context_of(text, asked, types, "DDE106"))
    assert f"(torch.compiler.is_compiling() or {asked})" in found


def test_an_object_of_which_nothing_is_known_ends_none() -> None:
    text = "def fn(x, t, cfg):\n    while cfg.more and x.sum() < t:\n        x = x * 2\n    return x\n"
    types = {**TYPES, "cfg": TypeFact("other")}
    assert candidates("masked_loop", context_of(text, "x.sum() < t", types, "DDE106")) == []


@pytest.mark.parametrize("test", ["n == 3", "n > t.numel()", "not n < 3"])
def test_an_exit_that_asks_is_one_although_each_run_sees_plain_numbers(test: str) -> None:
    body = f"    n = 0\n    for i in range(4):\n        n = n + int(x[i] > 0)\n        if {test}:\n            break\n"
    text = f"def fn(x, t):\n{body}        x = x * 2\n    return x\n"
    (found,) = rewritten("masked_loop", context_of(text, test, TYPES, "DDE101"))
    assert "choices.append((" in found


def test_what_python_knows_is_still_no_exit() -> None:
    body = "    n = 0\n    for i in range(4):\n        if i > 2:\n            break\n        x = x * 2\n"
    text = f"def fn(x, t):\n{body}        if x.sum() > t:\n            break\n    return x\n"
    (found,) = rewritten("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105"))
    assert found.count("choices.append((") == 1


@pytest.mark.parametrize(
    ("test", "stored", "held"),
    [
        ("n == t.numel()", "x[n] = 1.0", "n = torch.sym_min(n, t.numel() - 1)"),
        ("n >= 3", "x[n : n + 1] += 1.0", "n = torch.sym_min(n, 3 - 1)"),
        ("n > self.last", "x = x + x.narrow(0, n, 1)", "n = torch.sym_min(n, self.last)"),
        ("n == 3", "x = x * n", ""),
        ("n != 3", "x[n] = 1.0", ""),
        ("n + 1 == 3", "x[n] = 1.0", ""),
    ],
)
def test_a_number_that_an_exit_keeps_in_range_stays_there(test: str, stored: str, held: str) -> None:
    body = f"    n = 0\n    for i in range(4):\n        n = n + int(x[i] > 0)\n        if {test}:\n            break\n"
    text = f"import torch\ndef fn(self, x, t):\n{body}        {stored}\n    return x\n"
    types = {**TYPES, "self.last": TypeFact("int")}
    (found,) = rewritten("masked_loop", context_of(text, test, types, "DDE101"))
    assert [line.strip() for line in found.splitlines() if "sym_min" in line] == ([held] if held else [])


LEFT = "    for i in range(4):\n        if x.sum() > t:\n            break\n"


@pytest.mark.parametrize(
    "change", ["y[i].narrow(0, 1, 2).copy_(x)", "y[i][1:] = x", "y.view(-1)[i].mul_(2)", "y.t().zero_()"]
)
def test_what_a_loop_changes_through_a_view_is_noted_by_its_name(change: str) -> None:
    body = f"    y = x.new_zeros(4, 4)\n{LEFT}        {change}\n"
    text = f"def fn(x, t):\n{body}        x = x + 1\n    return y\n"
    (found,) = rewritten("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105"))
    assert "choices.append((x.sum() > t, y.clone()))" in found


def test_what_has_no_name_is_not_noted() -> None:
    text = f"def fn(x, t):\n{LEFT}        f(i).add_(x)\n    return x\n"
    assert candidates("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    "body",
    [
        "    for _ in range(4):\n        x = x * 2\n        if x.sum() > t:\n            break\n        y = x + 1\n"
        "    return y\n",
        "    for i in range(4):\n        x = x * 2\n        if x.sum() > t:\n            break\n        n = 2 * i\n"
        "        y = x + 1\n        if y.max() > 90:\n            break\n    return y, n\n",
        "    for i in range(4):\n        x = x * 2\n        if i > 0:\n            if x.sum() > t:\n"
        "                break\n        y = x.clone()\n        y[0] = i\n    return y\n",
    ],
    ids=["one", "two exits", "in place"],
)
def test_a_name_without_a_value_in_the_first_iteration_has_that_of_the_one_before(body: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    (program,) = with_imports("masked_loop", context_of(text, "x.sum() > t", TYPES, "DDE105"))
    samples = [(torch.tensor([0.5, 1.0, 2.0, 3.0]), torch.tensor(limit)) for limit in (20.0, 40.0, 60.0, 900.0)]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_a_loop_that_goes_on_where_eager_raises_is_not_safe() -> None:
    body = (
        "    for i in range(4):\n        x = x * 2\n        if x.sum() > t:\n            break\n"
        "        if i % 2 == 0:\n            continue\n        y = x + 1\n    return y\n"
    )
    always = body.replace("        if i % 2 == 0:\n            continue\n", "")
    for text in (body, always):
        context = context_of(f"import torch\n\n\ndef fn(x, t):\n{text}", "x.sum() > t", TYPES, "DDE105")
        assert [one for one in candidates("masked_loop", context) if "has a value" not in one.doubt] == []
    assert candidates("masked_loop", context)
