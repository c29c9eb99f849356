"""What follows from what: inequalities of integers, and the facts that a function states before a line."""

from __future__ import annotations

import ast
from fractions import Fraction

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, candidates, context_of
from hypothesis import given, settings
from hypothesis import strategies as st

from ddelint.nouns.diagnostics import Claim, TypeFact
from ddelint.rewrite.proving.linear import AtLeastZero, Sum, contradiction, name, number
from ddelint.rewrite.proving.proofs import Proofs

INT = TypeFact("int")
TYPES = {"x": TENSOR, "mask": MASK, "t": INTEGERS, **dict.fromkeys("abcn", COUNT), "limit": INT, "f": TypeFact("float")}


def at_least(sum_: Sum, *reasons: int) -> AtLeastZero:
    return AtLeastZero(sum_, frozenset(reasons))


def test_a_contradiction_names_what_it_rests_on() -> None:
    a, b, c = name("a"), name("b"), name("c")
    given_ = [at_least(b - a, 0), at_least(c - b, 1), at_least(c, 2), at_least(a - c - number(1), 3)]

    assert contradiction(given_) == {0, 1, 3}
    assert contradiction(given_[:3]) is None


def test_integers_lie_no_closer_than_one() -> None:
    twice = name("a").times(Fraction(2))

    assert contradiction([at_least(twice - number(1)), at_least(number(1) - twice)]) is not None
    assert contradiction([at_least(twice - number(1)), at_least(number(2) - twice)]) is None


@given(
    st.lists(
        st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-6, 6)),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=200, deadline=None)
def test_what_some_integers_satisfy_is_no_contradiction(rows: list[tuple[int, int, int]]) -> None:
    given_ = [
        at_least(name("a").times(Fraction(one)) + name("b").times(Fraction(two)) + number(constant))
        for one, two, constant in rows
    ]
    if contradiction(given_) is not None:
        assert not any(
            all(one * a + two * b + constant >= 0 for one, two, constant in rows)
            for a in range(-12, 13)
            for b in range(-12, 13)
        )


PROVED = [
    ("", "n >= n", True, "true of all integers"),
    ("    torch._check(a <= b)\n    torch._check(b <= c)\n", "a <= c", True, "(line 2)"),
    ("    torch._check(a <= b)\n    torch._check(b <= c)\n", "a > c", False, "(line 3)"),
    ("    torch._check(a >= 0 and a < 4)\n", "a * 2 + 1 <= 7", True, "(line 2)"),
    ("    if a > 4:\n        raise ValueError(str(a))\n", "a < 5", True, "raises (line 2)"),
    ("    assert a == b\n", "a - b == 0", True, "assert a == b"),
    ("    assert 2 < a <= b\n", "b >= 3", True, "(line 2)"),
    ("    n = mask.sum().item()\n", "n >= 0", True, "`n` is a count (line 2)"),
    ("    n = int(torch.count_nonzero(mask))\n", "n <= mask.numel()", True, "counts in `mask`"),
    ("    n = mask.sum().item()\n", "n <= mask.shape[0]", True, "`mask` has one dimension"),
    ("    n = mask.sum().item()\n    m = n + 1\n", "m > 0", True, "`m = n + 1` (line 3)"),
    ("    n = t.argmax().item()\n", "n >= 0", True, "`n` is an index"),
    ("    n = torch.argmax(t).item()\n", "n < t.numel()", True, "an index into `t`"),
    ("    n = int(t.argmin(dim=0)[0])\n", "n < t.shape[0]", True, "an index into `t`"),
    ("    n = torch.bincount(t).max().item()\n", "n >= 0", True, "a number of rows"),
    ("    n = t.clamp(1, 5)[0].item()\n", "n >= 1 and n <= 5", True, "is clamped"),
    ("    n = t.clamp(min=0).max().item()\n", "n < 0", False, "is clamped"),
    ("    torch._check(a >= 0)\n    h = a // 2\n", "h <= a", True, "h = a // 2"),
    ("    torch._check(a >= 0)\n", "a % 4 < 4 and a // 4 >= 0", True, ""),
    ("    torch._check(a <= 3)\n", "torch.sym_max(a, 5) >= 5", True, "true of all integers"),
    ("    if a >= 2:\n        return x\n    torch._check(b >= 0)\n", "a < 2 or b >= 0", True, "(line 4)"),
]


def proof(before: str, test: str, want: bool, *, signature: str = "x, mask, t, a, b, c, limit, f, n") -> str | None:
    arguments = ", ".join(one for one in signature.split(", ") if one != "n" or "n = " not in before)
    text = f"def fn({arguments}):\n{before}    if {test}:\n        x = x + 1\n    return x\n"
    types = {**TYPES, "m": COUNT, "h": COUNT}
    context = context_of(text, test, types, occurrence=text.count(test) - 1)
    return Proofs(context, context.site.statement).of(ast.parse(test, mode="eval").body, want)


@pytest.mark.parametrize(("before", "test", "want", "said"), PROVED)
def test_what_follows_is_proved_with_what_it_follows_from(before: str, test: str, want: bool, said: str) -> None:
    found = proof(before, test, want)
    assert found is not None
    assert said in found
    assert proof(before, test, not want) is None


UNPROVED = [
    ("", "n > 4"),
    ("    torch._check(a <= b)\n", "a < b"),
    ("    torch._check(a <= b)\n    b = b - 1\n", "a <= b"),
    ("    torch._check(f > 1)\n", "f > 0"),
    ("    if x is None:\n        torch._check(a <= b)\n", "a <= b"),
    ("    n = mask.sum().item()\n", "n < mask.numel()"),
    ("    n = t.sum().item()\n", "n >= 0"),
    ("    n = t.argmax().item()\n", "n < t.shape[0] - 1"),
    ("    n = t.clamp(min=0).sum().item()\n", "n >= 0"),
    ("    n = t.to(torch.int8).argmax(keepdim=True).item()\n", "n < t.numel()"),
    ("    n = mask.sum(0).item()\n", "n <= mask.numel()"),
    ("    n = mask.nonzero().item()\n", "n <= mask.numel()"),
    ("    torch._check(a != b)\n", "a > b"),
    ("    torch._check(a * a >= 4)\n", "a >= 2"),
    ("    for a in t.tolist():\n        if x is None:\n            h = a // 2\n    torch._check(a > 3)\n", "h > 0"),
]


@pytest.mark.parametrize(("before", "test"), UNPROVED)
def test_what_does_not_follow_is_not_proved(before: str, test: str) -> None:
    assert proof(before, test, True) is None


def test_inside_a_branch_its_test_is_known_and_outside_it_is_not() -> None:
    text = (
        "def fn(x, a):\n"
        "    if a > 3:\n"
        "        if a > 2:\n"
        "            x = x + 1\n"
        "    elif a < 5:\n"
        "        x = x + 2\n"
        "    return x\n"
    )
    inner = context_of(text, "a > 2", TYPES)
    other = context_of(text, "a < 5", TYPES)

    def goal(text: str) -> ast.expr:
        return ast.parse(text, mode="eval").body

    assert Proofs(inner, inner.site.statement).of(goal("a > 2")) == "`a > 3` is true here (line 2)"
    assert Proofs(other, other.site.statement).of(goal("a < 5")) == "`a > 3` is false here (line 2)"
    # the check would stand before the whole chain
    assert [one.claim for one in candidates("promise", other)] == [Claim.PROMISE, Claim.PROMISE]


def test_a_promise_that_is_proved_is_stated_as_a_fact() -> None:
    text = (
        "def fn(x, a, b, c):\n"
        "    torch._check(a <= b)\n"
        "    torch._check(b <= c)\n"
        "    if a <= c:\n"
        "        x = x + 1\n"
        "    return x\n"
    )
    context = context_of(text, "a <= c", TYPES)

    (found,) = candidates("promise", context)

    assert found.claim is Claim.EQUIVALENT
    assert found.decisions == ()
    assert found.proof == "`a <= c` is true: `torch._check(a <= b)` (line 2) and `torch._check(b <= c)` (line 3)"
    assert "    torch._check(a <= c)\n    if a <= c:\n" in context.site.source.apply(found.edits)


def test_what_is_proved_false_is_never_promised() -> None:
    text = "def fn(x, a):\n    torch._check(a >= 3)\n    if a < 2:\n        x = x + 1\n    return x\n"
    (found,) = candidates("promise", context_of(text, "a < 2", TYPES))

    assert found.claim is Claim.EQUIVALENT
    assert found.edits[0].content.strip() == "torch._check(a >= 2)"


def test_a_promise_that_nothing_proves_stays_one() -> None:
    text = "def fn(x, a):\n    if a > 4:\n        x = x + 1\n    return x\n"
    found = candidates("promise", context_of(text, "a > 4", TYPES))

    assert {one.claim for one in found} == {Claim.PROMISE}
    assert {one.proof for one in found} == {""}


@pytest.mark.parametrize(
    ("test", "check"),
    [
        ("not mask.any()", "torch._check(mask.any().item())"),
        ("mask.sum() == 0", "torch._check(mask.sum().item() != 0)"),
        ("x.max() < 1 or mask.all()", "torch._check(torch.sym_not(mask.all().item()))"),
    ],
)
def test_an_early_return_on_what_a_tensor_says_may_be_promised_not_to_happen(test: str, check: str) -> None:
    text = f"def fn(x, mask):\n    if {test}:\n        return x\n    return x[mask].mean()\n"
    context = context_of(text, test, TYPES, "DDE105")
    (found,) = candidates("promise", context)
    assert found.claim is Claim.PROMISE
    new = context.site.source.apply(found.edits)
    assert new.startswith("def fn(x, mask):\n    if torch.compiler.is_compiling():\n")
    assert f"        {check}\n    elif {test}:\n        return x\n    return x[mask].mean()\n" in new


@pytest.mark.parametrize(
    "body",
    ["    if mask.any():\n        x = x + 1\n", "    if mask.any():\n        return x\n    else:\n        x = x + 1\n"],
)
def test_nothing_is_promised_of_a_tensor_where_more_is_decided(body: str) -> None:
    text = f"def fn(x, mask):\n{body}    return x\n"
    assert candidates("promise", context_of(text, "mask.any()", TYPES, "DDE105")) == []
