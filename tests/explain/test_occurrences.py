"""Which error a text tells of, and what is told twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from explaining import FIXTURES

from ddelint.explain.births import Known, births
from ddelint.explain.cleaning import clean, unwrapped
from ddelint.explain.frames import stacks
from ddelint.explain.occurrences import find
from ddelint.explain.recompilations import find as find_recompilations
from ddelint.explain.structured import find as find_structured
from ddelint.explain.texts import texts

TEXTS = sorted(path for path in FIXTURES.rglob("*.*") if path.suffix in {".txt", ".log", ".ipynb"})
GUARD = "GuardOnDataDependentSymNode: Could not guard on data-dependent expression {0} (unhinted: {0})."


def test_a_chained_traceback_is_one_error() -> None:
    first = 'Traceback (most recent call last):\n  File "/a/model.py", line 3, in forward\n    if n > 4:\n'
    text = (
        first
        + GUARD.format("u0 > 4")
        + "\n\nDuring handling of the above exception, another exception occurred:\n\n"
        + 'Traceback (most recent call last):\n  File "/a/run.py", line 9, in <module>\n    export(m)\n'
        + '  File "/v/site-packages/torch/export/_trace.py", line 1, in export\n    raise UserError()\n'
        + "torch._dynamo.exc.UserError: Consider annotating your code using torch._check*(). "
        + GUARD.format("u0 > 4")
    )
    found = find(clean(text), ())
    assert [(o.raw, o.frame and o.frame.filename) for o in found] == [("u0 > 4", "/a/model.py")]


def test_two_questions_on_one_line_are_two() -> None:
    frame = 'Traceback (most recent call last):\n  File "/a/model.py", line 3, in forward\n    if n > 4 or n < 2:\n'
    found = find(clean(frame + GUARD.format("u0 > 4") + "\n\n" + frame + GUARD.format("u0 < 2")), ())
    assert [o.raw for o in found] == ["u0 > 4", "u0 < 2"]


def test_torchs_own_source_lines_are_no_errors() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/v/site-packages/torch/_dynamo/utils.py", line 757, in f\n'
        '    gb_type="Data-dependent branching",\nRuntimeError: something else\n'
    )
    assert find(clean(text), ()) == []


def test_a_warning_far_from_a_traceback_does_not_get_its_frames() -> None:
    text = (
        'Traceback (most recent call last):\n  File "/a/other.py", line 3, in main\n    go()\nKeyError: 1\n\n'
        "W1121 13:19:38.589000 7998 torch/fx/experimental/symbolic_shapes.py:8154] "
        "propagate_real_tensors evaluate_expr(u0 > 4) -> True\n"
    )
    (found,) = find(clean(text), ())
    assert found.frame is None
    assert found.raw == "u0 > 4"


@pytest.mark.parametrize("text", ["", "\n\n", "hello", "KeyError: 'data-dependent'", "def f():\n    return 1\n"])
def test_nothing_is_found_in_other_texts(text: str) -> None:
    assert find(clean(text), ()) == []


def test_births_and_bounds_of_a_log() -> None:
    text = (
        "I1121 13:21:42.444000 8 torch/fx/experimental/symbolic_shapes.py:5330] [0/0] create_unbacked_symint u0 "
        "[-int_oo, int_oo] n = x.sum().item()  # a/model.py:9 in forward (_subclasses/fake_impls.py:1233 in f)\n"
        "I1121 13:21:42.445000 8 torch/fx/experimental/symbolic_shapes.py:8777] constrain_symbol_range u0 [0, 6]\n"
    )
    lines = clean(text)
    birth = Known(births(lines, stacks(lines), ())).at(9)["u0"]
    assert birth.frame is not None
    assert (birth.frame.filename, birth.frame.line, birth.frame.code) == ("a/model.py", 9, "n = x.sum().item()")
    assert (birth.lower, birth.upper) == (0, 6)


def test_a_guard_that_fails_again_and_again_is_one_finding() -> None:
    text = (FIXTURES / "releases" / "2.0-recompiles.txt").read_text("utf-8")
    (found,) = find_recompilations(clean(text), ())
    assert (found.code, found.times, found.groups["subject"]) == ("DDE404", 3, "n")


def test_recompilations_for_other_reasons_are_left_out() -> None:
    text = (
        "Recompiling function f in /a/model.py:3\n    triggered by the following guard failure(s):\n"
        "    - 0/0: ___check_global_state()\n    - 0/0: ___check_type_id(L['n'], 94)\n"
    )
    assert find_recompilations(clean(text), ()) == []


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_text_that_is_cut_anywhere_is_read(path: Path) -> None:
    text = path.read_text("utf-8")
    draw = random.Random(0)
    for _ in range(6):
        start, end = sorted((draw.randrange(len(text)), draw.randrange(len(text))))
        lines = clean(unwrapped(text[start:end]))
        for occurrence in (*find(lines, ()), *find_recompilations(lines, ()), *find_structured(text[start:end], ())):
            assert occurrence.kind or occurrence.code


def test_every_error_is_named_once_and_has_a_way_to_a_rule() -> None:
    names = [error.name for error in texts().errors]
    assert len(names) == len(set(names))
    for error in texts().errors:
        assert bool(error.kind) != bool(error.code)
