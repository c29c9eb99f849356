"""What holds of numbers on every path, whether torch knows it or not: a count of a mask is at most its size.

torch knows only some of it (that is in a state's facts, and silences questions). The rest silences nothing, for torch
asks all the same; but it says the reader that the answer is settled, and by which fact a `torch._check` is safe.
"""

from __future__ import annotations

import ast
import math

from ddelint.static.domain.facts import Facts, decide_all
from ddelint.static.domain.linear import Comparison, Linear
from ddelint.static.domain.values import Tensor, Unbacked, Value


class Invariants:
    """The invariants of one file's symbols."""

    def __init__(self) -> None:
        self.always = Facts()
        self._reasons: dict[int, str] = {}

    def read(self, number: Unbacked, tensor: Tensor) -> None:
        """A number was read from the tensor."""
        content = tensor.content
        if content is None or number.form is None:
            return
        self.learn(number.form, content.low, content.high, content.why)

    def learn(self, form: Linear, low: float, high: Linear | None, why: str) -> None:
        """Bounds of a number, on every path."""
        self.always.learn_bounds(form, (low, math.inf))
        if high is not None:
            self.always.learn(Comparison(form.plus(high, -1), ast.LtE))
        for symbol, _ in form.terms:
            self._reasons.setdefault(symbol, why)

    def answered(self, value: Value | None) -> str:
        """Why a question about the value always has the same answer; empty where that is not known."""
        if not isinstance(value, Unbacked) or not value.comparisons or not self._reasons:
            return ""
        verdict = decide_all(self.always, value.comparisons)
        if verdict is None:
            return ""
        symbols = (symbol for comparison in value.comparisons for symbol, _ in comparison.difference.terms)
        why = next((self._reasons[symbol] for symbol in symbols if symbol in self._reasons), "")
        return f"always {'true' if verdict else 'false'}: {why}" if why else ""

    def bounds(self, value: Unbacked) -> tuple[int | float | None, int | float | None]:
        """The number's bounds on every path; None where there is none."""
        if value.form is None:
            return None, None
        low, high = self.always.bounds(value.form)
        return _finite(low), _finite(high)


def _finite(bound: float) -> int | float | None:
    if math.isinf(bound):
        return None
    return int(bound) if bound == int(bound) else bound
