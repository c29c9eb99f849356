"""What follows from where a number comes from, on every path: a count of a mask is at most its size.

`always` holds bounds that are true of symbols whatever the program asks; torch knows only some of them (those are in
the state's facts, and silence questions). The others do not silence anything, for torch asks all the same; but they
say the reader that the answer is settled, and by which fact a `torch._check` is safe. The tables are in
operators.toml.
"""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING

from ddelint.operators import operators
from ddelint.static.domain.facts import Facts, decide_all
from ddelint.static.domain.values import (
    Comparison,
    Constant,
    Content,
    Linear,
    Path,
    Series,
    Tensor,
    Unbacked,
    Value,
    bare,
    form_of,
    replace,
)

if TYPE_CHECKING:
    from ddelint.static.transfer.shapes import OperatorCall
    from ddelint.static.walk.interpreter import Interpreter

NOTHING = Content()


class Origins:
    """The invariants of one file's symbols."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.always = Facts()
        self._reasons: dict[int, str] = {}

    # ---- what an operator's answer holds

    def annotated(self, call: OperatorCall, answer: Value) -> Value:
        """The answer of an operator, with what its elements are known to be."""
        if isinstance(answer, Tensor):
            return self._tensor(call, answer)
        if isinstance(answer, Series) and answer.kind == "pair" and answer.items is not None:
            first = answer.items[0]
            if isinstance(first, Tensor):
                return replace(answer, items=(self._tensor(call, first), *answer.items[1:]))
        return answer

    def _tensor(self, call: OperatorCall, answer: Tensor) -> Tensor:
        content = self._content(call)
        return answer if answer.content == content else replace(answer, content=content)

    def _content(self, call: OperatorCall) -> Content | None:
        known, name, tensor = operators(), call.name, call.tensor
        how = known.origins.get(name)
        if how is None:
            return None
        content = tensor.content or NOTHING
        if how == "count" and tensor.boolean:
            return Content(0, self._count(call), "a count of a mask is at least 0 and at most its size")
        if how in ("count", "sign_kept"):
            return replace(content, high=None, ascending=False) if content.low >= 0 else None
        if how in ("elements", "converted"):
            return self._unsigned(call) or tensor.content
        if how == "ascending":
            return replace(content, ascending=True)
        if how == "running_total":
            return replace(content, high=None, ascending=True) if content.low >= 0 else None
        if how == "difference":
            return Content(0, None, "the differences of a sorted tensor are at least 0") if content.ascending else None
        if how == "index":
            return self._index(call)
        if how == "clamped":
            return self._clamped(call, content)
        return Content(0, None, known.reasons[how])

    def _count(self, call: OperatorCall) -> Linear | None:
        """How many elements there are at most."""
        if "dim" in call.keywords or call.arguments:
            return None
        whole = self._interpreter.calls.shapes.element_count(call.tensor, call.state)
        return form_of(whole)

    def _index(self, call: OperatorCall) -> Content:
        reason = operators().reasons["index"]
        given = call.argument(0, "dim", "axis")
        if given is None:
            return Content(0, self._less_one(self._count(call)), reason)
        position = call.integer(0, "dim", "axis")
        dims = call.tensor.dims
        if position is not None and call.tensor.complete and -len(dims) <= position < len(dims):
            return Content(0, self._less_one(form_of(dims[position])), reason)
        return Content(0, None, reason)

    def _less_one(self, form: Linear | None) -> Linear | None:
        return None if form is None else form.plus(Linear((), 1), -1)

    def _clamped(self, call: OperatorCall, content: Content) -> Content | None:
        places = operators().clamps[call.name]
        low, high = content.low, content.high
        for position, keyword in enumerate(places):
            given = bare(call.argument(position, keyword) or Constant(None)) if keyword else Constant(None)
            if isinstance(given, Constant) and isinstance(given.value, (int, float)):
                if keyword == "min":
                    low = max(low, given.value)
                elif type(given.value) is int:
                    high = Linear((), given.value)
        return Content(low, high, "it is clamped") if low > -math.inf or high is not None else None

    def _unsigned(self, call: OperatorCall) -> Content | None:
        for value in (*call.arguments, *call.keywords.values()):
            if isinstance(value, Path) and value.name.rsplit(".", 1)[-1] in operators().unsigned:
                return Content(0, None, operators().reasons["unsigned"])
        return None

    # ---- numbers

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
