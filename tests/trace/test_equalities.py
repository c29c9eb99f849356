"""How the symbols of a question hang together: names that stand for expressions, and equalities that were stated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tracing import trace

from ddelint.nouns.diagnostics import Question

X = torch.arange(6.0) - 2
KEEP = torch.tensor([True, False, True, True, False, True])


def questions(program: Callable[..., Any]) -> dict[str, Question]:
    found = trace(program, X, KEEP, paths=(__file__,)).questions
    return {question.expression: question for question in found}


def told(question: Question) -> list[tuple[str, str]]:
    return [(equality.name, equality.expression) for equality in question.equalities]


def test_a_name_in_the_question_stands_for_an_expression() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        a, b = keep.sum().item(), x.argmax().item()
        total = a + b
        half = total // 2
        if total > 3 and half < 2:
            return x
        if torch.cat([x[keep], x]).shape[0] > 8:
            return x + 1
        return -x

    found = questions(program)
    assert told(found["total > 3"]) == [("total", "a + b")]
    assert told(found["half < 2"]) == [("half", "(a + b) // 2")]
    (equality,) = found["total > 3"].equalities
    assert equality.torch_expression == "u0 + u1"
    assert told(found["torch.cat([x[keep], x]).shape[0] > 8"]) == []


def test_what_the_program_checks_is_known_and_what_an_answer_says_is_not() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        positive, negative = x[keep], x[~keep]
        torch._check(positive.shape[0] == negative.shape[0])
        if negative.shape[0] > 2:
            x = x + 1
        count = keep.sum().item()
        if count == positive.shape[0]:
            x = x * 2
        if count > 1:
            return x
        return -x

    found = questions(program)
    assert told(found["negative.shape[0] > 2"]) == [("negative.shape[0]", "positive.shape[0]")]
    assert told(found["count == positive.shape[0]"]) == [("negative.shape[0]", "positive.shape[0]")]
    assert told(found["count > 1"]) == []


def _inner(values: torch.Tensor, limit: int) -> torch.Tensor:
    return values * 2 if limit > 3 else values


def test_each_frame_names_the_symbols_that_it_holds() -> None:
    def program(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        count, other = keep.sum().item(), x.argmax().item()
        return _inner(x[:2] * other, count + 1)

    (question,) = questions(program).values()
    outer, inner = question.frames
    assert (outer.function.rpartition(".")[2], outer.carriers) == ("program", (("count", "u0"),))
    assert (inner.function, inner.carriers) == ("_inner", (("limit", "u0 + 1"),))
    assert told(question) == [("limit", "keep.sum().item() + 1")]
