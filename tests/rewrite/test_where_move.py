"""where_merge: exact texts, look-alikes, and the texts run by torch, gradients included."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, context_of, failures, load, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {"x": TENSOR, "t": INTEGERS, "n": COUNT, "mask": MASK, "y": TENSOR, "flag": TypeFact("none")}
FULL = "torch.full((), n > 4, dtype=torch.bool, device=x.device)"


def merged(body: str, asking: str, code: str = "DDE101") -> list[str]:
    text = f"def fn(x, t, n, mask, flag):\n{body}"
    return [one.split("\n", 1)[1] for one in rewritten("where_merge", context_of(text, asking, TYPES, code))]


def test_two_assignments() -> None:
    found = merged(
        "    if t.sum() > 4:\n        y = x * 2\n    else:\n        y = x + 1\n    return y\n", "t.sum() > 4"
    )
    assert found == [
        "    y = torch.where(t.sum() > 4, x * 2, x + 1)\n    return y\n",
        "    if torch.compiler.is_compiling():\n        y = torch.where(t.sum() > 4, x * 2, x + 1)\n"
        "    elif t.sum() > 4:\n        y = x * 2\n    else:\n        y = x + 1\n    return y\n",
    ]


def test_a_number_becomes_a_tensor_first() -> None:
    found = merged("    if n > 4:\n        x = x * 2\n    return x\n", "n > 4")
    assert found[0] == f"    n_exceeds_4 = {FULL}\n    x = torch.where(n_exceeds_4, x * 2, x)\n    return x\n"


def test_what_starts_as_a_number_has_no_device() -> None:
    body = "    x = s = 0.0\n    for y in (x, n):\n        if n > 4:\n            x = x + y\n    return x\n"
    text = f"def fn(x, n):\n{body}"
    found = rewritten("where_merge", context_of(text, "n > 4", {"x": TENSOR, "y": TENSOR, "n": COUNT}))[0]
    assert "dtype=torch.bool, device=y.device)" in found


def test_a_chain_about_an_integer_tensor_compares_the_tensor() -> None:
    text = "def fn(x, mask):\n    if 0 < mask.sum().item() <= 3:\n        x = x + 1\n    return x\n"
    found = rewritten("where_merge", context_of(text, "0 < mask.sum().item() <= 3", TYPES))[0]
    assert "    x = torch.where((0 < mask.sum()) & (mask.sum() <= 3), x + 1, x)\n" in found


@pytest.mark.parametrize(
    ("test", "asked"),
    [("7 in t", "(t == 7).any()"), ("t[0] not in t", "~(t == t[0]).any()"), ("not 7 in t", "~(t == 7).any()")],
)
def test_membership_in_a_tensor(test: str, asked: str) -> None:
    found = merged(f"    if {test}:\n        x = x * 2\n    return x\n", test)
    assert found[0] == f"    x = torch.where({asked}, x * 2, x)\n    return x\n"


def test_comments_stand_above() -> None:
    found = merged("    if t.sum() > 4:  # big\n        # twice\n        x = x * 2\n    return x\n", "t.sum() > 4")
    assert found[0] == "    # big\n    # twice\n    x = torch.where(t.sum() > 4, x * 2, x)\n    return x\n"


def test_an_early_return() -> None:
    found = merged("    if t.sum() > 4:\n        return x\n    y = x + 1\n    return y * 2\n", "t.sum() > 4")
    assert found == [
        "    y = x + 1\n    return torch.where(t.sum() > 4, x, y * 2)\n",
        "    if not torch.compiler.is_compiling() and t.sum() > 4:\n        return x\n    y = x + 1\n"
        "    if torch.compiler.is_compiling():\n        return torch.where(t.sum() > 4, x, y * 2)\n    return y * 2\n",
    ]


def test_an_early_return_of_what_changes_later_is_kept() -> None:
    found = merged("    if t.sum() > 4:\n        return x\n    x = x + 1\n    return x * 2\n", "t.sum() > 4")
    assert found == [
        "    early_result = x\n    x = x + 1\n    return torch.where(t.sum() > 4, early_result, x * 2)\n",
        "    if torch.compiler.is_compiling():\n        early_result = x\n    elif t.sum() > 4:\n        return x\n"
        "    x = x + 1\n    if torch.compiler.is_compiling():\n"
        "        return torch.where(t.sum() > 4, early_result, x * 2)\n    return x * 2\n",
    ]


@pytest.mark.parametrize(
    "test",
    ["not torch.compiler.is_compiling() and t.max() > 3", "t.max() > 3 and not torch.compiler.is_compiling()"],
)
def test_an_early_return_of_eager_alone_may_stand_in_between(test: str) -> None:
    between = f"    y = x + 1\n    if {test}:\n        return y\n    y = y * 2\n"
    assert merged(f"    if t.sum() > 4:\n        return x\n{between}    return y * 2\n", "t.sum() > 4") == [
        f"    if not torch.compiler.is_compiling() and t.sum() > 4:\n        return x\n{between}"
        "    if torch.compiler.is_compiling():\n        return torch.where(t.sum() > 4, x, y * 2)\n    return y * 2\n"
    ]
    assert (
        merged(f"    if t.sum() > 4:\n        return x\n{between}    return y * 2\n".replace("not ", ""), "t.sum() > 4")
        == []
    )


def test_an_early_return_from_a_with() -> None:
    body = (
        "    with torch.no_grad():\n        if t.sum() == 0:\n"
        "            return x\n        x = x + t\n    return x * 2\n"
    )
    assert merged(body, "t.sum() == 0")[0] == (
        "    with torch.no_grad():\n        early_result = x\n        x = x + t\n"
        "    return torch.where(t.sum() == 0, early_result, x * 2)\n"
    )


def test_two_early_returns_and_tuples() -> None:
    body = (
        "    if t.sum() > 4:\n        return x, n\n    if t.max() > 3:\n"
        "        return x * 2, n\n    return (x * 3, n)\n"
    )
    assert merged(body, "t.sum() > 4")[0] == (
        "    return torch.where(t.sum() > 4, x, torch.where(t.max() > 3, x * 2, x * 3)), n\n"
    )


def test_several_names_that_depend_on_each_other() -> None:
    found = merged("    y = x + 1\n    if t.sum() > 4:\n        x, y = y, x\n    return x - y\n", "t.sum() > 4")
    assert found[0] == (
        "    y = x + 1\n    condition = t.sum() > 4\n"
        "    x, y = torch.where(condition, y, x), torch.where(condition, x, y)\n    return x - y\n"
    )


LAST_KNOWN = (
    "    last = x.mean()\n    for i in range(x.shape[0]):\n        if mask[i]:\n            last = x[i]\n"
    "        else:\n            {place} = last\n    return {result}\n"
)


@pytest.mark.parametrize(("place", "result"), [("y[i]", "y"), ("y.data[i]", "y"), ("y[i, :]", "y + 1")])
def test_places_take_their_values_before_names_do(place: str, result: str) -> None:
    found = merged(LAST_KNOWN.format(place=place, result=result), "mask[i]", "DDE105")
    assert found
    assert found[0].index(f"{place} = torch.where(") < found[0].index("last = torch.where(")


def test_a_name_that_is_read_off_what_a_place_changes_is_left_alone() -> None:
    body = (
        "    for i in range(3):\n        if mask[i]:\n            last = y[0]\n        else:\n            y[i] = last\n"
    )
    assert merged(f"    last = x\n{body}    return y\n", "mask[i]", "DDE105") == []


def test_both_arms_append_to_one_list() -> None:
    body = "    if t.sum() > 4:\n        rows.append(x)\n    else:\n        rows.append(x * 2)\n    return rows\n"
    assert merged(body, "t.sum() > 4")[0] == "    rows.append(torch.where(t.sum() > 4, x, x * 2))\n    return rows\n"


def test_names_of_the_arm_do_not_leak() -> None:
    body = "    if mask.any():\n        x = x.clone()\n        x[mask] = 0.5\n    return x\n"
    assert merged(body, "mask.any()", "DDE105")[0] == (
        "    x_then = x.clone()\n    x_then[mask] = 0.5\n    x = torch.where(mask.any(), x_then, x)\n    return x\n"
    )


def test_a_change_in_place_stays_in_place() -> None:
    body = "    if mask.any():\n        x += t\n        self.seen.add_(1)\n    return x\n"
    assert merged(body, "mask.any()", "DDE105")[0] == (
        "    any_mask = mask.any()\n    x += torch.where(any_mask, t, 0)\n"
        "    self.seen.copy_(torch.where(any_mask, self.seen.add(1), self.seen))\n    return x\n"
    )


@pytest.mark.parametrize("change", ["fill_(0.5)", "copy_(0.5)"])
def test_data_that_is_changed_in_place_is_detached_as_export_takes_it(change: str) -> None:
    body = f"    if mask.any():\n        x.data.{change}\n    return x\n"
    assert merged(body, "mask.any()", "DDE105")[0] == (
        "    x.detach().copy_(torch.where(mask.any(), 0.5, x.detach()))\n    return x\n"
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [("seen", "self.seen.copy_(torch.where("), ("other", "self.other = torch.where(")],
)
def test_a_buffer_keeps_its_object_first_and_gets_another_where_that_fails(name: str, first: str) -> None:
    text = f"""
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, t):
        if t.sum() > 0:
            self.{name} = self.{name} + 1
        return t
"""
    types = {"t": TENSOR, f"self.{name}": TENSOR}
    results = rewritten("where_merge", context_of(text, "t.sum() > 0", types, "DDE105"))
    assert first in results[0]
    assert any(f"self.{name} = torch.where(" in result for result in results)


def test_what_is_known_stays_an_if() -> None:
    body = "    if flag is not None and mask.any():\n        x = x + flag\n    return x\n"
    assert merged(body, "mask.any()", "DDE105")[0] == (
        "    if flag is not None:\n        x = torch.where(mask.any(), x + flag, x)\n    return x\n"
    )


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        (
            "flag and t.sum() > 4",
            "    if flag:\n        y = torch.where(t.sum() > 4, x + 1, x * 2)\n    else:\n        y = x * 2\n",
        ),
        (
            "flag or t.sum() > 4",
            "    if flag:\n        y = x + 1\n    else:\n        y = torch.where(t.sum() > 4, x + 1, x * 2)\n",
        ),
        (
            "'mask' not in flag and t.sum() > 4",
            "    if 'mask' not in flag:\n        y = torch.where(t.sum() > 4, x + 1, x * 2)\n"
            "    else:\n        y = x * 2\n",
        ),
    ],
)
def test_what_is_known_decides_first_of_two_arms_too(test: str, expected: str) -> None:
    body = f"    if {test}:\n        y = x + 1\n    else:\n        y = x * 2\n    return y\n"
    assert f"{expected}    return y\n" in merged(body, "t.sum() > 4", "DDE105")


@pytest.mark.parametrize(
    ("test", "asked"),
    [
        ("(top := t.sum()) > 4", "top > 4"),
        ("3 < (top := t.sum())", "3 < top"),
        ("not (top := t > 4)", "~top.reshape(())"),
    ],
)
def test_a_name_that_the_test_binds_is_bound_before(test: str, asked: str) -> None:
    text = f"    if {test}:\n        x = x * top\n    return x\n"
    value = "t > 4" if "not" in test else "t.sum()"
    expected = f"    top = {value}\n    x = torch.where({asked}, x * top, x)\n    return x\n"
    assert expected in merged(text, test, "DDE105")


def test_elif_becomes_a_nested_choice() -> None:
    body = (
        "    if t.sum() > 4:\n        y = x\n    elif mask.any():\n        y = x * 2\n    else:\n        y = x * 3\n"
        "    return y\n"
    )
    assert merged(body, "t.sum() > 4")[0] == (
        "    y = torch.where(t.sum() > 4, x, torch.where(mask.any(), x * 2, x * 3))\n    return y\n"
    )


def test_divisors_and_roots_see_a_harmless_value_where_their_arm_is_not_chosen() -> None:
    body = "    return x.sqrt() / t if t.sum() > 4 else torch.log(y)\n"
    first, second = merged(body, "t.sum() > 4")
    assert first == (
        "    return torch.where(\n        t.sum() > 4,\n"
        "        torch.where(t.sum() > 4, x, 1).sqrt() / torch.where(t.sum() > 4, t, 1),\n"
        "        torch.log(torch.where(t.sum() > 4, 1, y)),\n    )\n"
    )
    assert second == "    return torch.where(t.sum() > 4, x.sqrt() / t, torch.log(y))\n"


def test_the_first_of_nothing_is_a_harmless_row() -> None:
    body = "    first = y[0] if y.numel() > 0 else t[0]\n    return first\n"
    assert "torch.cat([y, y.new_zeros(1, *y.shape[1:])])[0],\n" in merged(body, "y.numel() > 0", "DDE102")[0]


def test_two_numbers_stay_numbers() -> None:
    assert merged("    return x * (2 if n > 4 else 3)\n", "n > 4")[0] == (
        "    return x * (torch.sym_ite(n > 4, 2, 3))\n"
    )
    chosen = ["torch.full((), n > 4, dtype=torch.bool)", "torch.full((), 2.0, dtype=torch.float64)", "3.0"]
    assert merged("    return x * (2.0 if n > 4 else 3.0)\n", "n > 4")[0] == (
        "    return x * (torch.where(\n" + "".join(f"        {each},\n" for each in chosen) + "    ).item())\n"
    )


@pytest.mark.parametrize(
    ("line", "asking", "chosen"),
    [
        (
            "lr = 0.1 if n < 2 else 0.01 if n < 4 else 0.001",
            "n < 4",
            "torch.where({n < 2}, torch.full((), 0.1, dtype=torch.float64), "
            "torch.where({n < 4}, torch.full((), 0.01, dtype=torch.float64), 0.001)).item()",
        ),
        (
            "k = (1 if t.sum() > 4 else 2) if n < 2 else 3",
            "n < 2",
            "torch.where({n < 2}, torch.where(t.sum() > 4, 1, 2), 3).item()",
        ),
        ("k = 1 if n < 2 else 2.0 if n < 4 else 3", "n < 2", ""),
        ("k = 1 if n < 2 else f() if n < 4 else 3", "n < 2", ""),
    ],
)
def test_nested_choices_of_numbers_are_one(line: str, asking: str, chosen: str) -> None:
    found = "".join(merged(f"    {line}\n    return x * k\n", asking)).replace("\n", " ")
    for test in ("n < 2", "n < 4"):
        chosen = chosen.replace(f"{{{test}}}", f"torch.full((), {test}, dtype=torch.bool)")
    found = " ".join(found.split()).replace("( ", "(").replace(", )", ")")
    assert (chosen in found) if chosen else (").item()" not in found)


UPDATE = """import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("seen", torch.zeros(()))

    def update(self, t, x):
"""


@pytest.mark.parametrize(
    ("early", "late", "left"),
    [
        ("return", "", "return"),
        ("return None", "        return\n", "return"),
        ("return x", "        return x + 1\n", "return torch.where(condition, x, x + 1)"),
        ("return False", "        return True\n", "return torch.where(condition, False, True).item()"),
    ],
)
def test_state_behind_an_early_return_keeps_what_it_held(early: str, late: str, left: str) -> None:
    rest = f"        m = x.mean(0)\n        self.mean.mul_(0.9).add_(m)\n        self.seen += 1\n{late}"
    branch = f"        if t.sum() < 2:\n            {early}\n{rest}"
    found = rewritten("where_merge", context_of(UPDATE + branch, "t.sum() < 2", TYPES, "DDE105"))
    compiled = (
        "        if torch.compiler.is_compiling():\n            condition = t.sum() < 2\n            m = x.mean(0)\n"
        "            self.mean.copy_(torch.where(condition, self.mean, self.mean.mul(0.9).add(m)))\n"
        f"            self.seen += torch.where(condition, 0, 1)\n            {left}\n"
    )
    assert UPDATE + compiled + branch in found


BOX = """import torch


class Box:
    def __init__(self, centre, count):
        self.centre, self.count = centre * 1, count * 1

    def learn(self, rows):
        self.centre.mul_(0.5).add_(rows.mean(0))
        self.count += 1
        return self.centre.sum()

    def update(self, rows):
        self.learn(rows)

    def parameters(self):
        return [self.centre]

    def slide(self, rows):
        for held in self.parameters():
            held.mul_(0.5).add_(rows.mean(0))

    def step(self, x):
{body}

def fn(x, centre, count):
    box = Box(centre, count)
    return (*box.step(x), box.centre + 0, box.count + 0)
"""
EARLY = "        if x.sum() < 0:\n            return x * 0, x.sum()\n"


@pytest.mark.parametrize(
    "body",
    [
        EARLY + "        y = x * 2\n        return y, self.learn(y)\n",
        EARLY + "        self.update(x)\n        return x + 1, self.centre.sum()\n",
        EARLY + "        self.count += 1\n        self.centre.copy_(x[0])\n        return x + self.count, x.sum()\n",
        EARLY + "        self.centre[0] = x.max()\n        y = self.centre * x\n        return y, y.sum()\n",
        "        if self.count < 1:\n            return x * self.centre, self.centre.sum()\n"
        "        x = x + self.learn(x)\n        self.count.add_(x.numel())\n        return x, x.sum()\n",
        EARLY
        + "        for row in range(2):\n            self.centre += x[row]\n        return x, self.centre.max()\n",
        EARLY + "        self.slide(x)\n        return x + 1, self.centre.sum()\n",
        EARLY + "        for p in self.parameters():\n            p.add_(x[0])\n        return x, self.centre.max()\n",
    ],
)
def test_state_that_is_changed_behind_an_early_return_is_put_back(body: str) -> None:
    import torch

    text = BOX.format(body=body)
    types = {"x": TENSOR, "self": TypeFact("module"), "self.centre": TENSOR, "self.count": INTEGERS}
    test = body[body.index("if ") + 3 : body.index(":")]
    found = with_imports("where_merge", context_of(text, test, types, "DDE105"))
    assert found
    assert all(".copy_(torch.where(" in one for one in found)
    samples = [(torch.ones(3, 2) * sign, torch.arange(2.0), torch.tensor(n)) for sign in (1, -1) for n in (0, 2)]
    assert failures(text, found[0], samples, ("export", "compile")) == []


def test_what_is_returned_at_the_end_is_kept_harmless_before_state_is_put_back() -> None:
    """A mean of nothing has a gradient of NaN, which nothing that chooses takes away."""
    text = BOX.format(body=EARLY + "        self.update(x)\n        return x / x.sum(), x.log().sum()\n")
    types = {"x": TENSOR, "self": TypeFact("module"), "self.centre": TENSOR, "self.count": INTEGERS}
    first, *_ = rewritten("where_merge", context_of(text, "x.sum() < 0", types, "DDE105"))
    assert "late_result0 = x / torch.where(condition, 1, x.sum())\n" in first
    assert "late_result1 = torch.where(condition, 1, x).log().sum()\n" in first


@pytest.mark.parametrize(
    ("change", "behind"),
    [
        ("self.count += 1", "        x = x + 1\n"),
        ("self.centre.copy_(x[0])", ""),
        ("self.centre[0] = x.max()", "        y = x.abs()\n        x = y.sqrt()\n"),
        (
            "self.count.add_(2)",
            "        if x.shape[0] > 2:\n            x = x.clone()\n            x[x > 0] = x.mean()\n",
        ),
        ("self.count += 1", "        self.learn(x)\n"),
    ],
)
def test_state_that_is_changed_before_an_early_return_is_changed_where_that_is_taken(change: str, behind: str) -> None:
    import torch

    early = f"        if x.sum() < 0:\n            {change}\n            return x * 0, x.sum()\n"
    text = BOX.format(body=f"{early}{behind}        return x, x.sum()\n")
    types = {"x": TENSOR, "self": TypeFact("module"), "self.centre": TENSOR, "self.count": INTEGERS}
    program, *_ = with_imports("where_merge", context_of(text, "x.sum() < 0", types, "DDE105"))
    samples = [(torch.ones(3, 2) * sign, torch.arange(2.0), torch.tensor(0)) for sign in (1, -1)]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_a_further_early_return_that_changes_state_is_not_made_a_choice() -> None:
    body = (
        "        if t.sum() < 2:\n            return x * 0\n        if t.max() > 3:\n            {state}return x * 2\n"
        "        return x + 1\n"
    )
    texts = [UPDATE + body.replace("{state}", state) for state in ("", "self.last = x\n            ")]
    offered = [rewritten("where_merge", context_of(text, "t.sum() < 2", TYPES, "DDE105")) for text in texts]
    assert offered[0]
    assert all("self.last = x" in new for new in offered[1])


@pytest.mark.parametrize("test", ["self.started", "bool(self.started)", "self.started.item()", "self.started[0]"])
def test_a_test_that_is_changed_behind_is_kept_as_it_was(test: str) -> None:
    body = f"        if {test}:\n            return x * 1\n        self.started.fill_(True)\n        return x - 1\n"
    types = {**TYPES, "self": TypeFact("module"), "self.started": TypeFact("tensor", "bool", ())}
    found, *_ = rewritten("where_merge", context_of(UPDATE + body, test, types, "DDE105"))
    (condition,) = (line for line in found.splitlines() if "condition = " in line)
    assert condition.endswith(".clone()")


def test_the_first_of_what_may_be_nothing_is_taken_of_one_more() -> None:
    """`position[0, 0]` raises where there is no row, and the arm is computed there, too."""
    branch = (
        "        position = (x == 1).nonzero()\n        if position.shape[0] == 0:\n            return None\n"
        "        else:\n            rank = position[0, 0]\n            self.seen += rank\n"
    )
    types = {**TYPES, "position": TypeFact("tensor", "int64", ("u0", "1"))}
    found = rewritten("where_merge", context_of(UPDATE + branch, "position.shape[0] == 0", types, "DDE102"))
    padded = "rank = torch.cat([position, position.new_zeros(1, *position.shape[1:])])[0, 0]\n"
    assert any(padded in new for new in found)


@pytest.mark.parametrize(
    ("branch", "seen"),
    [
        ("if t.sum() < 2:\n    return None\nelse:\n    self.seen += 1\nreturn None\n", "(condition, 0, 1)"),
        ("if t.sum() < 2:\n    return\nelse:\n    self.seen += 1\n", "(condition, 0, 1)"),
        ("if t.sum() < 2:\n    self.seen += 1\nelse:\n    return\n", "(condition, 1, 0)"),
        ("if t.sum() < 2:\n    self.seen += 1\nelse:\n    return None\nself.mean.copy_(x)\n", "(condition, 1, 0)"),
        ("if t.sum() < 2:\n    self.seen += 2\n    return\nelse:\n    self.seen += 1\n", "(condition, 2, 1)"),
    ],
)
def test_an_arm_that_returns_nothing_may_be_either_one(branch: str, seen: str) -> None:
    text = UPDATE + "".join(f"        {line}\n" for line in branch.splitlines())
    found = rewritten("where_merge", context_of(text, "t.sum() < 2", TYPES, "DDE105"))
    beside = [new for new in found if f"self.seen += torch.where{seen}" in new and "is_compiling()" in new]
    assert beside
    assert ("torch.where(condition, x, self.mean)" in beside[0]) is ("self.mean.copy_(x)" in branch)


@pytest.mark.parametrize(
    "rest",
    [
        "        self.seen += 1\n        self.refresh()\n        return x\n",
        "        self.mean.copy_(x)\n        helper(self)\n        return x\n",
        "        x = x + 1\n        return x\n",
    ],
)
def test_state_that_others_may_read_or_that_is_not_there_is_no_reason_to_go_on(rest: str) -> None:
    branch = f"        if t.sum() < 2:\n            return x\n{rest}"
    found = rewritten("where_merge", context_of(UPDATE + branch, "t.sum() < 2", TYPES, "DDE105"))
    assert not any("self.mean.copy_(torch.where" in text or "self.seen += torch.where" in text for text in found)


@pytest.mark.parametrize(
    ("rest", "compiled"),
    [
        (
            "        self.seen += 1\n        return x / self.seen\n",
            "            seen_late = self.seen + 1\n"
            "            self.seen.copy_(torch.where(condition, self.seen, seen_late))\n"
            "            return torch.where(condition, x, x / seen_late)\n",
        ),
        (
            "        self.mean.mul_(0.9)\n        self.mean.add_(x)\n        self.seen += 1\n        return x\n",
            "            mean_late = self.mean.mul(0.9)\n"
            "            self.mean.copy_(torch.where(condition, self.mean, mean_late.add(x)))\n"
            "            self.seen += torch.where(condition, 0, 1)\n            return x\n",
        ),
    ],
)
def test_state_that_is_changed_in_several_steps(rest: str, compiled: str) -> None:
    branch = f"        if t.sum() < 2:\n            return x\n{rest}"
    found = rewritten("where_merge", context_of(UPDATE + branch, "t.sum() < 2", TYPES, "DDE105"))
    begun = "        if torch.compiler.is_compiling():\n            condition = t.sum() < 2\n"
    assert UPDATE + begun + compiled + branch in found


def test_a_branch_inside_that_was_rewritten_for_the_compiler_is_taken_as_it_is_compiled() -> None:
    branch = (
        "        if x.shape[0] > 0:\n            if torch.compiler.is_compiling():\n"
        "                self.mean.copy_(torch.where(self.seen == 0, x, self.mean))\n"
        "            elif self.seen == 0:\n                self.mean.copy_(x)\n"
        "            if not torch.compiler.is_compiling() and t.any():\n                self.mean.zero_()\n"
        "            self.seen += 1\n"
    )
    found = rewritten("where_merge", context_of(UPDATE + branch, "x.shape[0] > 0", TYPES))
    assert len(found) == 1
    assert (
        "        if torch.compiler.is_compiling():\n"
        "            mean_then = torch.where(self.seen == 0, x, self.mean)\n"
        "            has_x = torch.full((), x.shape[0] > 0, dtype=torch.bool, device=x.device)\n"
        "            self.mean.copy_(torch.where(has_x, mean_then, self.mean))\n"
        "            self.seen += torch.where(has_x, 1, 0)\n"
        "        elif x.shape[0] > 0:\n"
    ) in found[0]


@pytest.mark.parametrize(
    ("test", "divisor"),
    [("n < 0.5", "torch.sym_max(n, 0.5)"), ("n <= 2", "torch.sym_max(n, 2)"), ("n < -1", "n"), ("n == 0", "n")],
)
def test_a_divisor_that_is_a_number_stays_as_large_as_the_test_says(test: str, divisor: str) -> None:
    text = f"def fn(x, n):\n    if {test}:\n        y = x * 2\n    else:\n        y = x / n\n    return y\n"
    found = rewritten("where_merge", context_of(text, test, {"x": TENSOR, "n": TypeFact("symfloat")}))
    assert any(f"x / {divisor})" in one for one in found), found


def test_logic_and_equal_are_said_of_tensors() -> None:
    body = "    if not torch.equal(x, y) and t.sum() > 4:\n        x = x + 1\n    return x\n"
    equal = "((x == y).all() if x.shape == y.shape else x.new_zeros((), dtype=torch.bool))"
    found = merged(body, "torch.equal(x, y)")[0]
    assert f"    condition = ~{equal} & (t.sum() > 4)\n    x = torch.where(condition, x + 1, x)\n" in found


@pytest.mark.parametrize(
    "body",
    [
        "    if t.sum() > 4:\n        out.append(x)\n    return x\n",
        "    if t.sum() > 4:\n        x = torch.nn.functional.dropout(x)\n    return x\n",
        "    if t.sum() > 4:\n        x = None\n    return x\n",
        "    if t.sum() > 4:\n        return {'a': x}\n    return {'b': y}\n",
        "    if t.sum() > 4:\n        return {'a': None}\n    return {'a': y}\n",
        "    if t.sum() > 4:\n        return Output(x)\n    return Result(y)\n",
        "    if t.sum() > 4:\n        return x\n    rows.append(x)\n    return x * 2\n",
        "    if t.sum() > 4:\n        return x, y\n    return x\n",
        "    if t.sum() > 4:\n        return x\n",
        "    if t.sum() > 4:\n        late = x\n    return late\n",
        "    if t.sum() > 4:\n        raise ValueError(x)\n    return x\n",
        "    for i in range(3):\n        if t.sum() > 4:\n            break\n    return x\n",
        "    if not torch.compiler.is_compiling() and t.sum() > 4:\n        x = x + 1\n    return x\n",
        "    if flag and (m := t.sum() > 4):\n        x = x + m\n    return x\n",
    ],
)
def test_what_does_more_than_choose_is_left_alone(body: str) -> None:
    assert merged(body, "t.sum() > 4") == []


# ---------------------------------------------------------------------- run by torch


def samples() -> list[tuple[object, ...]]:
    import torch

    return [(torch.randn(4), torch.tensor(values)) for values in ([1, 2, 3], [1, 0, 0], [0, 0, 0])]


RUN = {
    "assign": "    if n > 4:\n        y = x * 2\n    else:\n        y = x.sin()\n    return y\n",
    "ternary": "    return x * (2.0 if n > 4 else 3.0)\n",
    "mixed": "    if n > 4 and x.sum() > 0:\n        x = x + 1\n    return x\n",
    "nested": (
        "    y = x + 1\n    if n > 4:\n        y += x\n    elif n > 0:\n        y *= 2\n    else:\n        y = y + 3\n"
        "    return y\n"
    ),
    "place": "    y = x + 1\n    if n > 4:\n        y[0] = 7.0\n    return y\n",
    "argument": "    if n > 4:\n        x.add_(1)\n    return x * 1\n",
    "tuple": "    if n > 4:\n        return x, x.sum()\n    y = x * 3\n    return y, y.max()\n",
    "steps": "    y = x + 1\n    if n > 4:\n        y += x\n        z = y * 2\n        y = z - 1\n    return y\n",
    "number": "    s = 1.0\n    if n > 4:\n        s = 0.5\n    return x * s\n",
}


@pytest.mark.parametrize("name", RUN)
def test_merged_programs_trace_and_agree(name: str) -> None:
    text = "import torch\n\n\ndef fn(x, t):\n    n = t.sum().item()\n" + RUN[name]
    found = with_imports("where_merge", context_of(text, "n > 4", TYPES))
    assert found
    targets = ("export", "strict", "compile") if name in {"assign", "nested", "ternary"} else ("export", "compile")
    assert failures(text, found[0], samples(), targets) == []
    assert failures(text, found[-1], samples(), ("export",)) == []


def test_the_gradient_stays_finite_where_the_other_arm_is_chosen() -> None:
    import torch

    text = "import torch\n\n\ndef fn(x, t):\n    if t.sum() > 4:\n        return x.sqrt() / x\n    return x * 2\n"
    first, *_, last = with_imports("where_merge", context_of(text, "t.sum() > 4", TYPES, "DDE105"))

    def gradient(program: str) -> torch.Tensor:
        x = torch.zeros(4, requires_grad=True)
        load(program)(x, torch.zeros(3, dtype=torch.long)).sum().backward()
        assert x.grad is not None
        return x.grad

    assert torch.equal(gradient(first), torch.full((4,), 2.0))
    assert "is_compiling" in last  # eager keeps its branch there
    plain = next(one for one in with_imports("where_merge", context_of(text, "t.sum() > 4", TYPES, "DDE105"))[2:])
    assert gradient(plain).isnan().all()


def test_what_an_arm_computes_on_the_way_is_kept_harmless() -> None:
    body = (
        "    if mask.any():\n        new = (x * mask).sum() / mask.sum()\n        root = new.sqrt()\n"
        "        x = x * root + new\n    return x\n"
    )
    assert merged(body, "mask.any()")[0] == (
        "    any_mask = mask.any()\n    new_then = (x * mask).sum() / torch.where(any_mask, mask.sum(), 1)\n"
        "    root_then = torch.where(any_mask, new_then, 1).sqrt()\n"
        "    x = torch.where(any_mask, x * root_then + new_then, x)\n    return x\n"
    )


def test_an_arm_that_runs_a_module_is_computed_only_while_compiling() -> None:
    text = "def fn(x, t, net):\n    if t.sum() > 4:\n        x = net(x)\n    return x\n"
    types = {**TYPES, "net": TypeFact("module")}
    found = rewritten("where_merge", context_of(text, "t.sum() > 4", types))
    assert found[0] == (
        "def fn(x, t, net):\n    if torch.compiler.is_compiling():\n        x = torch.where(t.sum() > 4, net(x), x)\n"
        "    elif t.sum() > 4:\n        x = net(x)\n    return x\n"
    )


STATE = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("centre", torch.zeros(4))
        self.register_buffer("ready", torch.tensor(False))
        self.register_buffer("step", torch.tensor(0))

    def forward(self, x):
        if not self.ready:
            self.centre.copy_(x)
            self.ready.fill_(True)
        elif self.step % 2 == 0:
            self.centre.mul_(0.5).add_(x, alpha=0.25)
        self.step += 1
        return x - self.centre


model = Model()


def fn(x, y):
    for buffer in model.buffers():
        buffer.zero_()
    return model(x), model(y), model(x), model.centre.clone(), model.ready.clone()
"""


def test_state_that_is_changed_in_a_chain_of_branches() -> None:
    import torch

    types = {
        name: TypeFact("tensor", dtype, shape)
        for name, dtype, shape in (
            ("x", "float32", ("4",)),
            ("self.centre", "float32", ("4",)),
            ("self.ready", "bool", ()),
            ("self.step", "int64", ()),
        )
    }
    found = with_imports("where_merge", context_of(STATE, "not self.ready", types, "DDE105"))
    assert "self.centre.mul(0.5).add(x, alpha=0.25)" in found[0]
    assert "self.ready.copy_(torch.where(condition, True, self.ready))" in found[0]
    samples = [(torch.randn(4), torch.randn(4)) for _ in range(2)]
    assert failures(STATE, found[0], samples, ("compile",)) == []


def test_structures_are_chosen_part_by_part() -> None:
    found = merged(
        "    if t.sum() > 4:\n        return {'a': x, 'b': None}\n    return {'a': y, 'b': None}\n", "t.sum() > 4"
    )
    assert found[0] == "    return {'a': torch.where(t.sum() > 4, x, y), 'b': None}\n"
    found = merged("    if t.sum() > 4:\n        return Output(x, n=x)\n    return Output(y, n=x)\n", "t.sum() > 4")
    assert found[0] == "    return Output(torch.where(t.sum() > 4, x, y), n=x)\n"


def test_an_early_return_before_what_changes_only_its_own() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    if t.sum() > 4:\n        return {'y': x * 2, 'name': 'text'}\n"
        "    y = x.clone()\n    rows = []\n    for i in range(4):\n        y[i] = 0\n        y.add_(1)\n"
        "        rows.append(y * i)\n        if i > 2:\n            break\n"
        "    return {'y': torch.stack(rows).sum(0), 'name': 'text'}\n"
    )
    samples = [(torch.randn(4), torch.tensor([1, 2, 3, last])) for last in (4, -9)]
    programs = with_imports("where_merge", context_of(text, "t.sum() > 4", TYPES))
    assert len(programs) == 2
    for program in programs:
        assert failures(text, program, samples, ("export", "compile")) == []


LATE_LOOPS = {
    "while": "    while x.abs().max() > 1:\n        x = x * 0.5\n        n = n + 1\n",
    "functions": "    def half(x):\n        return x * 0.5\n\n    x = half(x)\n",
    "while_loop": (
        "    if torch.compiler.is_compiling():\n\n        def goes_on(n, x):\n            return x.max() > 1\n\n"
        "        def turn(n, x):\n            return n + 1, x / 2\n\n        n, x = while_loop(goes_on, turn, (n, x))\n"
        "    else:\n        while x.max() > 1:\n            x = x * 0.5\n            n += 1\n"
    ),
}


@pytest.mark.parametrize("between", LATE_LOOPS.values(), ids=LATE_LOOPS)
def test_an_early_return_before_a_loop_over_tensors(between: str) -> None:
    found = merged(f"    if t.sum() > 4:\n        return x\n{between}    return x * 2\n", "t.sum() > 4")
    assert len(found) == 2
    assert all("return torch.where(t.sum() > 4, early_result, x * 2)" in new for new in found)


def test_a_number_among_early_results_stays_a_number() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    if t.sum() > 4:\n        return x * 2, 0, 0.1\n    n = t.max().item()\n"
        "    y = x + n\n    return y, n, 0.7\n"
    )
    context = context_of(text, "t.sum() > 4", TYPES)
    samples = [(torch.randn(4), torch.tensor([1, 2, 3, last])) for last in (4, -9, -2)]
    programs = with_imports("where_merge", context)
    assert len(programs) == 2
    for program in programs:
        assert "torch.where(condition, 0, n).item()" in program
        assert failures(text, program, samples, ("export", "compile")) == []


SAYS = {
    "warns": (
        "    if t.sum() > 4:\n        warnings.warn('many')\n        y = x * 2\n"
        "    else:\n        y = x + 1\n    return y\n"
    ),
    "logs in the other arm": (
        "    if t.sum() > 4:\n        y = x * 2\n"
        "    else:\n        log.info('few %d', 3)\n        y = x + 1\n    return y\n"
    ),
    "prints first": "    y = x + 1\n    if t.sum() > 4:\n        print('many')\n        y = x * 2\n    return y\n",
    "warns once, returns": (
        "    if t.sum() > 4:\n        rank_zero_warn('many')\n        return x * 2\n    else:\n        return x + 1\n"
    ),
    "only one arm chooses": (
        "    y = x\n    if t.sum() > 4:\n        log.debug('many')\n    else:\n        y = x + 1\n    return y\n"
    ),
}


@pytest.mark.parametrize("name", sorted(SAYS))
def test_an_arm_that_says_something_says_it_in_eager(name: str) -> None:
    body = SAYS[name]
    found = merged(body, "t.sum() > 4")
    assert found
    for text in found:
        assert text.lstrip().startswith(("if torch.compiler.is_compiling():", "y = x"))
        compiled, _, eager = text.partition("elif t.sum() > 4:")
        compiled, eager = (compiled, eager) if eager else text.split("    if t.sum() > 4:", 1)
        assert not any(word in compiled for word in ("warn", "print", "log."))
        assert body.split("if t.sum() > 4:", 1)[1].strip() in eager


@pytest.mark.parametrize(
    "said", ["log.info('sum %s', self.count(x))", "print(next(rows))", "warnings.warn(describe(x))", "log_prob(x)"]
)
def test_what_a_message_computes_may_be_an_effect(said: str) -> None:
    assert merged(f"    if t.sum() > 4:\n        {said}\n        x = x * 2\n    return x\n", "t.sum() > 4") == []


@pytest.mark.parametrize(
    "change",
    [
        "self.good += 1\n            if self.good >= 3:\n                self.good.zero_()",
        "self.good.add_(1)\n            if self.good >= 3:\n                self.good = self.good * 0",
        "self.good = self.good + 1\n            if self.good >= 3:\n                self.good.fill_(0)",
        "self.good.copy_(self.good + 1)\n            if self.good >= 3:\n                self.good *= 0",
        "self.good += 1\n            self.good.clamp_(max=2)",
        "if self.good >= 2:\n                self.good.zero_()\n            else:\n                self.good += 1",
    ],
)
def test_a_place_that_an_arm_changes_in_two_ways_holds_the_last_value(change: str) -> None:
    text = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('good', torch.zeros((), dtype=torch.long))\n\n"
        "    def forward(self, t):\n        if t.any():\n            self.good.zero_()\n        else:\n"
        f"            {change}\n        return t\n"
    )
    types = {"t": INTEGERS, "self.good": TypeFact("tensor", "int64", (), role="buffer")}
    context = context_of(text, "t.any()", types, "DDE105")
    texts = with_imports("where_merge", context)
    assert texts or "*=" in change or "= self.good * 0" in change

    import torch

    def run(source: str) -> list[int]:
        model = load(source, "Model")()
        held = []
        for number in range(12):
            model(torch.tensor([int(number % 8 == 7)]))
            held.append(int(model.good))
        return held

    assert {tuple(run(one)) for one in texts} <= {tuple(run(text))}


@pytest.mark.parametrize(
    ("start", "count", "keeps"),
    [("0", "int(mask.sum())", True), ("0", "mask.sum().item()", True), ("0", "1", True), ("0.0", "0.5", False)],
)
def test_what_is_counted_stays_an_integer_where_a_tensor_will_not_do(start: str, count: str, keeps: bool) -> None:
    kind = "int" if keeps else "float"
    types = {**TYPES, "n": TypeFact(kind), "mask.sum().item()": TypeFact("int")}
    body = f"    n = {start}\n    if mask.any():\n        x = x * 2\n        n += {count}\n    return x, n\n"
    found = rewritten("where_merge", context_of(f"def fn(x, mask):\n{body}", "mask.any()", types, "DDE105"))
    assert any("torch.where(any_mask, n + " in text and "n).item()" in text for text in found) is keeps
    assert "n).item()" not in found[0]


def test_what_stands_behind_an_early_return_divides_by_no_zero() -> None:
    text = (
        "import torch\n\n\ndef fn(x):\n    n = (x > 0).sum().item()\n    if n == 0:\n        return x\n"
        "    share = 4 / n\n    return x * share\n"
    )
    plain, beside, *unprotected = rewritten("where_merge", context_of(text, "n == 0", {"x": TENSOR}))
    assert "    share = 4 / torch.sym_max(n, 1)\n" in plain
    assert "    share = 4 / torch.sym_max(n, 1) if torch.compiler.is_compiling() else 4 / n\n" in beside
    assert all("sym_max" not in text for text in unprotected)


def test_numbers_that_are_returned_are_read_where_there_is_something() -> None:
    text = (
        "import torch\n\n\ndef fn(x):\n    at = x.nonzero().flatten()\n    if at.numel() == 0:\n        return 0, 4\n"
        "    return at[0].item(), at[-1].item() + 1\n"
    )
    facts = {"x": TENSOR, "at": TypeFact("tensor", "int64", ("u0",))}
    plain = rewritten("where_merge", context_of(text, "at.numel() == 0", facts))[0]
    assert "torch.where(at_is_empty, 0, torch.cat([at, at.new_zeros(1, *at.shape[1:])])[0].item()).item()" in plain
    assert "[-1].item() + 1" in plain
    import torch

    function = load(plain)
    assert function(torch.zeros(4)) == (0, 4)
    assert function(torch.tensor([0.0, 1.0, 1.0, 0.0])) == (1, 3)


@pytest.mark.parametrize(
    ("read", "first"),
    [
        ("x[n:]", True),
        ("x[:, n : n + 2]", True),
        ("x.narrow(0, n, 2)", True),
        ("x.new_zeros(n, 3)", True),
        ("torch.arange(n + 1)", True),
        ("x * n", False),
        ("x + (n > 2)", False),
    ],
)
def test_what_is_read_as_a_bound_stays_an_integer_first(read: str, first: bool) -> None:
    types = {**TYPES, "n": TypeFact("int")}
    body = f"    n = 0\n    if mask.any():\n        n = n + 1\n    return {read}\n"
    found = rewritten(
        "where_merge", context_of(f"import torch\ndef fn(x, mask):\n{body}", "mask.any()", types, "DDE105")
    )
    assert ("n).item()" in found[0]) is first


def test_a_bound_that_lets_nan_through_is_one_of_two_ways_to_keep_a_divisor_from_zero() -> None:
    body = "    peak = x.max().item()\n    if peak > 2.0:\n        x = x / peak\n    return x\n"
    text = f"import torch\n\n\ndef fn(x):\n{body}"
    facts = {"x": TypeFact("tensor", "float32", ("4",), requires_grad=True), "peak": TypeFact("symfloat")}
    found = rewritten("where_merge", context_of(text, "peak > 2.0", facts))
    bounded = next(number for number, one in enumerate(found) if "x / torch.sym_max(peak, 2.0)" in one)
    chosen = next(number for number, one in enumerate(found) if "peak, dtype=torch.float64), 1.0).item()" in one)
    unprotected = next(number for number, one in enumerate(found) if "x / peak, x)" in one)
    assert bounded < chosen < unprotected


@pytest.mark.parametrize(
    "body",
    [
        "    s = x.max().item()\n    d = 1.0 / s if s > 2.0 else 0.5\n    return x * d\n",
        "    s = x.max().item()\n    return x * (s if s > 2.0 else 0.1)\n",
        "    s = x.max().item()\n    d = 0.1\n    if s > 2.0:\n        d = s * 0.1\n    return x * d\n",
        "    s = x.max().item()\n    if s > 2.0:\n        d = s\n    else:\n        d = 0.3\n    return x * d\n",
    ],
)
def test_of_two_floats_one_that_is_a_float_and_one_that_is_a_tensor_are_offered(body: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x):\n{body}"
    facts = {"x": TENSOR, "s": TypeFact("symfloat"), "d": TypeFact("float")}
    found = rewritten("where_merge", context_of(text, "s > 2.0", facts))
    programs = {one: load(one) for one in found if "is_compiling" not in one}
    exact = [
        one
        for one, function in programs.items()
        if all(torch.equal(function(x), load(text)(x)) for x in torch.tensor([[0.7, 1.1], [0.3, 3.3]]).double())
    ]
    assert any("dtype=torch.float64)," in one and ").item()" in one for one in exact)
    assert any(one not in exact for one in programs)


def test_a_float_and_an_integer_make_no_float() -> None:
    body = "    s = x.max().item()\n    return x * (s if s > 2.0 else 1)\n"
    found = rewritten(
        "where_merge",
        context_of(f"import torch\n\n\ndef fn(x):\n{body}", "s > 2.0", {"x": TENSOR, "s": TypeFact("symfloat")}),
    )
    assert found
    assert not any(".item()" in one.split("return")[1] for one in found)


SKEWS = {
    "a number or one that is read": "0.0 if t.sum() > 4 else x.sum().item()",
    "one that is read or a number": "x.mean().item() if t.sum() > 4 else 1.5",
    "a number or arithmetic of numbers": "0.0 if t.sum() > 4 else x.sum().item() / 3",
    "a number or an angle": "0.0 if t.sum() > 4 else torch.atan2(x.sum(), x.max()).item()",
    "one that is read or another": "float(x.max()) if t.sum() > 4 else float(x.min())",
}


@pytest.mark.parametrize("choice", SKEWS.values(), ids=SKEWS)
def test_a_choice_of_floats_stays_a_number(choice: str) -> None:
    """What reads it may compare it in Python, and choose by what that gives."""
    import torch

    text = (
        f"import torch\n\n\ndef fn(x, t):\n    angle = {choice}\n    return torch.cos(torch.tensor(angle)) + x, angle\n"
    )
    first = with_imports("where_merge", context_of(text, "t.sum() > 4", TYPES, "DDE105"))[0]
    assert ".item()\n" in first
    samples = [(torch.randn(4), torch.tensor([1, last])) for last in (4, -9)]
    namespace: dict[str, object] = {}
    exec(first, namespace)
    assert all(isinstance(namespace["fn"](*sample)[1], float) for sample in samples)
