"""The calls that are answered without the command line's library, and that they say what it would say."""

from __future__ import annotations

import subprocess
import sys

import pytest


def run(*words: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.argv = ['ddelint', *{list(words)!r}]; {before}\nfrom ddelint.__main__ import main; main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("words", [("--version",), ("rule", "DDE101"), ("rule", "dde206")])
def test_it_says_what_the_command_line_says(words: tuple[str, ...]) -> None:
    whole = "import ddelint.__main__ as m; m._answered = lambda words: False"
    quick, slow = run(*words), run(*words, before=whole)
    assert quick.stdout == slow.stdout != ""
    assert quick.returncode == slow.returncode == 0


@pytest.mark.parametrize("words", [("--version",), ("rule", "DDE101")])
def test_it_loads_no_command_line(words: tuple[str, ...]) -> None:
    heavy = "sorted({'click', 'rich', 'libcst'} & set(sys.modules))"
    noted = f"import atexit; atexit.register(lambda: print({heavy}, file=sys.stderr))"
    assert run(*words, before=noted).stderr == "[]\n"
    assert "'click'" in run("rule", "--all", before=noted).stderr


def test_a_rule_that_is_none_is_told_of() -> None:
    done = run("rule", "DDE999")
    assert done.returncode == 2
    assert "there is no rule `DDE999`" in done.stderr
