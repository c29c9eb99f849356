"""`ddelint explain` as a command: inputs, formats, exit codes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from explaining import FIXTURES, PROJECT

from ddelint.cli import main

GATE = FIXTURES / "torch-2.13" / "export-gate.txt"


def explain(*arguments: str, given: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, ["explain", *arguments], input=given, prog_name="ddelint")


def test_with_the_source_columns_and_a_rewrite_are_shown() -> None:
    result = explain(str(GATE), "--path", str(PROJECT))
    assert result.exit_code == 1
    assert "model.py:10:12 DDE101 branch-on-value: the compiler must answer `kept > 4` while tracing" in result.stdout
    assert "`kept` is born here" in result.stdout
    assert "by hand: " in result.stdout
    assert "- if kept > 4:" in result.stdout
    assert "nothing was run" in result.stdout


def test_without_the_source_the_rule_gives_its_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = explain(str(GATE))
    assert result.exit_code == 1
    assert "/home/ana/project/model.py:10:4 DDE101" in result.stdout
    assert "10 │ if kept > 4:" in result.stdout
    assert "`ddelint rule DDE101`" in result.stdout
    assert "torch.where" in result.stdout
    assert "not at hand" in result.stderr


def test_json_keeps_the_contract() -> None:
    result = explain(str(GATE), "--path", str(PROJECT), "--output-format", "json")
    (finding,) = json.loads(result.stdout)
    assert finding["code"] == "DDE101"
    assert finding["location"] == {"row": 10, "column": 12}
    assert finding["expression"] == "kept > 4"
    assert finding["fix"]["applicability"] == "display"
    assert finding["fix"]["edits"]
    assert finding["asks"] == ["export"]
    assert finding["symbols"][0]["torch_name"] == "u0"
    assert finding["symbols"][0]["expression"] == "(x > 0).sum().item()"
    evidence = {key: value for key, value in finding["evidence"].items() if key != "notes"}
    assert set(evidence.values()) == {None}


@pytest.mark.parametrize("output_format", ["full", "concise", "github", "json"])
def test_every_format(output_format: str) -> None:
    result = explain("-", "--output-format", output_format, given=GATE.read_text("utf-8"))
    assert result.exit_code == 1
    assert "DDE101" in result.stdout


def test_standard_input_is_the_default() -> None:
    assert explain(given=GATE.read_text("utf-8")).exit_code == 1


def test_a_place_is_in_the_text_where_nothing_else_is_known() -> None:
    result = explain(
        "-", "--output-format", "concise", given="x\nCould not guard on data-dependent expression u0 > 4\n"
    )
    assert result.stdout.startswith("-:2:1: DDE101 ")


@pytest.mark.parametrize("text", ["", "no error here\n", "Traceback (most recent call last):\nKeyError: 3\n"])
def test_a_text_without_such_an_error(text: str) -> None:
    result = explain("-", given=text)
    assert result.exit_code == 0
    assert result.stdout == ""
    assert result.stderr.startswith("nothing found: ")
    assert explain("-", "--output-format", "json", given=text).stdout == "[]\n"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "program").write_bytes(b"\x7fELF\x00\x00\x00")
    (tmp_path / "empty").mkdir()
    for name, reason in (("missing", "no such file"), ("program", "is not a text"), ("empty", "holds no log")):
        result = explain(str(tmp_path / name))
        assert result.exit_code == 2
        assert result.stdout == ""
        assert reason in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_rules_are_selected() -> None:
    assert explain(str(GATE), "--ignore", "DDE1").exit_code == 0
    assert explain(str(GATE), "--select", "DDE101").exit_code == 1
    assert explain(str(GATE), "--select", "DDE777").exit_code == 2


def test_the_configuration_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the folder that the call is made in, or of what --path names; what the call says comes on top."""
    project = shutil.copytree(PROJECT, tmp_path / "project")
    (project / "pyproject.toml").write_text('[tool.ddelint]\nignore = ["DDE1"]\n')
    monkeypatch.chdir(tmp_path)
    assert explain(str(GATE), "--isolated").exit_code == 1
    assert explain(str(GATE), "--path", "project").exit_code == 0
    assert explain(str(GATE), "--path", "project", "--select", "DDE101").exit_code == 1
    assert explain(str(GATE), "--path", "project", "--extend-select", "DDE101").exit_code == 1
    monkeypatch.chdir(project)
    left_out = explain(str(GATE))
    assert left_out.exit_code == 0
    assert left_out.stderr.startswith("nothing selected: "), left_out.stderr
    (project / "pyproject.toml").write_text('[tool.ddelint.per-file-ignores]\n"model.py" = ["branch-on-value"]\n')
    assert explain(str(GATE), "--path", ".").exit_code == 0
    assert explain(str(GATE), "--path", ".", "--isolated").exit_code == 1
    (tmp_path / "own.toml").write_text('select = ["DDE2"]\n')
    assert explain(str(GATE), "--config", str(tmp_path / "own.toml")).exit_code == 0
    (project / "pyproject.toml").write_text("[tool.ddelint]\nignor = []\n")
    refused = explain(str(GATE))
    assert refused.exit_code == 2
    assert "unknown key `ignor`" in refused.stderr


def test_exit_zero_and_quiet() -> None:
    result = explain(str(GATE), "--exit-zero", "-q", "--output-format", "concise")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 1
    assert result.stderr == ""


def test_a_folder_of_structured_logs(tmp_path: Path) -> None:
    result = explain(str(FIXTURES / "torch-2.13" / "trace-export"), "--output-format", "concise", "-q")
    assert [line.split(": ")[1][:6] for line in result.stdout.splitlines()] == ["DDE101", "DDE102", "DDE105", "DDE201"]


def test_explaining_never_loads_torch() -> None:
    code = (
        "import sys\nfrom ddelint.cli import main\ntry:\n"
        f"    main(['explain', {str(GATE)!r}, '--path', {str(PROJECT)!r}], prog_name='ddelint')\n"
        "except SystemExit as end:\n    assert end.code == 1, end.code\n"
        "assert not {'torch', 'sympy', 'numpy'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


CUT = """Traceback (most recent call last):
  File "model.py", line 3, in forward
    if x.sum() > 0:
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CUT, True),
        (CUT + '  File "other.py", line 4, in f\n', True),
        (CUT + "    ^^^^^^^\n", True),
        (CUT + "KeyError: 3\n", False),
        ("2026 [rank0] " + CUT.replace("\n", "\n2026 [rank0] "), False),
        ("no error here\n", False),
    ],
)
def test_a_text_that_ends_before_its_error_is_called_that(text: str, said: bool) -> None:
    assert ("the text ends before the error" in explain("-", given=text).stderr) is said
