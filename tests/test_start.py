"""The calls that are answered without the command line's library, and that they say what it would say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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


def test_a_file_that_the_cache_knows_as_clean_loads_no_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n"
    (tmp_path / "clean.py").write_text(module)
    names = {"ddelint.knowledge.operators", "ddelint.static.reading", "ddelint.nouns.diagnostics", "rich"}
    heavy = f"sorted({names} & set(sys.modules))"
    noted = f"import atexit; atexit.register(lambda: print({heavy}, file=sys.stderr))"
    first, second = (run("check", "clean.py", "--static", "--isolated", before=noted) for _ in range(2))
    assert "'ddelint.static.reading'" in first.stderr
    assert second.stderr == "[]\n"
    assert first.stdout == second.stdout == "All checks passed!\n"
