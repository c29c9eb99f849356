"""The tracer on whole programs: what asks, where, with which answers, in how few runs."""

from __future__ import annotations

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import asking
import pytest
import torch
from tracing import entry_of, trace

from ddelint.nouns.diagnostics import Question
from ddelint.nouns.protocol import EntrySpec, SessionOptions, TraceResult
from ddelint.trace.explorer import Budget, Explorer, trace_entry

FILE = asking.__file__
PROGRAMS = {
    name: function
    for name, function in vars(asking).items()
    if inspect.isfunction(function) and function.__module__ == "asking" and not name.startswith("_")
}
HELPERS = {"through_a_helper": asking._helper}


def arguments() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.tensor([0.5, 1.5, -1.0, 2.0]), torch.tensor([True, False, True, True])


def marks(function: Callable[..., Any]) -> Counter[tuple[int, str]]:
    lines, first = inspect.getsourcelines(function)
    found: Counter[tuple[int, str]] = Counter()
    for row, line in enumerate(lines, first):
        _, mark, kinds = line.partition("# asks:")
        if mark:
            found.update((row, kind.strip()) for kind in kinds.split(","))
    return found


@functools.cache
def traced(name: str) -> TraceResult:
    return run(PROGRAMS[name])


def run(function: Callable[..., Any], *args: Any, **more: Any) -> TraceResult:
    return trace(function, *(args or arguments()), paths=(FILE,), **more)


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_asks_where_it_is_marked_and_nowhere_else(name: str) -> None:
    result = traced(name)
    expected = marks(PROGRAMS[name]) + (marks(HELPERS[name]) if name in HELPERS else Counter())
    assert Counter((q.span.row, q.kind) for q in result.questions) == expected
    assert result.open_pairs == 0
    assert result.failure is None


@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_both_sides_of_every_truth_question_are_taken(name: str) -> None:
    result = traced(name)
    asked = [q for q in result.questions if q.kind == "truth" and q.symbols]
    assert all(set(q.answers) == {"true", "false"} for q in asked), asked


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("branch_on_count", 2),
        ("same_question_twice", 2),
        ("same_site_in_a_loop", 2),
        ("nested_sides", 4),
        ("behind_validation", 4),
        ("loop_left_from_within", 2),
        ("already_checked", 1),
        ("skipped_while_compiling", 1),
    ],
)
def test_few_runs_are_enough(name: str, most: int) -> None:
    assert traced(name).runs <= most


def only(result: TraceResult) -> Question:
    (question,) = result.questions
    return question


def test_a_question_is_told_in_the_users_words() -> None:
    question = only(traced("branch_on_count"))
    (symbol,) = question.symbols
    assert (question.expression, question.raw, question.asks) == ("n > 2", "u0 > 2", ("export",))
    assert (symbol.name, symbol.expression, symbol.torch_name) == ("n", "keep.sum().item()", "u0")
    assert symbol.created is not None
    assert symbol.created.row == question.span.row - 1
    assert question.detail.startswith("Could not guard on data-dependent expression u0 > 2")


def test_bounds_are_the_programs_not_the_answers() -> None:
    for question in traced("same_question_twice").questions:
        assert (question.symbols[0].lower, question.symbols[0].upper) == (None, None)
    rows = only(traced("tensor_of_unknown_length_iterated")).symbols[0]
    assert (rows.lower, rows.upper) == (0, 4)


def test_types_of_what_the_function_can_name() -> None:
    types = only(traced("branch_on_count")).types
    assert (types["x"].dtype, types["x"].shape) == ("float32", ("4",))
    assert (types["keep"].dtype, types["n"].kind) == ("bool", "symint")


def test_an_iterated_tensor_demands_its_length() -> None:
    question = only(traced("tensor_of_unknown_length_iterated"))
    assert question.expression == "x[keep]"
    assert question.symbols[0].name == "x[keep].shape[0]"
    assert set(question.answers) >= {"2", "0"}


def test_the_number_that_an_error_asks_for_is_tried() -> None:
    unpacked = traced("unknown_length_unpacked").questions[0]
    assert "3" in unpacked.answers


def test_an_index_is_answered_with_an_index() -> None:
    assert set(only(traced("index_of_a_list")).answers) == {"1", "0"}


def test_both_answers_of_an_operator_are_tried() -> None:
    equal, _ = traced("no_data_independent_answer").questions
    assert (equal.operator, set(equal.answers)) == ("aten.equal.default", {"true", "false"})


def test_a_failure_says_what_stood_behind_it() -> None:
    question = only(traced("number_as_key"))
    assert "unhashable" in question.detail
    assert [symbol.name for symbol in question.symbols] == ["keep.sum().item()"]
    cached = only(traced("cached_by_size"))
    assert [symbol.name for symbol in cached.symbols] == ["x[keep].shape[0]"]


class Stateful(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("seen", torch.zeros(()))
        self.calls = 0
        self.kept: dict[str, torch.Tensor] = {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.seen += x.sum()
        self.kept["last"] = x
        if self.seen > 3:
            return self.linear(x)
        return x


def test_a_module_comes_out_of_a_trace_as_it_went_in() -> None:
    module = Stateful()
    weight = module.linear.weight
    entry = entry_of(Stateful, torch.ones(4))
    object.__setattr__(entry, "build", lambda: module)
    result = trace_entry(entry, (__file__,), SessionOptions(EntrySpec(__file__), (__file__,)))
    assert [q.expression for q in result.questions] == ["self.seen > 3"]
    assert module.linear.weight is weight
    assert (module.calls, module.kept, module.seen.item()) == (0, {}, 0.0)
    assert type(module.seen) is torch.Tensor


def test_roles_of_parameters_and_buffers() -> None:
    types = only(trace(Stateful, torch.ones(4), paths=(__file__,))).types
    assert types["self.seen"].role == "buffer"
    assert types["self.linear"].kind == "module"


class Converts(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x)
        self.linear.to(torch.float64)
        if x.sum() > 0:
            return self.linear(x.double())
        return x


def test_a_module_that_converts_itself_in_forward() -> None:
    assert only(trace(Converts, torch.ones(2, 4), paths=(__file__,))).expression == "x.sum() > 0"


def size_branch(x: torch.Tensor) -> torch.Tensor:
    if x.shape[0] > 6:
        return x[:3]
    return x * 2


def test_an_unbacked_input_dimension_asks() -> None:
    x = torch.ones(5, 2)
    assert run(size_branch, x).questions == ()
    assert trace(size_branch, x, paths=(__file__,), dynamic={"x": (0,)}).questions == ()
    question = only(trace(size_branch, x, paths=(__file__,), unbacked={"x": (0,)}))
    assert (question.kind, question.expression) == ("truth", "x.shape[0] > 6")
    assert question.symbols[0].name == "x.shape[0]"
    assert question.symbols[0].lower == 0


def halves(x: torch.Tensor) -> torch.Tensor:
    return x[: int(x.shape[0] / 2)]


def equal_to_four(x: torch.Tensor) -> torch.Tensor:
    return x if x.shape[0] == 4 else -x


def whole_halves(x: torch.Tensor) -> torch.Tensor:
    return x[: x.shape[0] // 2]


@pytest.mark.parametrize("program", [halves, equal_to_four])
def test_silent_specialization_of_a_declared_dimension(program: Callable[..., Any]) -> None:
    x = torch.ones(4, 2)
    question = only(trace(program, x, paths=(__file__,), dynamic={"x": (0,)}))
    assert question.kind == "specialized"
    assert "x.shape[0]" in question.expression
    assert trace(program, x, paths=(__file__,)).questions == ()


def test_a_dimension_that_stays_dynamic_is_no_finding() -> None:
    assert trace(whole_halves, torch.ones(4, 2), paths=(__file__,), dynamic={"x": (0,)}).questions == ()


def test_a_budget_leaves_pairs_open_and_says_so() -> None:
    result = run(asking.behind_validation, budget=Budget(runs=1))
    assert result.runs == 1
    assert result.open_pairs >= 1
    assert len(result.open_sites) >= 1


def asks_for_ever(x: torch.Tensor) -> torch.Tensor:
    steps = 0
    while True:
        x = x / 2
        steps += 1
        if x.sum() > 0 and steps > 10_000:
            return x


def test_a_run_that_asks_for_ever_is_cut_off() -> None:
    result = trace(asks_for_ever, torch.ones(2), paths=(__file__,), budget=Budget(runs=2, asks=50))
    assert only(result).expression == "x.sum() > 0"


def test_nobody_under_the_paths_asks(tmp_path: Any) -> None:
    question = only(trace(asking.branch_on_count, *arguments(), paths=(str(tmp_path),)))
    assert question.span.filename == FILE
    assert not any(frame.inside for frame in question.frames)


def reordered(x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    return x.reshape(2, 2).permute(keep[:2].long().tolist())


def test_logs_and_warnings_of_impossible_paths_are_not_shown(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("WARNING"):
        run(reordered)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("program", "rows"),
    [
        (lambda x, keep: x.data + 1, 1),
        (lambda x, keep: x * (x.data.device == keep.device) * x.data.numel(), 0),
        (lambda x, keep: torch.cat([x, torch.zeros_like(x).data]), 1),
        (lambda x, keep: x.detach() + 1, 0),
        (lambda x, keep: setattr(x, "seen", x.data), 0),
    ],
)
def test_what_is_used_through_data_is_lost_to_export(program: Callable[..., Any], rows: int) -> None:
    explorer = Explorer(entry_of(program, *arguments()), (__file__,))
    explorer.exports = True
    explorer.explore()
    questions = [q for q in explorer.result().questions if ".data" in q.detail]
    assert [(q.kind, q.span.row) for q in questions] == [("other", program.__code__.co_firstlineno)] * rows


def asks_three_times(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        x = x * 2
    if y.sum() > 0:
        x = x + y
    if x.min() > 0:
        x = x + 1
    return x


def test_a_trace_ends_where_a_place_asks_of_which_that_is_enough() -> None:
    entry = entry_of(asks_three_times, torch.ones(3), torch.ones(3))
    whole = Explorer(entry, (__file__,))
    whole.explore()
    spans = [question.span for question in whole.result().questions]
    assert len(spans) == 3
    assert not whole.result().cut
    for until, asked, runs in ((spans[:1], 1, 1), (spans[1:2], 2, 1), ([replace(spans[0], row=1, end_row=2)], 3, None)):
        explorer = Explorer(entry, (__file__,))
        explorer.until = tuple(until)
        explorer.explore()
        found = explorer.result()
        assert [question.span for question in found.questions] == spans[:asked]
        assert found.cut is (asked < 3)
        assert found.runs == (runs or whole.result().runs)
