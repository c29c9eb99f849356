"""The ShapeEnv that asks an oracle, on its own."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
import torch

from ddelint.trace import torch_internals
from ddelint.trace.observer import Answer, Inquiry, Observer


class Scripted:
    """Answers from a list; remembers what it was asked and told."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        self.asked: list[Inquiry] = []
        self.births: list[str] = []
        self.repeated: list[tuple[str, bool]] = []
        self.fixed: list[tuple[str, Any]] = []

    def answer(self, observer: Observer, inquiry: Inquiry) -> Answer | None:
        self.asked.append(inquiry)
        return self.answers.pop(0)

    def born(self, observer: Observer, symbol: sympy.Symbol) -> None:
        self.births.append(str(symbol))

    def decided(self, observer: Observer, expression: sympy.Basic, answer: bool) -> None:
        self.repeated.append((str(expression), answer))

    def specialized(self, observer: Observer, symbol: sympy.Symbol, expression: sympy.Basic, value: Any) -> None:
        self.fixed.append((str(expression), value))


def test_an_answer_is_taken_and_stays_true() -> None:
    oracle = Scripted(True)
    n = Observer(oracle).create_unbacked_symint()
    assert n > 4
    assert n > 3
    assert not n < 2
    assert [(i.kind, str(i.expression)) for i in oracle.asked] == [("truth", "u0 > 4")]
    assert oracle.births == ["u0"]


def test_the_other_answer_is_as_consistent() -> None:
    oracle = Scripted(False)
    n = Observer(oracle).create_unbacked_symint()
    assert not n > 4
    assert n <= 4
    assert len(oracle.asked) == 1


def test_a_repeated_question_is_told() -> None:
    oracle = Scripted(True)
    n = Observer(oracle).create_unbacked_symint()
    assert n > 4
    assert not n <= 4
    assert ("u0 <= 4", False) in oracle.repeated


def test_an_integer_fixes_the_symbol() -> None:
    oracle = Scripted(3)
    n = Observer(oracle).create_unbacked_symint()
    assert int(n + 1) == 3
    assert n == 2
    assert [i.kind for i in oracle.asked] == ["integer"]
    assert oracle.asked[0].detail.startswith("Could not extract specialized integer from data-dependent expression")


def test_a_float_is_asked_for_as_a_number() -> None:
    oracle = Scripted(1.5)
    assert float(Observer(oracle).create_unbacked_symfloat()) == 1.5
    assert [i.kind for i in oracle.asked] == ["integer"]


def test_without_an_answer_torchs_own_error_comes_through() -> None:
    n = Observer(Scripted(None)).create_unbacked_symint()
    with pytest.raises(torch_internals.Undecidable, match="Could not guard on data-dependent expression u0 > 4"):
        bool(n > 4)


def test_silently_nobody_is_asked() -> None:
    oracle = Scripted()
    observer = Observer(oracle)
    n = observer.create_unbacked_symint()
    with pytest.raises(torch_internals.Undecidable):
        observer.silently(lambda: bool(n > 4))
    assert oracle.asked == []


def test_safe_guesses_ask_nobody() -> None:
    from torch.fx.experimental.symbolic_shapes import guard_or_false, guard_or_true

    oracle = Scripted()
    n = Observer(oracle).create_unbacked_symint()
    assert not guard_or_false(n == 0)
    assert guard_or_true(n == 0)
    assert oracle.asked == []


def test_bounds_before_any_answer() -> None:
    observer = Observer(Scripted(True))
    n = observer.create_unbacked_symint()
    symbol = torch_internals.expression_of(n)
    torch._check(n >= 1)
    assert n > 4
    assert observer.bounds_of(symbol) == (1, None)


def test_a_declared_size_that_becomes_a_constant_is_told() -> None:
    oracle = Scripted()
    observer = Observer(oracle)
    mode = torch_internals.fake_mode(observer)
    x = torch_internals.fakeify(mode, torch.ones(4, 2), "x", dynamic=(0,))
    observer.declared.add(torch_internals.expression_of(x.shape[0]))
    assert x.shape[0] > 2
    assert oracle.fixed == []
    assert int(x.shape[0] * 2) == 8
    assert [value for _, value in oracle.fixed] == [8]
