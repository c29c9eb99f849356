"""Custom operators whose fake kernels are right, wrong, or silent about a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tracing import entry_of, trace

from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose
from ddelint.trace.explorer import trace_entry
from ddelint.trace.fake_kernels import disagreements
from ddelint.trace.provenance import Paths

Fake = Callable[[torch.Tensor], Any]


@pytest.fixture
def library() -> Iterator[Any]:
    with torch.library._scoped_library("ddelint_tests", "FRAGMENT") as made:
        made.define("rows(Tensor x) -> Tensor")
        made.impl("rows", lambda x: x.sum(1), "CPU")
        made.define("positive(Tensor x) -> Tensor")
        made.impl("positive", lambda x: x[x > 0], "CPU")
        yield made


def called(name: str) -> Callable[..., Any]:
    def program(x: torch.Tensor) -> Any:
        return getattr(torch.ops.ddelint_tests, name)(x) + 1

    return program


def details(name: str) -> list[str]:
    found = disagreements(entry_of(called(name), torch.ones(2, 3)), Paths((__file__,)), (0,))
    return [question.detail for question in found]


@pytest.mark.parametrize(
    ("fake", "words"),
    [
        (lambda x: x.new_empty(x.shape[0]), []),
        (lambda x: torch.empty_like(x), ["it says shape (2, 3), the operator returns (2)"]),
        (lambda x: x.new_empty(2, dtype=torch.int64), ["it says torch.int64, the operator returns torch.float32"]),
        (lambda x: x.new_empty(4)[::2], ["it says strides (2,), the operator returns (1,)"]),
    ],
)
def test_what_a_fake_kernel_says(library: Any, fake: Fake, words: list[str]) -> None:
    torch.library.register_fake("ddelint_tests::rows", fake, lib=library)
    assert details("rows") == words


def test_a_size_that_is_left_open_is_never_wrong(library: Any) -> None:
    def fake(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(torch.library.get_ctx().new_dynamic_size())

    torch.library.register_fake("ddelint_tests::positive", fake, lib=library)
    assert details("positive") == []


def test_a_symbol_that_no_result_holds_is_found_without_a_graph(library: Any) -> None:
    def fake(x: torch.Tensor) -> torch.Tensor:
        torch.library.get_ctx().new_dynamic_size()
        return x.new_empty(x.shape[0])

    def program(x: torch.Tensor) -> Any:
        rows = torch.ops.ddelint_tests.rows(x)
        return rows if rows.sum() > 0 else -rows

    torch.library.register_fake("ddelint_tests::rows", fake, lib=library)
    pending, after = trace(program, torch.ones(2, 3), paths=(__file__,)).questions
    assert (pending.kind, pending.operator) == ("failure", "ddelint_tests.rows.default")
    assert "Pending unbacked symbols {u0} not in returned outputs" in pending.detail
    assert diagnose(pending, SourceFile.read(Path(__file__))).code == "DDE803"
    assert after.expression == "rows.sum() > 0"


def test_a_symbol_that_a_result_holds_is_bound(library: Any) -> None:
    def fake(x: torch.Tensor) -> torch.Tensor:
        return x.new_empty(torch.library.get_ctx().new_dynamic_size(), 2)

    torch.library.register_fake("ddelint_tests::positive", fake, lib=library)
    assert trace(called("positive"), torch.ones(2, 3), paths=(__file__,)).questions == ()


def test_operators_of_torch_are_trusted() -> None:
    entry = entry_of(lambda x: torch.linalg.qr(x).R, torch.ones(2, 3))
    assert disagreements(entry, Paths((__file__,)), (0,)) == []


def test_a_trace_tells_of_them(library: Any) -> None:
    torch.library.register_fake("ddelint_tests::rows", torch.empty_like, lib=library)
    options = SessionOptions(EntrySpec(__file__), (__file__,))
    result = trace_entry(entry_of(called("rows"), torch.ones(2, 3)), (__file__,), options)
    assert [(question.kind, question.operator) for question in result.questions] == [
        ("fake", "ddelint_tests.rows.default")
    ]
