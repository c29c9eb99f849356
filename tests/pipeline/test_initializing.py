"""`ddelint init`: which programs it takes, and where its search ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

from ddelint.cli import main
from ddelint.nouns.protocol import ProgramText
from ddelint.pipeline.initializing import _Demos, _Search
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile


def test_where_no_time_is_left_the_first_guess_is_offered(tmp_path: Path) -> None:
    nobody = cast(Any, None)
    source = SourceFile(str(tmp_path / "f.py"), "def f(x): ...\n")
    program = ProgramText("f", False, 1, source.text)
    proposal = _Search(nobody, program, (), _Demos(source), Silence(), CheckOptions(timeout=0.0)).best()
    assert not proposal.runs
    assert (proposal.recipe.inputs, proposal.attempts) == ("(x,)", 0)


def test_a_name_that_the_file_lacks_is_reported_beside_one_that_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("f.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x\n", "utf-8")
    result = CliRunner().invoke(main, ["init", "f.py", "--entry", "f", "--entry", "g"])
    assert result.exit_code == 2
    assert "no function g; it defines f" in result.output
