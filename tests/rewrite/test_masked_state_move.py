"""masked_state: what is written, what is left alone, and the texts run by torch."""

from __future__ import annotations

import pytest
from control_flow import MASK, TENSOR, candidates, context_of, failures, with_imports

from ddelint.nouns.diagnostics import TypeFact

FLAG = TypeFact("tensor", "bool", ())
TYPES = {"state": TENSOR, "sums": TENSOR, "x": TENSOR, "m": MASK, "done": FLAG}
PROGRAMS = [
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
    ],
)
def test_what_is_no_change_of_a_tensor_is_left_alone(body: str) -> None:
    text = text_of(f"    if done:\n{body}    return x, state\n")
    occurrence = text[: text.index("if done")].count("done")
    assert candidates("masked_state", context_of(text, "done", TYPES, "DDE105", occurrence=occurrence)) == []
