"""Calls that are statements, as the statements that they run: masked, and run by torch."""

from __future__ import annotations

import ast
from dataclasses import replace

import pytest
from control_flow import TENSOR, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.inlined import inlined

TYPES = dict.fromkeys(("x", "state", "sums", "old", "new", "self.slow", "self.count"), TENSOR)
TYPES["done"] = TypeFact("tensor", "bool", ())


def context_with(helpers: str, call: str) -> Context:
    lines = "".join(f"        {line}\n" for line in call.splitlines())
    text = (
        "import torch\n\n\ndef fn(x, done, state, sums):\n    state, sums = state * 1, sums * 1\n"
        f"    if done:\n{lines}    return state + 0, sums + 0\n\n\n{helpers}"
    )
    context = context_of(text, "done", TYPES, "DDE105", occurrence=1)
    return replace(context, types_in=lambda function: TYPES)


FOLLOW = "def follow(old, new, rate=0.5):\n    old.mul_(rate).add_(new, alpha=0.5)\n"
PROGRAMS = [
    (FOLLOW, "follow(state, x)"),
    (FOLLOW, "follow(new=x * 2, old=sums)\nstate.copy_(sums)"),
    (FOLLOW, "follow(state, x, 0.25)\nfollow(sums, state, rate=0.75)"),
    (f"@torch.no_grad()\n{FOLLOW}", "follow(state, x)"),
    (
        f"{FOLLOW}\n\ndef both(pairs):\n    for a, b in pairs:\n        a.add_(b)\n    return\n",
        "both([(state, x), (sums, x)])",
    ),
    (
        f"{FOLLOW}\n\ndef all_of(one, *, other):\n    follow(one, other)\n    other.zero_()\n",
        "all_of(state, other=sums)",
    ),
    ('def start(state):\n    """Anew."""\n    state[:2] = 0\n    state[2] += 1\n', "start(state)\nsums += state"),
]


@pytest.mark.parametrize(("helpers", "call"), PROGRAMS)
def test_state_that_a_call_changes_is_masked(helpers: str, call: str) -> None:
    import torch

    types = {**TYPES, "one": TENSOR, "other": TENSOR, "a": TENSOR, "b": TENSOR}
    context = replace(context_with(helpers, call), types_in=lambda function: types)
    program, *_ = with_imports("masked_state", context)
    samples = [
        (torch.tensor([1.0, 2, 3, -4]), torch.tensor(done), torch.ones(4), torch.arange(4.0)) for done in (True, False)
    ]
    assert failures(context.site.source.text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    ("helpers", "call"),
    [
        ("def follow(old):\n    return old.add_(1)\n", "follow(state)"),
        ("def follow(old):\n    if old.sum() > 0:\n        return\n    old.add_(1)\n", "follow(state)"),
        ("def follow(sums):\n    sums.add_(1)\n", "follow(state)"),
        ("def follow(old):\n    x = old + 1\n    old.copy_(x)\n", "follow(state)"),
        ("def follow(*olds):\n    olds[0].add_(1)\n", "follow(state)"),
        ("def follow(old):\n    old.add_(1)\n", "follow(*[state])"),
        ("def follow(old, rate=[]):\n    old.add_(1)\n", "follow(state)"),
        ("@torch.compiler.disable()\ndef follow(old):\n    old.add_(1)\n", "follow(state)"),
        ("def follow(old):\n    old.add_(1)\n", "follow(state.add_(1))"),
        ("def follow(old):\n    print(old)\n    old.add_(1)\n", "follow(state)"),
        ("def follow(old):\n    follow(old)\n    old.add_(1)\n", "follow(state)"),
        ("", "follow(state)"),
    ],
)
def test_what_returns_on_the_way_or_takes_names_of_its_caller_stays_a_call(helpers: str, call: str) -> None:
    assert rewritten("masked_state", context_with(helpers, call)) == []


METHODS = '''class Model:
    """Follows."""

    def sync(self, rate=0.5):
        self.slow.lerp_(self.fast, rate)
        self.count.zero_()

    def forward(self, done):
        if done:
            {call}
        return self.slow
'''


def test_a_global_of_the_method_is_no_name_of_its_caller() -> None:
    text = METHODS.format(call="self.sync()").replace("lerp_(self.fast, rate)", "lerp_(self.fast, rate * share)")
    caller = text.replace("        if done:\n", "        share = 0.5\n        if done:\n")
    for method, is_followed in ((text, True), (caller, False)):
        context = context_of(method, "done", TYPES, "DDE105", occurrence=1)
        call = next(n for n in ast.walk(context.site.statement) if isinstance(n, ast.Call))
        assert (inlined(context, call) is not None) is is_followed


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("self.sync()", ["self.slow.lerp_(self.fast, rate)", "self.count.zero_()"]),
        ("self.other.sync()", None),
        ("self.elsewhere()", None),
        ("super().sync()", None),
    ],
)
def test_a_method_of_the_same_object_is_followed(call: str, body: list[str] | None) -> None:
    context = context_of(METHODS.format(call=call), "done", TYPES, "DDE105", occurrence=1)
    statement = context.site.statement
    assert isinstance(statement, ast.If)
    (asked,) = statement.body
    assert isinstance(asked, ast.Expr)
    assert isinstance(asked.value, ast.Call)
    found = inlined(context, asked.value)
    assert (None if found is None else [ast.unparse(s) for s in found.body]) == body
    if found is not None:
        assert [(name, ast.unparse(value)) for name, value in found.given] == [("rate", "0.5")]
        assert found.context.type_of("self.slow") == TENSOR
