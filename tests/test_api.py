"""The Python API: the commands as functions, with the command line's words where something is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ddelint
from ddelint.cli import main

FLAGGED = """import torch
from torch.fx.experimental.symbolic_shapes import guard_size_oblivious


class Model(torch.nn.Module):
    def forward(self, x):
        n = x.sum().item()
        if n > 4:
            return x
        if guard_size_oblivious(x.shape[0] == 1):
            return x.squeeze(0)
        return -x
"""


@pytest.fixture
def flagged(tmp_path: Path) -> Path:
    path = tmp_path / "model.py"
    path.write_text(FLAGGED)
    return path


def complaint(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command line says of a call that makes no sense."""
    with pytest.raises(SystemExit) as end:
        main(arguments, prog_name="ddelint")
    assert end.value.code == 2
    return capsys.readouterr().err.removeprefix("ddelint: error: ").strip()


def test_check_gives_the_findings_that_the_command_prints(flagged: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = ddelint.check(flagged, static=True, cache=False)
    assert capsys.readouterr() == ("", "")
    assert [(d.code, d.span.row) for d in report.remaining] == [("DDE101", 8), ("DDE602", 10)]
    with pytest.raises(SystemExit):
        main(["check", "--static", "--no-cache", "--output-format", "json", str(flagged)], prog_name="ddelint")
    assert report.as_json() == json.loads(capsys.readouterr().out)


def test_keywords_are_the_options(flagged: Path) -> None:
    report = ddelint.check([flagged], static=True, cache=False, select=["DDE1", "DDE6"], ignore="DDE602")
    assert [d.code for d in report.remaining] == ["DDE101"]
    (flagged.parent / "ddelint.toml").write_text("select = ['DDE6']\n")
    assert [d.code for d in ddelint.check(flagged, static=True, cache=False).remaining] == ["DDE602"]
    alone = ddelint.check(flagged, static=True, cache=False, isolated=True)
    assert [d.code for d in alone.remaining] == ["DDE101", "DDE602"]


def test_what_is_given_as_false_is_not_as_the_configuration_says(flagged: Path) -> None:
    (flagged.parent / "ddelint.toml").write_text("assume-compiled = true\n")
    flagged.write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return int(x.sum())\n")
    assert [d.code for d in ddelint.check(flagged, static=True, cache=False).remaining] == ["DDE201"]
    assert not ddelint.check(flagged, static=True, cache=False, assume_compiled=False, trace=False).remaining


@pytest.mark.parametrize("keyword", ["fix", "diff", "sample"])
def test_a_keyword_that_is_none_is_refused(flagged: Path, keyword: str) -> None:
    with pytest.raises(ddelint.DdelintError, match=f"there is no keyword `{keyword}` here"):
        ddelint.check(flagged, static=True, **{keyword: True})  # type: ignore[arg-type]
    assert flagged.read_text() == FLAGGED


def test_without_suggestions_nothing_has_a_fix(flagged: Path) -> None:
    found, bare = ddelint.check(flagged, static=True), ddelint.check(flagged, static=True, suggest=False)
    assert [d.code for d in bare.remaining] == [d.code for d in found.remaining]
    assert any(d.fix is not None for d in found.remaining)
    assert all(d.fix is None for d in bare.remaining)
    assert bare.rewritten == {}


def test_check_writes_nothing_and_fix_does(flagged: Path) -> None:
    seen = ddelint.check(flagged, static=True, unsafe_fixes=True, cache=False)
    assert flagged.read_text() == FLAGGED
    assert "+        if guard_or_false(" in "".join(seen.diffs.values())
    assert ddelint.fix(flagged, static=True, cache=False).fixed == ()
    assert flagged.read_text() == FLAGGED
    done = ddelint.fix(flagged, static=True, unsafe_fixes=True, cache=False)
    assert [d.code for d in done.fixed] == ["DDE602"]
    assert "guard_or_false(x.shape[0] == 1)" in flagged.read_text()


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"samples": 0}, ["--samples", "0"]),
        ({"static": True, "trace": True}, ["--static", "--trace"]),
        ({"select": "DDE999"}, ["--select", "DDE999"]),
        ({"device": "tpu"}, ["--device", "tpu"]),
        ({"unbacked": ["x.a"]}, ["--unbacked", "x.a"]),
        ({"entry": "nowhere.py:Model"}, ["--entry", "nowhere.py:Model"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_what_makes_no_sense_raises_in_the_words_of_the_command_line(
    flagged: Path, keywords: dict[str, object], words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ddelint.DdelintError) as error:
        ddelint.check(flagged, **keywords)  # type: ignore[arg-type]
    assert str(error.value) == complaint(["check", *words, str(flagged)], capsys)


def test_a_path_that_is_not_there_raises(tmp_path: Path) -> None:
    with pytest.raises(ddelint.DdelintError, match="no such file or folder"):
        ddelint.check(tmp_path / "nothing.py")
    with pytest.raises(ddelint.DdelintError, match="no path here"):
        ddelint.check("-")


def test_a_file_without_an_entry_cannot_be_verified(flagged: Path) -> None:
    with pytest.raises(ddelint.DdelintError, match="no entry in"):
        ddelint.verify(flagged)


def test_explain_takes_a_text_an_exception_or_a_path(tmp_path: Path) -> None:
    text = (
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent "
        "expression u0 > 4 (unhinted: u0 > 4).  (Size-like symbols: none)"
    )
    (tmp_path / "log.txt").write_text(text)
    of_path = ddelint.explain(tmp_path / "log.txt")
    assert [d.expression for d in of_path.remaining] == ["u0 > 4"]
    assert [d.expression for d in ddelint.explain(text).remaining] == ["u0 > 4"]
    assert [d.expression for d in ddelint.explain(RuntimeError(text)).remaining] == ["u0 > 4"]


def test_functions_that_share_their_name_with_a_package_stay_callable() -> None:
    import ddelint.explain.explain
    import ddelint.trace.limits

    assert callable(ddelint.explain)
    assert callable(ddelint.verify)
    assert ddelint.trace.limits.__name__ == "ddelint.trace.limits"


def test_all_that_is_offered_is_there() -> None:
    assert {"check", "fix", "verify", "explain", "capture", "Entry"} <= set(ddelint.__all__)
    for name in ddelint.__all__:
        assert getattr(ddelint, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        ddelint.chek  # noqa: B018


def test_a_report_shows_itself(flagged: Path) -> None:
    report = ddelint.check(flagged, static=True, cache=False)
    assert repr(report) == "<Report: 2 findings in 1 file>"
    text = str(report)
    assert "model.py:8:12 DDE101" in text
    assert "\x1b" not in text
    page = report._repr_html_()
    assert page.count("<details") == 2
    assert page.count("<details open>") == 1
    assert "n &gt; 4" in page
    assert "\x1b" not in page


ENTRY = """import torch


def chosen(x):
    if x.sum() > 3:
        return x[x > 0]
    return x * 2


def make_inputs(seed):
    return (torch.rand(4, generator=torch.Generator().manual_seed(seed)),)
"""


@pytest.mark.slow
def test_without_suggestions_a_trace_finds_and_explains(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(ENTRY)
    report = ddelint.check(tmp_path / "model.py", entry=f"{tmp_path}/model.py:chosen", suggest=False, cache=False)
    (finding,) = report.remaining
    assert (finding.span.row, finding.origin) == (5, ("trace",))
    assert "export" in finding.asks
    assert (finding.fix, finding.refused, report.suggests) == (None, (), False)
