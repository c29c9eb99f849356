"""masked_state: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import MASK, TENSOR, candidates, context_of, failures, with_imports

from ddelint.nouns.diagnostics import TypeFact

FLAG = TypeFact("tensor", "bool", ())
TYPES = {"state": TENSOR, "sums": TENSOR, "x": TENSOR, "m": MASK, "done": FLAG}
TYPES |= dict.fromkeys(
    ("self.last", "self.twice", "each", "row", "old", "new", "each", "several[0]", "several[1]", "several[number]"),
    TENSOR,
)
PROGRAMS = [
    (
        "x[number] > 1",
        "    for number in range(3):\n        if x[number] > 1:\n            continue\n"
        "        level = x[number] * 2\n        state[number] = level\n        sums[number + 1] += state.sum()\n"
        "    return state + 0, sums + 0\n",
    ),
    (
        "x[number] < 0",
        "    number = 0\n    while number < 4:\n        number += 1\n        if number == 4:\n            break\n"
        "        if x[number] < 0:\n            continue\n        state.add_(x[number])\n"
        "        sums[number] = state[0]\n"
        "        continue\n    return state + 0, sums + 0\n",
    ),
    (
        "not each.any()",
        "    for each, row in zip((m, m & done), (state, sums)):\n        if not each.any():\n            continue\n"
        "        row[0] = x[0]\n        if x[1] > 0:\n            row.mul_(2)\n    return state + 0, sums + 0\n",
    ),
    (
        "done",
        "    helper(done, state, sums, x)\n    return state + 0, sums + 0\n\n\n"
        "def helper(done, state, sums, x):\n    if done:\n        return\n    n = min(2, x.shape[0])\n"
        "    state[:n] = x[:n]\n    sums.copy_(state)\n    done.fill_(True)\n",
    ),
    (
        "x.sum() > 0",
        "    if x.sum() > 0:\n        state += x\n        sums.mul_(0.5).add_(state, alpha=2)\n"
        "        state[0] = sums[0] * 3\n    return state + 0, sums + 0\n",
    ),
    (
        "not done",
        "    if not done:\n        best = x.max()\n        state[m] = best\n        sums.copy_(state.flip(0))\n"
        "        state.zero_()\n        done.fill_(True)\n    return state + 0, sums + done\n",
    ),
    (
        "m.any()",
        "    if m.any():\n        state[1] += x[0]\n        sums[:2] = state[:2]\n        state[1] -= sums.sum()\n"
        "    return state + 0, sums + 0\n",
    ),
    (
        "x[0] > 0",
        "    helper(x, state, sums)\n    return state - 1, sums + 0\n\n\n"
        "def helper(x, state, sums):\n    if x[0] > 0:\n        return None\n    state[2] = x.sum()\n"
        "    new = state * 2\n    sums.copy_(new)\n    state.copy_(sums - new + 1)\n    return None\n",
    ),
    (
        "x.sum() > 1",
        "    if x.sum() > 1:\n        for old, new in zip((state, sums), (x, state)):\n"
        "            both = old + new\n            old.mul_(0.5).add_(both, alpha=0.5)\n"
        "    return state + 0, sums + 0\n",
    ),
    (
        "done",
        "    helper([state, sums], done, x)\n    return state + 0, sums + 0\n\n\n"
        "def helper(several, done, x):\n    if done:\n        return\n    with torch.no_grad():\n"
        "        for number in range(len(several)):\n            several[number].add_(x * number)\n"
        "    if several[0].max() > 2:\n        several[0].sub_(several[0].mean())\n    several[1].sub_(1)\n",
    ),
    (
        "x[1] > 0",
        "    if x[1] > 0:\n        if x[0] > 0:\n            state += x\n            x.zero_()\n        else:\n"
        "            sums[1:] = state[1:]\n            state.neg_()\n        sums.add_(state)\n"
        "    return state + 0, sums + 0, x + 0\n",
    ),
    (
        "m.all()",
        "    old, new = Part(state, sums), Part(x + 1, x * 2)\n    if m.all():\n"
        "        old.load_state_dict(new.state_dict())\n    return state + 0, sums + 0\n\n\n"
        "class Part:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
        '    def state_dict(self):\n        return {"a": self.a, "b": self.b}\n\n'
        '    def load_state_dict(self, given):\n        self.a.copy_(given["a"])\n        self.b.copy_(given["b"])\n',
    ),
    (
        "x[2] > 0",
        "    if x[2] > 0:\n        for each in (state, sums):\n            if each is not x:\n"
        "                each.add_(1)\n"
        "            if each.sum() > 6:\n                total = each.sum()\n                each.div_(total)\n"
        "    return state + 0, sums + 0\n",
    ),
    (
        "x[3] > 0",
        "    old, new = Part(state, sums), Part(x + 1, x * 2)\n    if x[3] > 0:\n"
        "        for slow, fast in zip(old.parameters(), new.parameters()):\n"
        "            slow.data.mul_(0.5).add_(fast.data, alpha=0.5)\n"
        "        for name, held in old.named_parameters():\n            held.sub_(1)\n"
        "        for number, (a, b) in enumerate([(state, x), (sums, state)]):\n            a += b * number\n"
        "    return state + 0, sums + 0\n\n\n"
        "class Part:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n\n"
        "    def parameters(self):\n        return [self.a, self.b]\n\n"
        '    def named_parameters(self):\n        return [("a", self.a), ("b", self.b)]\n',
    ),
    (
        "x[3] > 1",
        '    table = {"a": state, "b": sums}\n    part = Part(state, sums)\n    if x[3] > 1:\n'
        "        for key in table:\n            table[key].mul_(0.5).add_(x)\n"
        '        for name in ("a", "b"):\n            if name == "b":\n'
        "                getattr(part, name).zero_()\n"
        "    return state + 0, sums + 0\n\n\n"
        "class Part:\n    def __init__(self, a, b):\n        self.a, self.b = a, b\n",
    ),
]


def text_of(body: str) -> str:
    head = "import torch\n\n\ndef fn(x, m, done, state, sums):\n"
    head += "    state, sums, done = state * 1, sums * 1, done | False\n"
    return head + body


@pytest.mark.parametrize(("test", "body"), PROGRAMS, ids=[test for test, _ in PROGRAMS])
def test_the_texts_agree_with_the_branch(test: str, body: str) -> None:
    import torch

    text = text_of(body)
    context = context_of(text, test, TYPES, "DDE105", occurrence=text[: text.index(f"if {test}:")].count(test))
    program, *_ = with_imports("masked_state", context)
    samples = [
        (torch.tensor(row), torch.tensor(row) > 1, torch.tensor(done), torch.ones(4), torch.arange(4.0))
        for row in ([1.0, 2, 3, -4], [-1.0, -2, -3, -4])
        for done in (True, False)
    ]
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    "body",
    [
        "        print(x)\n        state[0] = 1\n",
        "        y = x + 1\n",
        "        rows.append(x)\n        state[0] = 1\n",
        "        state[0] = torch.rand(())\n",
        "        self.calls += 1\n",
        "        x = x + 1\n        state[0] = x[0]\n",
        "        for each in (x, state):\n            if x[0] > 0:\n                break\n            each.add_(1)\n",
        "        for x in (state, sums):\n            state[0] = x[0]\n",
        "        if m.any():\n            x = state * 2\n            state[0] = x[0]\n        state[1] = x[1]\n",
        "        for each in (state, sums):\n            print(each)\n",
    ],
)
def test_what_is_no_change_of_a_tensor_is_left_alone(body: str) -> None:
    text = text_of(f"    if done:\n{body}    return x, state\n")
    occurrence = text[: text.index("if done")].count("done")
    assert candidates("masked_state", context_of(text, "done", TYPES, "DDE105", occurrence=occurrence)) == []


CACHES = [
    "if self.last is not None and (x == self.last).all():\n            return",
    "if self.last is not None and x.ndim == 1 and (x - self.last).abs().max() < 1e-6:\n            return",
    "if hasattr(self, 'twice') and torch.equal(x, self.last):\n            return None",
]


@pytest.mark.parametrize("asked", CACHES)
def test_a_cache_is_asked_where_it_is_known_to_hold_something(asked: str) -> None:
    import torch

    text = text_of(
        "    part = Part()\n    part.solve(x)\n    first = part.twice + 0\n    part.solve(state * x)\n"
        "    return first, part.twice + sums, part.last + 0\n\n\n"
        f"class Part:\n    last = None\n\n    def solve(self, x):\n        {asked}\n"
        "        self.twice = x * 2\n        self.last = x.clone()\n"
    )
    test = asked.removeprefix("if ").partition(":")[0].rpartition(" and ")[2]
    (program, *_) = with_imports("masked_state", context_of(text, test, TYPES, "DDE105"))
    assert "if torch.compiler.is_compiling() and " in program
    samples = [
        (torch.tensor([1.0, 2, 3, -4]), torch.ones(4, dtype=torch.bool), torch.tensor(False), state, torch.arange(4.0))
        for state in (torch.ones(4), torch.full((4,), 2.0))
    ]
    assert failures(text, program, samples, ("export", "compile")) == []


LET_GO = [
    "            self.last = None\n            self.total.div_(self.count)\n            self.count.fill_(1)\n",
    "            self.last, self.other = None, None\n            self.total /= self.count\n"
    "            self.count.fill_(1)\n",
    "            self.last = self.other = None\n            if self.mean:\n                self.total /= self.count\n"
    "            self.count.zero_()\n            self.count += 1\n",
    "            self.forget()\n            self.total.mul_(1 / self.count)\n            self.count.fill_(1)\n",
    "            if self.mean:\n                self.last: object = None\n            self.total /= self.count\n"
    "            self.count.fill_(1)\n",
]


@pytest.mark.parametrize("body", LET_GO)
def test_what_is_let_go_beside_a_change_of_state_stays_while_compiling(body: str) -> None:
    import torch

    text = text_of(
        "    part = Part(state, sums)\n    first = part.means() + 0\n"
        "    return first, part.means() * x, part.count + 0\n\n\n"
        "class Part:\n    def __init__(self, total, count):\n        self.total, self.count = total, count.sum()\n"
        "        self.mean, self.last, self.other = True, total + 1, total + 2\n\n"
        "    def forget(self):\n        self.last = None\n\n"
        f"    def means(self):\n        if self.count > 1:\n{body}        return self.total\n"
    )
    types = TYPES | {
        "self.total": TENSOR,
        "self.count": TypeFact("tensor", "float32", ()),
        "self.mean": TypeFact("bool"),
    }
    context = context_of(text, "self.count > 1", types, "DDE105")
    (candidate, *_) = candidates("masked_state", context)
    assert candidate.doubt == "`self.last` is not set to None by what is compiled"
    program, *_ = with_imports("masked_state", context)
    assert program.count("= None") <= text.count("= None")
    samples = [
        (torch.tensor([1.0, 2, 3, -4]), torch.ones(4, dtype=torch.bool), torch.tensor(False), torch.ones(4) * 6, sums)
        for sums in (torch.ones(4), torch.tensor([0.0, 0, 1, 0]))
    ]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_a_setting_inside_is_asked_as_python_asks() -> None:
    text = text_of(
        "    if done:\n        if state.mode:\n            state[0] = x[0]\n        sums[0] = x[1]\n    return x\n"
    )
    types = TYPES | {"state.mode": TypeFact("bool")}
    program, *_ = with_imports(
        "masked_state", context_of(text, "done:", types, "DDE105", occurrence=0, expression="done")
    )
    masked, _, eager = program.partition("elif done:")
    assert "        if state.mode:\n            state[0] = torch.where(" in masked
    assert "torch.where" not in eager


def test_several_places_at_once_are_no_names() -> None:
    text = text_of(
        "    if done:\n        state[0], sums[0] = x[0], x[1]\n        x.add_(1)\n    return x, state, sums\n"
    )
    occurrence = text[: text.index("if done")].count("done")
    assert candidates("masked_state", context_of(text, "done", TYPES, "DDE105", occurrence=occurrence)) == []


@pytest.mark.parametrize(
    "rest",
    [
        "            total = total + x[i]\n            state[i] = total\n",
        "            last = x[i]\n            state[i] = last\n        state[0] = last\n",
        "            state[i] = x[i]\n            if i > 1:\n                break\n",
        "            rows.append(x[i])\n            state[i] = x[i]\n",
        "            before = x[i] if i == 0 else before\n            state[i] = before\n",
    ],
)
def test_a_turn_that_leaves_more_than_state_is_left_alone(rest: str) -> None:
    text = text_of(
        "    if True:\n        total, rows = x[0], []\n        for i in range(4):\n            if x[i] > 0:\n"
        f"                continue\n{rest}    return state, total, rows\n"
    )
    assert candidates("masked_state", context_of(text, "x[i] > 0", TYPES, "DDE105")) == []
