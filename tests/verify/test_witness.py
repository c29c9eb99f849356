"""The witness answers, whether it was forked after the references were made or before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from ddelint.nouns.protocol import SessionOptions
from ddelint.verify import references as module
from ddelint.verify import witness
from ddelint.verify.compiled import eager_references
from ddelint.verify.mismatches import mismatches
from ddelint.verify.references import Reference, witnessed
from ddelint.verify.remembered import Remembered
from ddelint.verify.samples import Sample

TRAINED = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(3, 1)

        def forward(self, x):
            return self.linear(x).sum()

    def make_inputs(seed):
        return (torch.randn(4, 3, generator=torch.Generator().manual_seed(seed)),)
"""


@pytest.mark.parametrize("early", [False, True])
def test_it_answers_with_gradients(
    program: Callable[..., Any], options: SessionOptions, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    entry = program(TRAINED)
    monkeypatch.setattr(module, "forks_before_gradients", lambda: early)
    made: list[int] = []

    def make() -> list[Reference]:
        made.append(1)
        return list(eager_references(entry, options, 4, 4))

    with witnessed(entry, make, list) as references:
        keys = [reference.key for reference in references]
        third = references[2]
        assert third.witness is not None
        (first, *_), *_ = (runs for runs in third.witness.moved(third.key))

    assert made == [1]
    assert len(set(keys)) == len(keys)
    amount, (call,) = first[0], first[1][:1]
    assert 0 < amount < 1e-3
    assert call.result != third.first.result
    assert call.gradients is not None


def test_what_takes_too_much_of_the_processor_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is what is limited, not the time by the clock, of which a busy machine gives it less."""
    monkeypatch.setattr(witness, "_SECONDS", 0.05)
    monkeypatch.setattr(witness, "_BUSY", 10_000)

    def endless() -> Any:
        while True:
            pass

    def rerun(key: witness.Key, change: object) -> list[Any]:
        return endless() if key[2] else []

    with witness.Witness(rerun).ready() as asked:
        assert list(asked.moved((0, "seed 0", "in eval()", 0, False))) == []
        assert len(list(asked.moved((0, "seed 0", "", 0, False)))) == 2  # the others are answered


def test_what_did_not_help_in_one_mode_is_asked_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witness.Witness, "_asked", lambda *_, **__: [(1e-6, [])])
    asked = witness.Witness(lambda *_: None)

    def key(mode: str, number: int) -> witness.Key:
        return number, f"seed {number}", mode, number, False

    for number in range(7):
        asked.judged(key("in half precision", number), wrong=True)
    assert list(asked.moved(key("in half precision", 8))) == []
    assert len(list(asked.moved(key("", 8)))) == 2


def test_what_no_rounding_explains_and_nobody_was_asked_about_was_not_asked_in_vain(
    program: Callable[..., Any], options: SessionOptions
) -> None:
    """An infinity that spreads is no answer that did not help: what is only rounded is explained all the same."""
    entry = program(TRAINED)
    text = TRAINED.replace("self.linear(x).sum()", "self.linear(x).sum() * (torch.inf - torch.inf)")
    lost = list(eager_references(program(text), options, 16, 16))
    with witnessed(entry, lambda: list(eager_references(entry, options, 16, 16)), list) as references:
        pairs = list(zip(references, lost))
        found = [[one.aspect for one in mismatches(of, other.calls[:1], "export")] for of, other in pairs]
        assert sum("value" in aspects for aspects in found) > 6
        first = references[0]
        assert first.witness is not None
        assert len(list(first.witness.moved(first.key))) == 2


def test_counts_are_not_moved_but_large_numbers_are(program: Callable[..., Any]) -> None:
    """Beyond 1 / eps every number is a whole one, and rounded all the same."""
    entry = program(TRAINED)
    move = witness._Move(1, 1, half_precision=False)
    move.both(entry, Sample("seed 0", True, lambda: entry.inputs(0)))
    with move.operators():
        given = torch.tensor([3.0, 2.5, 3e29, 7e6, 2.0**24]).neg()
    stay = given == torch.tensor([-3.0, -2.5, -3e29, -7e6, -(2.0**24)])
    assert stay.tolist() == [True, False, False, True, False]


def test_what_one_witness_was_asked_the_next_one_knows(program: Callable[..., Any], options: SessionOptions) -> None:
    entry, remembered = program(TRAINED), Remembered()
    references = list(eager_references(entry, options, 4, 4))
    for number, reference in enumerate(references):
        reference.number = number

    def answers(some: list[Reference]) -> list[Any]:
        with witnessed(entry, lambda: some, list, remembered):
            assert some[-1].witness is not None
            return [runs for runs, *_ in some[-1].witness.moved(some[-1].key)]

    first = answers(references)
    references[-1].rerun = lambda entry, sample: None
    again = answers(references[-1:])  # one of them alone is the same one
    assert [amount for amount, _ in again] == [amount for amount, _ in first] != []
    assert [calls[0].result for _, calls in again] == [calls[0].result for _, calls in first]
    assert answers(references[:1]) != []
