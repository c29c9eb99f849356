"""masked_loop, loop_over_groups: exact texts, look-alikes, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import COUNT, MASK, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

ROWS = TypeFact("tensor", "float32", ("5", "2"))
SCALAR = TypeFact("tensor", "int64", ())
TYPES = {"x": ROWS, "t": SCALAR, "n": COUNT, "mask": MASK}


def test_a_loop_to_a_number_from_data_goes_to_the_size_of_what_it_reads() -> None:
    text = (
        "def fn(x, t):\n    total = x[0]\n    for i in range(int(t)):  # rows\n"
        "        total = total + x[i]\n    return total\n"
    )
    (loop,) = rewritten("masked_loop", context_of(text, "int(t)", TYPES, "DDE203"))
    assert loop == (
        "def fn(x, t):\n    total = x[0]\n    # rows\n    torch._check_index(t.item() <= x.shape[0])\n"
        "    for i in range(x.shape[0]):\n        total = torch.where(i < t, total + x[i], total)\n    return total\n"
    )


def test_names_of_a_turn_stay_as_they_are() -> None:
    text = (
        "def fn(x, n):\n    out = torch.zeros_like(x)\n    for i in range(n):\n        row = x[i] * 2\n"
        "        out[i] = row\n    return out\n"
    )
    (found,) = rewritten("masked_loop", context_of(text, "range(n)", TYPES, "DDE203"))
    assert "        row = x[i] * 2\n" in found
    assert "out[i] = torch.where(" in found


def test_a_while_that_counts() -> None:
    text = (
        "def fn(x, n):\n    i = 0\n    s = x.sum()\n    while i < n:\n"
        "        s = s + x[i].max()\n        i += 1\n    return s\n"
    )
    (found,) = rewritten("masked_loop", context_of(text, "i < n", TYPES, "DDE106"))
    assert "    for i in range(x.shape[0]):\n" in found
    assert "i += 1" not in found


def test_a_bound_that_is_stated() -> None:
    text = "def fn(x, n):\n    torch._check(n <= 8)\n    for _ in range(n):\n        x = x / 2\n    return x\n"
    (found,) = rewritten("masked_loop", context_of(text, "range(n)", TYPES, "DDE203"))
    assert "    for iteration in range(8):\n" in found
    assert found.count("_check") == 1


@pytest.mark.parametrize(
    ("stop", "bound"),
    [
        ("int(t.clamp(0, 4))", "4"),
        ("t.clamp(max=k).item()", "k"),
        ("min(n, k)", "k"),
        ("min(7, int(t))", "7"),
        ("torch.clamp_max(t, 3).long().item()", "3"),
        ("n % 5", "5 - 1"),
        ("min(n, x.shape[0] // 2)", "x.shape[0] // 2"),
    ],
)
def test_a_bound_that_the_number_itself_states(stop: str, bound: str) -> None:
    text = f"def fn(x, t, n, k):\n    for _ in range({stop}):\n        x = x / 2\n    return x\n"
    types = {**TYPES, "k": TypeFact("int")}
    found = rewritten("masked_loop", context_of(text, f"range({stop})", types, "DDE203"))
    assert [line.strip() for line in found[0].splitlines()][1] == f"for iteration in range({bound}):"
    assert "_check" not in found[0]


@pytest.mark.parametrize("stop", ["max(n, 4)", "t.clamp(min=4).item()", "n + 4", "n % t", "t.clamp(0, t + 1).item()"])
def test_what_states_no_bound(stop: str) -> None:
    text = f"def fn(x, t, n):\n    for _ in range({stop}):\n        x = x / 2\n    return x\n"
    assert candidates("masked_loop", context_of(text, f"range({stop})", TYPES, "DDE203")) == []


def test_a_break_notes_what_is_read_behind_the_loop() -> None:
    text = (
        "def fn(x):\n    for k in range(8):\n        y = x / 2 + 1 / x\n        if (y - x).abs().max() < 1e-3:\n"
        "            break\n        x = y\n    return x\n"
    )
    context = context_of(text, "(y - x).abs().max() < 1e-3", {"x": ROWS, "y": ROWS}, "DDE105")
    found, stays = rewritten("masked_loop", context)
    assert found == (
        "def fn(x):\n    choices = []\n    for k in range(8):\n        y = x / 2 + 1 / x\n"
        "        if torch.compiler.is_compiling():\n"
        "            choices.append(((y - x).abs().max() < 1e-3, x))\n"
        "        elif (y - x).abs().max() < 1e-3:\n            break\n        x = y\n"
        "    for left, x_then in reversed(choices):\n        x = torch.where(left, x_then, x)\n    return x\n"
    )
    assert "            x = torch.where(stays, x_before, x)\n" in stays


def test_statements_on_one_line_stay_on_it() -> None:
    text = (
        "def fn(x):\n    for k in range(8):\n        y = x / 2 + 1 / x; z = y\n"
        "        if (y - x).abs().max() < 1e-3: break\n        x = z\n    return x\n"
    )
    (found,) = rewritten(
        "masked_loop", context_of(text, "(y - x).abs().max() < 1e-3", {"x": ROWS, "y": ROWS}, "DDE105")
    )
    assert "        y = x / 2 + 1 / x; z = y\n        if torch.compiler.is_compiling():\n" in found
    assert "        elif (y - x).abs().max() < 1e-3: break\n        x = z\n    for left, x_then in" in found


@pytest.mark.parametrize(
    "body",
    [
        "    for i in range(n):\n        x = x / 2\n",
        "    for i in range(n):\n        out.append(x[i])\n",
        "    for i in range(n):\n        if x[i].sum() > 0:\n            break\n        y = x[i]\n",
        "    for i in range(n):\n        s = x[i]\n    return i\n",
        "    for i in range(n):\n        x = x[i] + x\n",
        "    for i in range(n, 0, -1):\n        s = x[i]\n",
        "    for i in range(n):\n        s = x[i]\n    else:\n        s = x\n    return s\n",
    ],
)
def test_loops_without_a_bound_or_with_effects_are_left_alone(body: str) -> None:
    text = f"def fn(x, n, out):\n{body}    return x\n"
    assert candidates("masked_loop", context_of(text, "range(n", TYPES, "DDE203")) == []


EXPERTS = """def fn(x, mask):
    out = torch.zeros_like(x)
    hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
    for expert in hit:
        slot, token = torch.where(mask[expert].squeeze(0))
        part = x[token] * weight[expert[0]]
        out.index_add_(0, token, part)
    return out
"""


def test_a_loop_over_the_groups_that_occur_visits_all() -> None:
    context = context_of(EXPERTS, "for expert in hit", {}, "DDE203")
    found = rewritten("loop_over_groups", context)[0]
    assert "    for expert in range(mask.shape[0]):\n        slot, token = torch.where(mask[expert])\n" in found
    assert "x[token] * weight[expert]\n" in found


def test_the_first_element_taken_out_and_the_padding_group() -> None:
    text = (
        "def fn(x, mask):\n    hit = (mask.sum((-1, -2)) > 0).nonzero()\n    for e in hit:\n        e = e[0]\n"
        "        if e == 4:\n            continue\n        x = x + f(mask[e])\n    return x\n"
    )
    found = rewritten("loop_over_groups", context_of(text, "for e in hit", {}, "DDE203"))[0]
    assert "    for e in range(mask.shape[0]):\n        if e == 4:\n            continue\n" in found


def test_an_index_by_the_row_keeps_its_dimension() -> None:
    text = "def fn(x, mask):\n    for e in mask.nonzero():\n        x = x + w[e]\n    return x\n"
    found = rewritten("loop_over_groups", context_of(text, "mask.nonzero()", TYPES, "DDE203"))[0]
    assert found == "def fn(x, mask):\n    for e in range(mask.shape[0]):\n        x = x + w[e : e + 1]\n    return x\n"


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("w[e].squeeze(0)", "w[e]"),
        ("w[e][e]", "w[e : e + 1][e : e + 1]"),
        ("f(e.item())[e].squeeze(0) * (e == 2)", "f(e)[e] * (e == 2)"),
        ("v[int(e), e[0]]", "v[e, e]"),
    ],
)
def test_uses_of_a_row_inside_each_other(use: str, expected: str) -> None:
    text = f"def fn(x, mask):\n    for e in mask.nonzero():\n        x = x + {use}\n    return x\n"
    found = rewritten("loop_over_groups", context_of(text, "mask.nonzero()", TYPES, "DDE203"))[0]
    assert found == text.replace("mask.nonzero()", "range(mask.shape[0])").replace(use, expected)


@pytest.mark.parametrize(
    "text",
    [
        "def fn(x, mask):\n    for e in mask.nonzero():\n        x = x + g(e)[e].squeeze(0)\n    return x\n",
        "def fn(x, mask):\n    for e in mask.nonzero():\n        x = x + g(e)\n    return x\n",
        "def fn(x, mask):\n    for e in mask.nonzero():\n        x = x + w[e]\n    return x, e\n",
        "def fn(x, mask):\n    for e, f in mask.nonzero():\n        x = x + w[e]\n    return x\n",
        "def fn(x, mask):\n    for e in torch.unique(x).tolist():\n        x = x + w[e]\n    return x\n",
    ],
)
def test_other_loops_over_data_are_left_alone(text: str) -> None:
    asking = text.split(" in ", 1)[1].split(":", 1)[0]
    assert candidates("loop_over_groups", context_of(text, asking, TYPES, "DDE203")) == []


# ---------------------------------------------------------------------- run by torch


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("    s = torch.zeros(2)\n    for i in range(int(t)):\n        s = s + x[i]\n    return s\n", "int(t)"),
        (
            "    n = t.item()\n    out = torch.zeros_like(x)\n    h = x[0]\n    for i in range(n):\n"
            "        row = x[i] * 2\n        h = h + row\n        out[i] = h\n    return out\n",
            "range(n)",
        ),
        (
            "    n = t.item()\n    i = 0\n    s = torch.zeros(())\n    while i < n:\n        s += x[i].sum()\n"
            "        i += 1\n    return s\n",
            "i < n",
        ),
    ],
)
def test_masked_loops_trace_and_agree(body: str, asking: str) -> None:
    import torch

    x = torch.arange(10.0).reshape(5, 2)
    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    for program in with_imports("masked_loop", context_of(text, asking, TYPES, "DDE203")):
        assert (
            failures(text, program, [(x, torch.tensor(count)) for count in (3, 0, 5, 6)], ("export", "compile")) == []
        )


def test_a_noted_break_traces_and_agrees() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    for k in range(8):\n        y = x / 2 + t / x\n"
        "        if (y - x).abs().max() < 1e-3:\n            break\n        x = y\n    return x\n"
    )
    context = context_of(text, "(y - x).abs().max() < 1e-3", {"x": ROWS, "y": ROWS, "t": SCALAR}, "DDE105")
    samples = [(torch.ones(4), torch.tensor(value)) for value in (2, 1, 90)]
    programs = with_imports("masked_loop", context)
    assert [failures(text, program, samples) for program in programs] == [[], []]


def test_all_groups_trace_and_agree() -> None:
    import torch

    text = "import torch\n\nweight = torch.arange(3.0)\n\n\n" + EXPERTS
    masks = [torch.zeros(3, 1, 4, dtype=torch.long) for _ in range(3)]
    masks[0][0, 0, 1] = masks[0][2, 0, 3] = masks[1][1, 0, :] = 1
    program = with_imports("loop_over_groups", context_of(text, "for expert in hit", {}, "DDE203"))[0]
    assert failures(text, program, [(torch.randn(4), mask) for mask in masks], ("export", "compile")) == []


def test_a_group_that_changes_what_others_keep_is_masked() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    x = x.clone()\n    for i in torch.where(t > 0)[0].tolist():\n"
        "        x[i] += 1\n    return x\n"
    )
    context = context_of(text, "torch.where(t > 0)[0].tolist()", {"t": TypeFact("tensor", "int64", ("3",))}, "DDE203")
    plain, masked = with_imports("loop_over_groups", context)
    samples = [(torch.randn(4), torch.tensor(values)) for values in ([1, 2, 3], [1, 0, 0])]
    assert failures(text, plain, samples, ()) != []
    assert failures(text, masked, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        (
            "    s = x.new_zeros(())\n    for c in t.unique():\n"
            "        s = s + (x[:, int(c)] * (t == c)).sum()\n    return s\n",
            "for c in range(x.shape[1]) if torch.compiler.is_compiling() else t.unique():",
        ),
        (
            "    s = x.new_zeros(4)\n    for c in torch.unique(t):\n"
            "        s[c.item()] += x[t == c].sum()\n    return s\n",
            "for c in range(s.shape[0]) if torch.compiler.is_compiling() else torch.unique(t):",
        ),
        (
            "    s = 0 * x\n    for c in sorted(set(t.tolist())):\n"
            "        s = s + x[:, c, None] * (t == c)[:, None]\n    return s\n",
            "for c in range(x.shape[1]) if torch.compiler.is_compiling() else sorted(set(t.tolist())):",
        ),
    ],
)
def test_numbers_that_are_places_of_a_dimension(body: str, line: str) -> None:
    import torch

    types = {
        "x": TypeFact("tensor", "float32", ("5", "4")),
        "t": TypeFact("tensor", "int64", ("5",)),
        "s": TypeFact("tensor", "float32", ("4",)),
    }
    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    asking = body.split(" in ", 1)[1].split(":\n", 1)[0]
    found = with_imports("loop_over_groups", context_of(text, asking, types, "DDE203"))
    plain, refusing = [one for one in found if line in one]
    assert "torch._check((t >= 0).all().item())" in refusing
    samples = [(torch.randn(5, 4), torch.tensor(t)) for t in ([0, 1, 3, 1, 0], [2] * 5, [3, 2, 1, 0, 0])]
    for program in (plain, refusing):
        assert failures(text, program, samples, ("export", "compile")) == []
    negative = [(torch.randn(5, 4), torch.tensor([0, 1, -1, 1, 0]))]
    assert failures(text, refusing, negative, ()) == []  # eager goes where it went


@pytest.mark.parametrize(
    ("use", "shape"), [("x[int(c) + 1]", ("5", "4")), ("x[:, int(c)]", ("5", "u0")), ("x[..., int(c)]", ("5", "4"))]
)
def test_numbers_that_are_no_places_of_a_known_size(use: str, shape: tuple[str, ...]) -> None:
    text = f"def fn(x, t):\n    for c in t.unique():\n        x = x + 1\n        y = {use}\n    return y\n"
    types = {"x": TypeFact("tensor", "float32", shape), "t": TypeFact("tensor", "int64", ("5",))}
    context = context_of(text.replace("x = x + 1", "pass"), "t.unique()", types, "DDE203")
    assert candidates("loop_over_groups", context) == []


def test_a_skipped_rest_of_a_turn_is_masked() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    total = torch.zeros(2)\n    for i in range(x.shape[0]):\n"
        "        row = x[i]\n        if row.sum() > t:  # too much\n            continue\n        row = row * 2\n"
        "        total = total + row\n    return total\n"
    )
    context = context_of(text, "row.sum() > t", {**TYPES, "row": TypeFact("tensor", "float32", ("2",))}, "DDE105")
    (program,) = with_imports("masked_loop", context)
    assert "        # too much\n        if not torch.compiler.is_compiling() and row.sum() > t:\n" in program
    samples = [(torch.arange(10.0).reshape(5, 2), torch.tensor(limit)) for limit in (3.0, -1.0, 90.0)]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_what_grows_in_a_loop_that_is_left_is_cut_off() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    out = x\n    for _ in range(5):\n"
        "        # the next one\n        sample = (out[:, -1:] * 3 + 1) % 7\n"
        "        out = torch.cat((out, sample), dim=-1)\n        stop = out == t\n\n"
        "        if stop.any(dim=-1).all():\n            break\n\n"
        "    out = out.masked_fill(stop, 0)\n    return out[:, 1:]\n"
    )
    types = {"out": TypeFact("tensor", "int64", ("2", "2")), "stop": TypeFact("tensor", "bool", ("2", "2"))}
    (program,) = with_imports("masked_loop", context_of(text, "stop.any(dim=-1).all()", types, "DDE105"))[-1:]
    assert "            choices.append((stop.any(dim=-1).all(), out.shape[-1]))\n" in program
    assert "        out = out.narrow(-1, 0, out_size)\n        stop = out == t\n" in program
    samples = [(torch.tensor([[1], [2]]), torch.tensor(value)) for value in (4, 1, 0, 5)]
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize("skipped", ["if t < 0:\n            continue", "if x.dim() == 2:\n            continue"])
def test_iterations_that_skip_the_break_are_counted(skipped: str) -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    out = x\n    for _ in range(5):\n"
        "        sample = (out[:, -1:] * 3 + 1) % 7\n        out = torch.cat((out, sample), dim=-1)\n"
        f"        {skipped}\n        if (out == t).any(dim=-1).all():\n            break\n    return out[:, 1:]\n"
    )
    types = {"out": TypeFact("tensor", "int64", ("2", "2"))}
    (program,) = with_imports("masked_loop", context_of(text, "(out == t).any(dim=-1).all()", types, "DDE105"))[-1:]
    samples = [(torch.tensor([[1], [2]]), torch.tensor(value)) for value in (4, 1, 0, 5)]
    targets = ("export", "compile") if "dim" in skipped else ()
    assert failures(text, program, samples, targets) == []


def test_a_return_from_a_loop_becomes_a_choice_behind_it() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    for k in range(4):  # attempts\n        x = x * 2\n"
        "        if x.sum() > t:\n            return x - k  # enough\n    x = x + 1\n    return x\n"
    )
    context = context_of(text, "x.sum() > t", TYPES, "DDE105")
    (program,) = with_imports("masked_loop", context)
    assert "            choices.append((x.sum() > t, x - k))\n        elif x.sum() > t:\n" in program
    assert program.endswith("        result = torch.where(left, result_then, result)\n    return result\n")
    samples = [(torch.ones(2), torch.tensor(limit)) for limit in (3.0, 9.0, 17.0, 90.0)]
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("grows", "stops", "dim"),
    [
        ("rows = torch.cat([rows, new[:, None]], 1)", "(new == 3).all()", 1),
        ("rows = torch.cat((rows, new), dim=-1)", "(rows == 0).any(-1).all()", -1),
        ("rows = torch.concat([rows, new])", "bool(new.norm() < 1)", 0),
        ("rows = torch.cat([rows, new], 0)", "torch.all(new > 10).item()", 0),
    ],
)
def test_what_grows_is_cut_off_behind_the_loop(grows: str, stops: str, dim: int) -> None:
    text = (
        f"def fn(rows, m):\n    for _ in range(4):\n        new = m(rows[:, -1])\n        {grows}\n"
        f"        if {stops}:\n            break\n    return rows\n"
    )
    types = {"rows": ROWS, "new": ROWS}
    (found,) = rewritten("masked_loop", context_of(text, stops, types, "DDE105"))
    assert (
        f", rows.shape[{dim}]))\n        elif {stops}:\n            break\n    rows_size = rows.shape[{dim}]\n" in found
    )
    assert found.endswith(f"        rows = rows.narrow({dim}, 0, rows_size)\n    return rows\n")


CHANGED_AS_IT_GROWS = [
    "rows = torch.cat([rows[order], new[:, None]], dim=1)",
    "rows = torch.cat((rows.index_select(0, order), new.unsqueeze(1)), 1)",
    "rows = rows.flip(0)\n        rows = torch.concat([rows, new[:, None]], -1)",
    "rows = torch.cat([rows * (order[:, None] > 0), new[:, None]], axis=1)",
    "rows[0, 0] += 1\n        rows = torch.cat([rows, new[:, None]], 1)",
    "rows = torch.cat([rows[order], rows.mean(0)[None]])",
    "rows = torch.cat([torch.where(rows > 0, rows, 0), rows[:1] + 1], 0)",
]


@pytest.mark.parametrize("grows", CHANGED_AS_IT_GROWS)
def test_what_is_changed_as_it_grows_is_noted_at_each_exit(grows: str) -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, limit):\n    rows = x * 1\n    for turn in range(3):\n"
        f"        new = rows.sum(1) + turn\n        order = new.argsort()\n        {grows}\n"
        "        if rows.sum() > limit:\n            break\n    return rows, rows.sum()\n"
    )
    types = {"rows": ROWS, "new": ROWS, "x": ROWS, "limit": ROWS}
    (program,) = with_imports("masked_loop", context_of(text, "rows.sum() > limit", types, "DDE105"))
    x = torch.arange(6.0).reshape(2, 3) - 1
    samples = [(x, torch.tensor(limit)) for limit in (-99.0, 20.0, 60.0, 1e6)]
    assert failures(text, program, samples, ("export", "compile")) == []
