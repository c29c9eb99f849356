"""What `shapes` says was run has been run: what could not be is not called right, and nobody's file is overwritten."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ddelint.nouns.contracts import Contract, Dimension, Requirement
from ddelint.nouns.protocol import EntryFailure, EntrySpec
from ddelint.nouns.size_specs import CheckedSpec, Declarations, Outcome, SizeSpec, Trial
from ddelint.pipeline.gathering import PipelineError
from ddelint.pipeline.range_checking import check_given
from ddelint.pipeline.shaping import _write, _write_test
from ddelint.pipeline.spec_checking import check_specs
from ddelint.report.contracts import Told as Reported
from ddelint.report.contracts import render_markdown, render_text
from ddelint.report.style import Style
from ddelint.shapes import probing
from ddelint.shapes.facts import read, unused, with_words
from ddelint.shapes.probing import probe
from ddelint.shapes.ranges_given import read_ranges

X, Y = "x.shape[0]", "y.shape[0]"


class Told:
    """A session whose trials come out as they are given."""

    def __init__(self, ended: str = "same", declared: Declarations | None = None, trial: Trial | None = None) -> None:
        self.ended = ended
        self.found = declared or Declarations()
        self.trial = trial

    def declared(self, wanted: str = "") -> Declarations:
        return self.found

    def try_spec(self, spec: SizeSpec, first: Mapping[str, int], cases: Sequence[Mapping[str, int]]) -> Trial:
        return self.trial or Trial(True, outcomes=tuple(Outcome(case, self.ended) for case in cases))


def contract(*needs: str, filename: str = "model.py") -> Contract:
    sizes = (Dimension(X, 4, "free"), Dimension(Y, 4, "free"))
    required = tuple(Requirement(text, "torch") for text in needs)
    return Contract("m", filename, dimensions=sizes, requirements=required, ranks={"x": 1, "y": 1})


def shown(checked: Sequence[CheckedSpec]) -> str:
    text = "\n".join(render_text([Reported(contract(), checked)], Style()))
    return text + "\n".join(render_markdown([Reported(contract(), checked)]))


EXACT = SizeSpec({"n": (0, None), "m": (0, None)}, {X: "n", Y: "m"}, origin="SHAPES")
NARROW = SizeSpec({"n": (2, None), "m": (0, None)}, {X: "n", Y: "m"}, origin="SHAPES")


def test_a_spec_that_was_run_is_right() -> None:
    checked = check_specs(Told(declared=Declarations((EXACT,))), contract())  # type: ignore[arg-type]
    assert shown(checked).count("says what the program needs") == 2


@pytest.mark.parametrize("trial", [Trial(False, "it asks"), Trial(False, failure=EntryFailure("timeout", "too slow"))])
def test_a_spec_that_could_not_be_compiled_is_not_called_right(trial: Trial) -> None:
    told = Told(declared=Declarations((EXACT,)), trial=trial)
    text = shown(check_specs(told, contract()))  # type: ignore[arg-type]
    assert "says what the program needs" not in text
    assert text.count(trial.error or "too slow") == 2


def test_what_seems_too_strict_and_could_not_be_run_is_not_decided() -> None:
    told = Told(declared=Declarations((NARROW,)), trial=Trial(False, failure=EntryFailure("timeout", "too slow")))
    (checked,) = check_specs(told, contract())  # type: ignore[arg-type]
    assert checked.findings == ()
    assert checked.undecided == (f"{X} >= 2, since what is needed could not be compiled: too slow",)


@pytest.mark.parametrize(
    "declared", [Declarations(), Declarations(failure=EntryFailure("raised", "the file cannot be read"))]
)
def test_where_nothing_is_declared_nothing_is_called_right(declared: Declarations) -> None:
    text = shown(check_specs(Told(declared=declared), contract(), "SHAPES"))  # type: ignore[arg-type]
    assert "says what the program needs" not in text
    assert (declared.failure.message if declared.failure else "nothing of that name is declared: SHAPES") in text


def test_a_graph_is_said_to_refuse_only_what_it_was_called_with() -> None:
    found = check_given(Told("same"), contract(), read_ranges("x.0: 0.."))  # type: ignore[arg-type]
    assert found.said == ("0..: one graph; as eager at 0, 1",)
    (first, _) = check_given(Told("same"), contract(), read_ranges("x.0: 0..4, 5..")).said  # type: ignore[arg-type]
    assert first == f"0..4: {X} = 5: same"


def test_a_contract_that_was_not_held_against_eager_to_the_end_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not probe([], {X: 4}, lambda sizes: "").cut
    clock = itertools.count(step=10)
    monkeypatch.setattr(probing, "monotonic", lambda: next(clock))
    stopped = probe([], {X: 4}, lambda sizes: "")
    assert (stopped.cut, stopped.drawn) == (True, 1)


def test_only_its_own_file_is_overwritten(tmp_path: Path) -> None:
    found = contract(filename=str(tmp_path / "model.py"))
    written = Path(_write(found))
    assert written == tmp_path / "model_shapes.py"
    text = written.read_text("utf-8")
    assert _write(found) == str(written)
    assert written.read_text("utf-8") == text
    written.write_text("SHAPES = None\n")
    with pytest.raises(PipelineError, match="left as it is"):
        _write(found)
    assert written.read_text("utf-8") == "SHAPES = None\n"
    written.unlink()
    (tmp_path / "other.py").write_text(text)
    written.symlink_to(tmp_path / "other.py")
    with pytest.raises(PipelineError, match="left as it is"):
        _write(found)


def test_words_for_sizes() -> None:
    text = with_words(f"2 * {X} + {Y} >= {X} % 3", {X: "a + 1"})
    assert text == f"2 * (a + 1) + {Y} >= (a + 1) % 3"
    assert read(with_words(f"{X} == {Y}", {Y: X})).holds({X: 5})
    assert unused("n", {"n": 0, "n_2": 0}) == "n_3"


def test_the_test_that_pins_names_what_was_run(tmp_path: Path) -> None:
    found = contract(filename=str(tmp_path / "model.py"))
    written = Path(_write_test(found, EntrySpec(found.filename)))
    assert written == tmp_path / "test_model_shapes.py"
    assert 'assert_traceable("model.py", spec="model_shapes.py:SHAPES", exact=True)' in written.read_text("utf-8")
    given = str(tmp_path / "data" / "batches.py")
    text = Path(_write_test(found, EntrySpec(found.filename, "Net", given, "make"))).read_text("utf-8")
    (call,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    assert ast.unparse(call) == (
        "assert_traceable('model.py:Net', spec='model_shapes.py:SHAPES', inputs='data/batches.py:make', exact=True)"
    )
    written.write_text("def test_mine(): pass\n")
    with pytest.raises(PipelineError, match="left as it is"):
        _write_test(found, EntrySpec(found.filename))
