"""What somebody meets in the first five minutes, word for word: help, nothing to run, a slip of the finger."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from ddelint.cli import main
from ddelint.commands import help as sections
from ddelint.commands.completion import SHELLS

ROUTER = """\
import torch
from torch import nn


class Router(nn.Module):
    def __init__(self, width: int, experts: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(experts))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        choice = self.gate(x).argmax(-1)
        out = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            hit = (choice == number).nonzero().squeeze(1)
            if hit.shape[0] == 0:
                continue
            out.index_add_(0, hit, expert(x[hit]))
        return out
"""
HALF = """\
import torch


@torch.compile(fullgraph=True)
def half(x: torch.Tensor) -> torch.Tensor:
    n = (x > 0).sum().item()
    return x / 2 if n > 4 else x
"""

Say = Callable[..., str]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Say:
    """Run calls in a small project; gives what a shell would show, exit codes included."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("NO_COLOR", "FORCE_COLOR", "DDELINT_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "src").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "src/router.py").write_text(ROUTER)
    (tmp_path / "src/half.py").write_text(HALF)
    (tmp_path / "src/plain.py").write_text("WIDTH = 4\n")

    def calls(*lines: str) -> str:
        shown = []
        for line in lines:
            words = shlex.split(line)
            assert words[0] == "ddelint"
            monkeypatch.setattr(sys, "argv", words)
            result = CliRunner().invoke(main, words[1:], prog_name="ddelint")
            shown.append(f"$ {line}\n{result.output}[exit code {result.exit_code}]\n")
        return "\n".join(shown)

    return calls


def test_help(say: Say, expect: Callable[[str, str], None]) -> None:
    expect("help", say("ddelint", "ddelint --help", "ddelint completion --help"))


def test_a_file_and_a_folder_with_nothing_to_run(say: Say, expect: Callable[[str, str], None]) -> None:
    expect(
        "nothing_to_run",
        say(
            "ddelint src/router.py --output-format concise",
            "ddelint src --statistics",
            "ddelint src/half.py --diff",
            "ddelint src/router.py --static --output-format concise",
            "ddelint src/router.py -q --output-format concise",
            "ddelint src/plain.py",
            "ddelint src -v --statistics",
            "ddelint empty",
            "ddelint src/router.py --trace",
            "ddelint verify src",
        ),
    )


def test_a_slip_of_the_finger(say: Say, expect: Callable[[str, str], None]) -> None:
    expect(
        "slips",
        say(
            "ddelint src --fxi",
            "ddelint src --unsafe-fix --traget export",
            "ddelint chekc src",
            "ddelint srcc",
            "ddelint src/ruter.py",
            "ddelint check",
            "ddelint src --select DD102",
            "ddelint src --ignore branch-on-valeu",
            "ddelint rule DDE1O2",
            "ddelint rule DDE102 DDE103",
            "ddelint src --target exprot",
            "ddelint src --device gpu",
            "ddelint src --samples many",
            "ddelint src --samples",
            "ddelint src --timeout 0",
            "ddelint src --memory lots",
            "ddelint src --config gone.toml",
            "ddelint src --python python9",
            "ddelint src --entry src/ruter.py:Router",
            "ddelint run src/ruter.py",
            "ddelint run",
            "ddelint completion bahs",
        ),
    )


def test_every_option_stands_under_a_heading() -> None:
    context = click.Context(main)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        text = command.get_help(click.Context(command, info_name=name))
        assert f"{sections.REST}:" not in text or len(command.params) < 8, (name, text)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_each_shell(shell: str, say: Say) -> None:
    assert "_DDELINT_COMPLETE=" + shell in say(f"ddelint completion {shell}")


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ddelint ch", ["plain,check"]),
        ("ddelint sr", ["file,sr"]),
        ("ddelint src/router.py --uns", ["plain,--unsafe-fixes"]),
        ("ddelint check src --sel", ["plain,--select"]),
        ("ddelint rule bran", ["plain,branch-on-value"]),
        ("ddelint rule DDE60", [f"plain,DDE60{digit}" for digit in range(1, 6)]),
        ("ddelint check --select DDE101,DDE604", ["plain,DDE101,DDE604"]),
        ("ddelint check --device c", ["plain,cpu", "plain,cuda"]),
        ("ddelint completion z", ["plain,zsh"]),
    ],
)
def test_what_a_shell_is_offered(typed: str, completed: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What bash asks by environment variables when the tabulator is pressed."""
    environment = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1), "_DDELINT_COMPLETE": "bash_complete"}
    result = CliRunner().invoke(main, [], prog_name="ddelint", env={**os.environ, **environment})
    assert result.output.split() == completed


def test_bash_takes_the_script(say: Say, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash")
    script = say("ddelint completion bash").partition("\n")[2].rpartition("[exit code")[0]
    (tmp_path / "completion.bash").write_text(script)
    command = tmp_path / "ddelint"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m ddelint "$@"\n')
    command.chmod(0o755)
    asked = "source completion.bash; COMP_WORDS=(ddelint comp); COMP_CWORD=1; _ddelint_completion ./ddelint; "
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    done = subprocess.run(
        [bash, "--norc", "-c", asked + 'echo "${COMPREPLY[@]}"'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    assert (done.stdout, done.stderr) == ("completion\n", "")
