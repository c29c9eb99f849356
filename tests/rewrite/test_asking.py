"""What the search tells the moves about a question."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import Any

import pytest

from ddelint.nouns.diagnostics import TIME_IS_OVER, Diagnostic, Edit, Question, Span, TypeFact
from ddelint.nouns.protocol import (
    Comparison,
    Compilation,
    EntryFailure,
    Mismatch,
    Overlay,
    TargetResult,
    TraceResult,
)
from ddelint.rewrite.reading.names import qualified_name
from ddelint.rewrite.reading.returned import returned_types
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.steps import State, key_of
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

NAME = "program.py"
TEXT = """class Encoder:
    def forward(self, x):
        if x > 4:
            return x


class Model:
    def forward(self, x):
        def inner(y):
            if y > 5:
                return y
        if x > 6:
            return inner(x)
"""
TYPES = {
    f"{NAME}::Encoder.forward": {"x": TypeFact("tensor")},
    f"{NAME}::Model.forward": {"x": TypeFact("int")},
    f"{NAME}::Model.forward.<locals>.inner": {"y": TypeFact("float")},
}
TESTS = {
    row: Span(NAME, row, line.index("if ") + 4, row, len(line))
    for row, line in enumerate(TEXT.splitlines(), 1)
    if "if " in line
}


CALLS = """def worst(x):
    return x.argmax().item()


class Model:
    def scaled(self, x):
        return x * 2

    def forward(self, x, other):
        if x > 4:
            return worst(x), self.scaled(x), self.part(x), other(x), self.unseen(x)
"""
CALLED_TYPES = {
    f"{NAME}::worst": {"return": TypeFact("int", value="3")},
    f"{NAME}::Model.scaled": {"return": TypeFact("tensor", "float32", ("4",))},
    f"{NAME}::Part.forward": {"return": TypeFact("bool")},
    f"{NAME}::other": {"return": TypeFact("bool")},
    f"{NAME}::Model.forward": {"self.part": TypeFact("module", python_type="program.Part"), "other": TypeFact("other")},
}


class Silent:
    """A prover of a program that asks nothing."""

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        return TraceResult((), runs=1)

    def compare(self, *asked: Any, **options: Any) -> Comparison:
        raise AssertionError("nothing is compared")

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        raise AssertionError("nothing is compiled")


class StopsOutside(Silent):
    """A prover of a program that stops in a file that is not part of the search, for a reason that is not its data."""

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        return TraceResult((Question(Span("entry.py", 1, 1, 1, 2), "other", "", "", asks=("export",)),), runs=1)


def test_a_failure_in_another_file_is_none_of_the_failure_that_was_fixed() -> None:
    sources = {NAME: SourceFile(NAME, TEXT)}
    asking = Asking(StopsOutside(), sources, ("export",), samples=8, diagnose=diagnose, types=TYPES)
    history, question = History(sources), Question(TESTS[3], "other", "", "", asks=("export",))
    assert asking.still_asks(State(history, []), history, question, key_of(history, question), 0) == ""


class Compiles(Silent):
    """A prover of a program of which one target says `result`."""

    def __init__(self, result: TargetResult) -> None:
        self.result = result

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        return Compilation((self.result,))


@pytest.mark.parametrize(
    ("detail", "reason"),
    [
        ("Unsupported: Attempted to wrap RNN, GRU, or LSTM", ""),
        ("Unsupported: Failed to trace", "compile does not take the rewritten code: Unsupported: Failed to trace"),
    ],
)
def test_what_an_option_allows_is_asked_in_its_turn(detail: str, reason: str) -> None:
    sources = {NAME: SourceFile(NAME, TEXT)}
    history, question = History(sources), Question(TESTS[3], "other", "", "", asks=("compile",))
    rewritten = history.add((Edit(TESTS[3], "op(x)"),), 1)
    left = Question(rewritten.touched(1)[0], "other", "", "", detail=detail, asks=("compile",))
    stops = Compiles(TargetResult("compile", "cpu", False, error=detail, questions=(left,)))
    asking = Asking(stops, sources, ("compile",), samples=8, diagnose=diagnose, types=TYPES)
    assert asking.still_asks(State(history, []), rewritten, question, key_of(history, question), 1) == reason


REFUSED = Mismatch("x empty", False, "export", "exception", "a result", "RuntimeError", narrower=True)
WRONG = Mismatch("x empty", False, "export", "value", "1", "2")
GUESSED = Question(Span(NAME, 1, 1, 1, 2), "assumed", "u0 != 0", "")


@pytest.mark.parametrize(
    ("result", "passes"),
    [
        (TargetResult("export", "cpu", True), True),
        (TargetResult("export", "cpu", False), False),
        (TargetResult("export", "cpu", False, error="Unsupported"), False),
        (TargetResult("export", "cpu", False, (GUESSED,), mismatches=(REFUSED,)), True),
        (TargetResult("export", "cpu", False, mismatches=(REFUSED, WRONG)), False),
        (TargetResult("export", "cpu", True, mismatches=(WRONG,)), False),
        (TargetResult("export", "cpu", False, (replace(GUESSED, kind="truth"),), mismatches=(REFUSED,)), False),
    ],
)
def test_a_program_that_refuses_inputs_of_ours_goes_through(result: TargetResult, passes: bool) -> None:
    sources = {NAME: SourceFile(NAME, TEXT)}
    asking = Asking(Compiles(result), sources, ("export",), samples=8, diagnose=diagnose, types=TYPES)
    assert asking.goes_through(State(History(sources))) is passes


@pytest.mark.parametrize(("asks", "passes"), [(False, True), (True, False)])
def test_where_time_is_over_what_was_traced_says_whether_it_goes_through(asks: bool, passes: bool) -> None:
    class Late(Silent):
        def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
            return TraceResult((replace(GUESSED, kind="truth"),) if asks else (), runs=1)

        def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
            return Compilation((), failure=EntryFailure("timeout", TIME_IS_OVER))

    sources = {NAME: SourceFile(NAME, TEXT)}
    history = History(sources)
    asking = Asking(Late(), sources, ("export",), samples=8, diagnose=diagnose, types=TYPES)
    assert asking.goes_through(State(history)) is False
    asking.trace(history)
    assert asking.goes_through(State(history)) is passes


class AsksJointly(Silent):
    """A prover of a program whose joint graph alone asks, as a trace has it; `backward`: what torch.compile says."""

    def __init__(self, backward: bool | None) -> None:
        self.backward = backward

    def trace(self, overlay: Overlay, *, first: bool = False, **_: object) -> TraceResult:
        return TraceResult((Question(TESTS[3], "guard", "u0", "", asks=("joint",), joint=True),), runs=1)

    def compile(self, overlay: Overlay, targets: tuple[str, ...], samples: int, backend: str) -> Compilation:
        return Compilation((TargetResult("compile", "cpu", self.backward is not None),), backward=self.backward)


@pytest.mark.parametrize(("backward", "asks"), [(True, False), (False, True), (None, True)])
def test_what_only_a_trace_of_the_joint_graph_asks_is_not_asked(backward: bool | None, asks: bool) -> None:
    sources = {NAME: SourceFile(NAME, TEXT)}
    asking = Asking(AsksJointly(backward), sources, ("compile",), samples=8, diagnose=diagnose, types=TYPES)
    assert bool(asking.asked(History(sources))) is asks
    assert asking.asks_anything(History(sources)) is asks


def types_at(row: int) -> dict[str, str]:
    sources = {NAME: SourceFile(NAME, TEXT)}
    asking = Asking(Silent(), sources, ("export",), samples=8, diagnose=diagnose, types=TYPES)
    history, question = History(sources), Question(TESTS[row], "truth", "", "", asks=("export",))
    context = asking.context(history, question, asking.diagnosed(history, question))
    assert context is not None
    return {name: fact.kind for name, fact in context.types.items()}


def test_functions_of_one_name_keep_their_own_types() -> None:
    assert types_at(3) == {"x": "tensor"}
    assert types_at(12) == {"x": "int"}
    assert types_at(10) == {"y": "float"}


def test_a_call_has_the_type_of_what_its_function_gave() -> None:
    source = SourceFile(NAME, CALLS)
    (function,) = [n for n in ast.walk(source.tree) if isinstance(n, ast.FunctionDef) and n.name == "forward"]
    types = CALLED_TYPES[f"{NAME}::Model.forward"]
    assert returned_types(source, function, types, CALLED_TYPES) == {
        "worst(x)": TypeFact("int"),
        "self.scaled(x)": TypeFact("tensor", "float32", ("4",)),
        "self.part(x)": TypeFact("bool"),
    }


@pytest.mark.parametrize(
    ("test", "body", "first"),
    [
        ("x.max() > 1.5", "x = x / 2", "where_merge"),
        ("x[0] > y", "x = y", "where_merge"),
        ("(x > 3).any()", "x = x.clamp(max=3)", "shortcut_in_eager"),
        ("x.max() > 3", "x = x.clamp(max=3)", "shortcut_in_eager"),
        ("x.sum() > 0", "x = x / x.sum()", "shortcut_in_eager"),
    ],
)
def test_what_keeps_both_sides_goes_first_where_none_is_general(test: str, body: str, first: str) -> None:
    text = f"def fn(x, y):\n    if {test}:\n        {body}\n    return x\n"
    sources = {NAME: SourceFile(NAME, text)}
    types = {f"{NAME}::fn": {"x": TypeFact("tensor", "float32", ("4",)), "y": TypeFact("tensor", "float32", ())}}
    asking = Asking(Silent(), sources, ("export",), samples=8, diagnose=diagnose, types=types)
    span = Span(NAME, 2, 8, 2, 8 + len(test))
    question = Question(span, "truth", test, "", asks=("export",))
    found = asking.candidates(History(sources), question, Diagnostic("DDE105", "", span, expression=test))
    moves = [candidate.move for candidate in found]
    assert moves[0] == first
    assert {"where_merge", "shortcut_in_eager"} <= set(moves)


def test_functions_are_called_as_python_calls_them() -> None:
    source = SourceFile(NAME, TEXT)
    sites = [locate(source, span) for span in TESTS.values()]
    functions = [site.function for site in sites if site is not None and site.function is not None]
    names = [qualified_name(source, function) for function in functions]
    assert names == ["Encoder.forward", "Model.forward.<locals>.inner", "Model.forward"]
