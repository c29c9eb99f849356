"""From a stopped frame to the exact expression, and from a stack to who is blamed."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from tracing import trace

from ddelint.trace import provenance
from ddelint.trace.provenance import Paths, Place, Sources, expression_at


class Asks:
    """A value that raises whenever a number or a truth is wanted of it, so that a traceback says where."""

    def __bool__(self) -> bool:
        raise ZeroDivisionError

    __index__ = __int__ = __len__ = __iter__ = __bool__  # type: ignore[assignment]

    def __hash__(self) -> int:
        raise ZeroDivisionError

    def __gt__(self, other: object) -> Asks:
        return self

    def __call__(self) -> Asks:
        return self


def asking_text(source: str, tmp_path: Path) -> str:
    """The expression that is blamed when `source` (the body of a function of q, t, f) asks."""
    path = tmp_path / "body.py"
    path.write_text("def body(q, t, f):\n" + textwrap.indent(textwrap.dedent(source), "    "), encoding="utf-8")
    module = loaded(path)
    try:
        module.body(Asks(), True, False)
    except ZeroDivisionError as error:
        entry = error.__traceback__
        while entry is not None and entry.tb_frame.f_code.co_name in ("test", "asking_text"):
            entry = entry.tb_next
        places = []
        while entry is not None and entry.tb_frame.f_code.co_filename == str(path):
            places.append(Place(entry.tb_frame.f_code, entry.tb_lasti, entry.tb_frame))
            entry = entry.tb_next
        return expression_at(places[-1], Sources()).text
    pytest.fail("nothing asked")


def loaded(path: Path, name: str = "body") -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if q: pass", "q"),
        ("if q > 4: pass", "q > 4"),
        ("if q() > 4: pass", "q() > 4"),
        ("if t and q: pass", "q"),
        ("if f or not q: pass", "q"),
        ("if t and (q > 1 or f): pass", "q > 1"),
        ("if f: pass\nelif q: pass", "q"),
        ("while q: pass", "q"),
        ("while t:\n    if q(): break", "q()"),
        ("assert q > 3, 'text'", "q > 3"),
        ("x = 1 if q else 2", "q"),
        ("x = q and t", "q"),
        ("x = t and not q", "not q"),
        ("x = [i for i in q]", "q"),
        ("x = [i for i in (1, 2) if q]", "q"),
        ("x = {i: i for i in (1,) if q > i}", "q > i"),
        ("x = all(q > i for i in (1, 2))", "all(q > i for i in (1, 2))"),
        ("for i in q: pass", "q"),
        ("for i in range(q): pass", "range(q)"),
        ("a, b = q", "q"),
        ("a, *b = q()", "q()"),
        ("for a, b in [q]: pass", "[q]"),
        ("x = [1, 2][q]", "[1, 2][q]"),
        ("x = [1, 2][:q]", "[1, 2][:q]"),
        ("x = {q: 1}", "{q: 1}"),
        ("x = int(q)", "int(q)"),
        ("x = len(q)", "len(q)"),
        ("return bool(q)", "bool(q)"),
        ("x = 'ä' if t and q else 2", "q"),
        ("if (\n    t\n    and q > 4\n): pass", "q > 4"),
        ("x = max(\n    1,\n    int(q),\n)", "int(q)"),
        ("g = lambda: 1 if q else 2\ng()", "q"),
    ],
)
def test_the_asking_expression(source: str, expected: str, tmp_path: Path) -> None:
    assert asking_text(source, tmp_path) == expected


def test_columns_count_characters(tmp_path: Path) -> None:
    path = tmp_path / "umlauts.py"
    path.write_text("def body(q):\n    x = 'äöü' if q else 1\n", encoding="utf-8")
    with pytest.raises(ZeroDivisionError) as raised:
        loaded(path).body(Asks())
    entry = next(e for e in raised.traceback if str(e.path) == str(path))
    frame = entry._rawentry.tb_frame
    span = expression_at(Place(frame.f_code, entry._rawentry.tb_lasti, frame), Sources()).span
    assert (span.row, span.column, span.end_column) == (2, 18, 19)


def test_source_comes_from_the_loader_that_ran_it(tmp_path: Path) -> None:
    path = tmp_path / "replaced.py"
    path.write_text("# what is on disk has no such line\n")
    text = "\n\ndef body(q):\n    return 1 if q > 2 else 0\n"

    class Loader(importlib.machinery.SourceFileLoader):
        def get_data(self, path: Any) -> bytes:
            return text.encode() if str(path).endswith(".py") else super().get_data(path)

    spec = importlib.util.spec_from_file_location("replaced", path, loader=Loader("replaced", str(path)))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (question,) = trace(lambda x: module.body(x.sum()), torch.ones(3), paths=(str(path),)).questions
    assert (question.span.row, question.expression) == (4, "q > 2")


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], ModuleType]:
    """`library(name, text)` gives a module of this text that can be imported by name."""
    monkeypatch.syspath_prepend(tmp_path)
    made: list[str] = []

    def make(name: str, text: str) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
        made.append(name)
        return importlib.import_module(name)

    yield make  # type: ignore[misc]
    for name in made:
        sys.modules.pop(name, None)


def test_a_library_asks_and_its_caller_is_blamed(library: Callable[[str, str], ModuleType], tmp_path: Path) -> None:
    library("helping_library", "def positive(t):\n    if t.sum() > 0:\n        return t\n    return -t\n")
    ours = library(
        "our_model",
        """
        import helping_library

        def outer(x, n):
            return inner(x * 2, n)

        def inner(y, n):
            return helping_library.positive(y) + 1
        """,
    )
    result = trace(ours.outer, torch.ones(3), torch.tensor(2), paths=(str(tmp_path / "our_model.py"),))
    (question,) = result.questions
    assert (question.span.row, question.span.column) == (8, 12)
    assert question.span.filename.endswith("our_model.py")
    assert question.expression == "t.sum() > 0"
    assert [(frame.function, frame.inside) for frame in question.frames] == [
        ("outer", True),
        ("inner", True),
        ("positive", False),
    ]
    assert set(question.answers) == {"true", "false"}


def pooled(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
    side = n.item()
    return torch.nn.functional.adaptive_avg_pool2d(x, (side, side))


def test_a_question_inside_torch_names_the_function_and_the_users_numbers() -> None:
    (question,) = trace(pooled, torch.ones(1, 1, 4, 4), torch.tensor(2), paths=(__file__,)).questions
    assert question.operator == "torch.nn.functional.adaptive_avg_pool2d"
    assert question.expression == "side >= 0"
    assert question.frames[-1].span.filename.startswith(provenance.torch_internals.TORCH_FOLDER)


class Named(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(3))

    def forward(self, x: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        kept = x[keep]
        both = [kept, x]
        half = kept.shape[0] // 2
        if half + both[1].shape[0] > 5:
            return x
        return torch.chunk(x, self.table.max().item())[0]


def test_names_of_sizes_and_of_derived_numbers() -> None:
    size, count = trace(Named, torch.ones(4), torch.ones(4, dtype=torch.bool), paths=(__file__,)).questions
    assert size.expression == "half + both[1].shape[0] > 5"
    assert [(s.name, s.expression, s.lower, s.upper) for s in size.symbols] == [("kept.shape[0]", "x[keep]", 0, 4)]
    assert (count.kind, count.operator) == ("integer", "torch.chunk")
    assert [(s.name, s.expression) for s in count.symbols] == [("self.table.max().item()",) * 2]


def test_paths_are_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    paths = Paths((str(tmp_path / "package"), str(tmp_path / "one.py")))
    assert str(tmp_path / "package" / "deep" / "module.py") in paths
    assert str(tmp_path / "one.py") in paths
    assert str(tmp_path / "package_of_another" / "module.py") not in paths


def test_plumbing_is_nobodys_code() -> None:
    import contextlib

    assert provenance.is_plumbing(torch.nn.functional.__file__)
    assert provenance.is_plumbing(contextlib.__file__)
    assert provenance.is_plumbing(provenance.__file__)
    assert provenance.is_plumbing("<string>")
    assert not provenance.is_plumbing(pytest.__file__)
    assert not provenance.is_plumbing(__file__)


class Watching:
    """Notes how the caller that wants its length is known."""

    def __init__(self) -> None:
        self.keys: set[tuple[Any, ...]] = set()

    def __len__(self) -> int:
        self.keys.add(provenance.live_stack(call_often.__code__)[0].key)
        return 1


def length_of(value: Watching) -> int:
    return len(value)


def call_often(value: Watching) -> None:
    for _ in range(100):
        length_of(value)


def test_a_call_is_known_by_the_same_key_once_the_interpreter_has_specialized_it() -> None:
    watching = Watching()
    call_often(watching)
    assert len(watching.keys) == 1
