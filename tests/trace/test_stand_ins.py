"""The trace goes on behind an operator without a fake kernel, as its real kernel lets it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from tracing import entry_of

from ddelint.nouns.diagnostics import Question
from ddelint.trace import kernel_calls
from ddelint.trace.entry import Entry
from ddelint.trace.explorer import Explorer

X = torch.tensor([[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0]])


@pytest.fixture
def define() -> Iterator[Callable[[str, Callable[..., Any]], Any]]:
    """`define(schema, kernel)` gives a new operator that has a kernel for the CPU and no fake one."""
    with torch.library._scoped_library("ddelint_stand_ins", "FRAGMENT") as library:

        def operator(schema: str, kernel: Callable[..., Any]) -> Any:
            library.define(schema)
            name = schema.partition("(")[0]
            library.impl(name, kernel, "CPU")
            return getattr(torch.ops.ddelint_stand_ins, name)

        yield operator


def explored(entry: Entry) -> list[Question]:
    explorer = Explorer(entry, (__file__,))
    explorer.explore()
    return list(explorer.result().questions)


def questions(program: Callable[..., Any], *args: Any) -> list[tuple[str, str]]:
    return [(question.kind, question.expression) for question in explored(entry_of(program, *args))]


def test_what_stands_behind_the_operator_is_found_and_the_operator_told_once(define: Any) -> None:
    positive = define("positive(Tensor x) -> Tensor", lambda x: x[x > 0])

    def program(x: torch.Tensor) -> torch.Tensor:
        hit = positive(x)
        if hit.shape[0] > 2:
            hit = hit + 1
        return positive(hit * 2).sum()

    first, second = explored(entry_of(program, X))
    assert (first.kind, first.operator, first.expression) == ("operator", "ddelint_stand_ins.positive", "positive(x)")
    assert (second.kind, second.expression, second.answers) == ("truth", "hit.shape[0] > 2", ("true", "false"))
    (symbol,) = second.symbols
    assert (symbol.name, symbol.expression, symbol.lower) == ("hit.shape[0]", "positive(x)", 0)


def test_sizes_that_follow_from_the_arguments_ask_nothing(define: Any) -> None:
    rows = define(
        "rows(Tensor x, int n) -> (Tensor, Tensor)", lambda x, n: (x.new_zeros(n, len(x)).t(), x.new_zeros(7))
    )

    def program(x: torch.Tensor) -> torch.Tensor:
        table, seven = rows(x, 4)
        assert table.shape == (3, 4)
        assert table.stride() == (1, 3)
        assert seven.shape == (7,)
        return table

    assert [kind for kind, _ in questions(program, X)] == ["operator"]


def test_results_of_one_unknown_size_share_it(define: Any) -> None:
    def kernel(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        hit = x[x > 0]
        return hit, hit.long(), len(hit)

    both = define("both(Tensor x) -> (Tensor, Tensor, SymInt)", kernel)

    def program(x: torch.Tensor) -> torch.Tensor:
        values, whole, count = both(x)
        if values.shape[0] == whole.shape[0] == count and whole.dtype == torch.int64:
            return values + whole
        return x[0] if count > 1 else x

    assert questions(program, X) == [("operator", "both(x)")]


def test_a_size_that_hangs_on_another_unknown_one_is_that_one(define: Any) -> None:
    doubled = define("doubled(Tensor x) -> Tensor", lambda x: x * 2)

    def program(x: torch.Tensor) -> torch.Tensor:
        hit = x[x > 0]
        return doubled(hit) + hit

    assert questions(program, X) == [("operator", "doubled(hit)")]


def test_an_operator_that_eager_never_reaches_is_tried_on_numbers_of_our_own(define: Any) -> None:
    halves = define("halves(Tensor x) -> Tensor[]", lambda x: [x[x > 0], x.mT.contiguous()])

    def program(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 1000:
            hit, turned = halves(x)
            assert turned.shape == (2, 3)
            if hit.shape[0] == 1:
                return turned
        return x

    assert questions(program, X) == [
        ("truth", "x.sum() > 1000"),
        ("operator", "halves(x)"),
        ("truth", "hit.shape[0] == 1"),
    ]


def test_a_kernel_that_crashes_on_them_ends_the_path_and_nothing_else(define: Any) -> None:
    def crash(x: torch.Tensor) -> torch.Tensor:
        os._exit(3)

    fatal = define("fatal(Tensor x) -> Tensor", crash)

    def program(x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 1000:
            return fatal(x)
        if x.max() > 3:
            return x
        return -x

    assert questions(program, X) == [
        ("truth", "x.sum() > 1000"),
        ("truth", "x.max() > 3"),
        ("operator", "fatal(x)"),
    ]


def test_a_program_that_goes_on_by_itself_gets_no_stand_in(define: Any) -> None:
    fast = define("fast(Tensor x) -> Tensor", lambda x: x * 2)

    def program(x: torch.Tensor) -> torch.Tensor:
        try:
            return fast(x)
        except (RuntimeError, NotImplementedError):
            return x * 2 if x.sum() > 0 else x

    assert questions(program, X) == [("truth", "x.sum() > 0")]


def bodies(program: Callable[..., Any]) -> list[tuple[str, ...]]:
    return [question.fake for question in explored(entry_of(program, X)) if question.kind == "operator"]


@pytest.mark.parametrize(
    ("schema", "kernel", "body"),
    [
        (
            "positive(Tensor x) -> Tensor",
            lambda x: x[x > 0],
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty(size)"),
        ),
        (
            "places(Tensor x) -> (Tensor, Tensor)",
            lambda x: (x.nonzero().contiguous(), x.flatten().double()),
            (
                "size = torch.library.get_ctx().new_dynamic_size()",
                "return (x.new_empty((size, 2), dtype=torch.int64), x.new_empty(x.numel(), dtype=torch.float64))",
            ),
        ),
        (
            "turned(Tensor x) -> (Tensor, SymInt)",
            lambda x: (x.new_zeros(2, 4, 3).permute(2, 0, 1), 7),
            (
                "size = torch.library.get_ctx().new_dynamic_size()",  # a number that is the same each time is no shape
                "return (x.new_empty((2, 4, 3)).permute(2, 0, 1), size)",
            ),
        ),
        (
            "first_two(Tensor x) -> (SymInt, SymInt, Tensor)",  # the same in all tries, yet not the same number
            lambda x: (max(3, int((x > 90).sum())), max(3, int((x < -90).sum())), x.clone()),
            (
                "size_1 = torch.library.get_ctx().new_dynamic_size()",
                "size_2 = torch.library.get_ctx().new_dynamic_size()",
                "return (size_1, size_2, x.new_empty((x.shape[0], x.shape[1])))",
            ),
        ),
        (
            "labels(Tensor x) -> Tensor",  # all distinct in the only input
            lambda x: x.flatten().unique(),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty(size)"),
        ),
        (
            "first_rows(Tensor x) -> Tensor",  # as many rows in the only input as there are columns and one
            lambda x: x[: x.shape[1] + 1].clone(),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty((size, x.shape[1]))"),
        ),
        (
            "far_apart(Tensor x) -> Tensor",  # a loop that keeps all rows of the only input
            lambda x: x[[i for i in range(len(x)) if all((x[i] - x[j]).abs().max() > 1e-3 for j in range(i))]],
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty((size, x.shape[1]))"),
        ),
        ("mean(Tensor x) -> Tensor", lambda x: x.mean(), ("return x.new_empty(())",)),
        ("largest(Tensor x) -> SymInt", lambda x: int(x.max()), ()),
    ],
)
def test_the_body_of_a_fake_kernel_says_the_same(
    define: Any, schema: str, kernel: Callable[..., Any], body: tuple[str, ...]
) -> None:
    operator = define(schema, kernel)
    assert bodies(lambda x: operator(x)) == [body]


def turned(x: torch.Tensor, over: bool = False) -> torch.Tensor:
    return x.t().contiguous() if over else x.clone()


@pytest.mark.parametrize(
    ("schema", "kernel", "program", "body"),
    [
        (
            "turned(Tensor x, bool over) -> Tensor",
            turned,
            lambda operator, x: operator(x, False),
            (
                "if over:",
                "    return x.new_empty((x.shape[1], x.shape[0]))",
                "return x.new_empty((x.shape[0], x.shape[1]))",
            ),
        ),
        (
            "turned(Tensor x, bool over=False) -> Tensor",
            turned,
            lambda operator, x: operator(x),
            (
                "if over:",
                "    return x.new_empty((x.shape[1], x.shape[0]))",
                "return x.new_empty((x.shape[0], x.shape[1]))",
            ),
        ),
        (
            "turned(Tensor x, *, bool over) -> Tensor",
            turned,
            lambda operator, x: operator(operator(x, over=True), over=True),
            (
                "if not over:",
                "    return x.new_empty((x.shape[0], x.shape[1]))",
                "return x.new_empty((x.shape[1], x.shape[0]))",
            ),
        ),
        (
            "chosen(Tensor x, bool rows) -> Tensor",
            lambda x, rows: x[x.sum(1) > 0] if rows else x.clone(),
            lambda operator, x: operator(x, False),
            (
                "if rows:",
                "    size = torch.library.get_ctx().new_dynamic_size()",
                "    return x.new_empty((size, x.shape[1]))",
                "return x.new_empty((x.shape[0], x.shape[1]))",
            ),
        ),
        (
            "padded(Tensor[] rows) -> Tensor",
            lambda rows: torch.nn.utils.rnn.pad_sequence([row[row[:, 0] > 0] for row in rows], batch_first=True),
            lambda operator, x: operator([x, -x]),
            (
                "size = torch.library.get_ctx().new_dynamic_size()",
                "return rows[0].new_empty((len(rows), size, rows[0].shape[1]))",
            ),
        ),
        (
            "with_ids(Tensor[] x) -> Tensor",  # none of the ids of any input is the one that marks padding
            lambda x: x[0][x[1] != 0],
            lambda operator, x: operator([x, torch.arange(1, 4)]),
            (
                "size = torch.library.get_ctx().new_dynamic_size()",
                "return x[0].new_empty((size, x[0].shape[1]))",
            ),
        ),
        (
            "each_positive(Tensor x, Tensor y) -> (Tensor, Tensor)",  # as many of both in all inputs
            lambda x, y: (x[x > 0], y[y > 0]),
            lambda operator, x: operator(x, x.abs() * x.sign()),
            (
                "size_1 = torch.library.get_ctx().new_dynamic_size()",
                "size_2 = torch.library.get_ctx().new_dynamic_size()",
                "return (x.new_empty(size_1), x.new_empty(size_2))",
            ),
        ),
        (
            "by_keys(Tensor x, Tensor keys) -> Tensor",  # as many rows as keys in all inputs
            lambda x, keys: torch.stack([x.sum(0) * key for key in keys]),
            lambda operator, x: operator(x, x[:, 0]),
            ("return keys.new_empty((keys.shape[0], x.shape[1]))",),
        ),
        (
            "pairs(Tensor[] rows) -> Tensor",  # two columns, whatever the number of tensors
            lambda rows: torch.stack([sum(rows), rows[0]], 1),
            lambda operator, x: operator([x[:, 0], x[:, 1]]),
            ("return rows[0].new_empty((rows[0].shape[0], 2))",),
        ),
        (
            "chosen_of_each(Tensor[] rows) -> Tensor[]",
            lambda rows: [row.clone() for row in rows],
            lambda operator, x: operator([x, -x])[0],
            (
                "return [rows[0].new_empty((rows[0].shape[0], rows[0].shape[1])), "
                "rows[0].new_empty((rows[1].shape[0], rows[0].shape[1]))]",
            ),
        ),
        (
            "cut(Tensor x, int[] lengths) -> Tensor",  # as long as the longest, which is all of it here
            lambda x, lengths: x[:, : max(lengths)].clone(),
            lambda operator, x: operator(x, [1, x.shape[1]]),
            (
                "size = torch.library.get_ctx().new_dynamic_size()",
                "return x.new_empty((x.shape[0], size))",
            ),
        ),
        (
            "zeros(Tensor x, int[] lengths) -> Tensor",
            lambda x, lengths: x.new_zeros(x.shape[0], lengths[0]),
            lambda operator, x: operator(x, [2, 1]),
            ("return x.new_empty((x.shape[0], lengths[0]))",),
        ),
        (
            "at_most(Tensor x, int most) -> Tensor",  # which the only input is shorter than
            lambda x, most: x[:most].clone(),
            lambda operator, x: operator(x, 10),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty((size, x.shape[1]))"),
        ),
        (
            "at_most_four(Tensor x) -> Tensor",
            lambda x: x[:4].clone(),
            lambda operator, x: operator(x),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty((size, x.shape[1]))"),
        ),
        (
            "at_least(Tensor x, int least) -> Tensor",  # which the only input is longer than
            lambda x, least: torch.cat([x, x.new_zeros(max(0, least - len(x)), x.shape[1])]),
            lambda operator, x: operator(x, 1),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return x.new_empty((size, x.shape[1]))"),
        ),
        (
            "picked(Tensor x, Tensor rows, SymInt most) -> Tensor",  # positions stay positions, however many
            lambda x, rows, most: rows[x[rows, 0].topk(most).indices] if len(rows) > most else rows.clone(),
            lambda operator, x: operator(x, torch.tensor([0, 2]), 3),
            ("size = torch.library.get_ctx().new_dynamic_size()", "return rows.new_empty(size)"),
        ),
        (
            "scaled(Tensor x, int by) -> Tensor",  # a number that no size hangs on
            lambda x, by: x * by,
            lambda operator, x: operator(x, 3),
            ("return x.new_empty((x.shape[0], x.shape[1]))",),
        ),
        (
            "classified(Tensor[] weights, Tensor x) -> Tensor",  # as many classes as there are rows in the only input
            lambda weights, x: x.new_zeros(len(x), len(X)) + (weights[0].view(6, 7) * 0).sum(),
            lambda operator, x: operator([torch.ones(6, 7)], x),
            (f"return weights[0].new_empty((x.shape[0], {len(X)}))",),
        ),
        (
            "doubled(Tensor x, bool twice) -> Tensor",  # whatever the flag
            lambda x, twice: x * (4 if twice else 2),
            lambda operator, x: operator(x, True),
            ("return x.new_empty((x.shape[0], x.shape[1]))",),
        ),
    ],
)
def test_a_fake_kernel_holds_for_other_flags_and_lists(
    define: Any, schema: str, kernel: Callable[..., Any], program: Callable[..., Any], body: tuple[str, ...]
) -> None:
    operator = define(schema, kernel)
    assert bodies(lambda x: program(operator, x)) == [body]


@torch.library.custom_op("ddelint_stand_ins_own::chosen", mutates_args=())
def chosen(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0].clone()


@chosen.register_fake
def _(x: torch.Tensor) -> torch.Tensor:
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


def test_a_size_of_the_users_own_fake_kernel_is_born_where_the_operator_is_called() -> None:
    def program(x: torch.Tensor) -> torch.Tensor:
        return x if chosen(x).shape[0] > 2 else -x

    (question,) = explored(entry_of(program, X))
    assert [symbol.expression for symbol in question.symbols] == ["chosen(x)"]
    assert question.expression == "chosen(x).shape[0] > 2"


def test_seeds_tell_apart_what_one_input_cannot(define: Any) -> None:
    padded = define("padded(Tensor x, Tensor n) -> Tensor", lambda x, n: x.new_zeros(int(n)))
    calls = kernel_calls.seen_in_eager(
        Entry("test", "", lambda: padded, lambda seed: ((X, torch.tensor(seed)), {}), True, ("x", "n")),
        padded.default,
        range(4),
    )
    ((signature, seen),) = calls.items()
    assert signature == (("n", 0, "torch.int64"), ("x", 2, "torch.float32"))
    assert [call.returned.shape for call in seen.calls] == [(0,), (1,), (2,), (3,)]
    assert seen.calls[0].numbers == {("x", 0): 3, ("x", 1): 2, ("x", "elements"): 6, ("n", "elements"): 1}
