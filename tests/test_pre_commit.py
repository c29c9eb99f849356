"""The hooks, run by pre-commit itself on a real repository; the hook's environment is made of this checkout.

pre-commit installs the hook with pip, so that there is one test for all hooks: it takes a package index, and some
twenty seconds.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent
SHIPPED = ("ddelint", "rules", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="no git here"),
    pytest.mark.skipif(find_spec("pre_commit") is None, reason="pre-commit is not installed"),
    pytest.mark.skipif(not (CHECKOUT / ".pre-commit-hooks.yaml").is_file(), reason="needs the checkout"),
]

FIXABLE = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        if torch.amin(x) < 0:
            raise ValueError("negative")
        return x * 2
"""
LEFT = FIXABLE.replace('raise ValueError("negative")', "return self.other(x)")
OFFERED = FIXABLE + "\n\ndef make_inputs(seed):\n    torch.manual_seed(seed)\n    return (torch.randn(4),)\n"


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=n", "-c", "user.email=e@example", "-c", "init.defaultBranch=main")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


Commit = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that ships the hooks: this checkout's files as they are now, tagged v0."""
    reached = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--retries", "0", "--timeout", "10", "hatchling"],
        cwd=tmp_path_factory.mktemp("index"),
        capture_output=True,
        text=True,
        check=False,
    )
    if reached.returncode:
        pytest.skip(f"pip reaches no package index: {reached.stderr.strip().splitlines()[-1:]}")
    folder = tmp_path_factory.mktemp("hooks")
    for name in SHIPPED:
        if (CHECKOUT / name).is_dir():
            shutil.copytree(CHECKOUT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(CHECKOUT / name, folder)
    git(folder, "init", "-q")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "-m", "v0")
    git(folder, "tag", "v0")
    return folder


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the hook's environment, for all tests."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def run_hook(hooks: Path, home: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run one hook on a repository that holds one staged file."""

    def run(hook: str, text: str, *arguments: str, stage: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        git(tmp_path, "init", "-q")
        (tmp_path / "model.py").write_text(text)
        (tmp_path / ".pre-commit-config.yaml").write_text(
            f"repos:\n- repo: {hooks}\n  rev: v0\n  hooks:\n  - id: {hook}\n    args: {list(arguments)}\n"
        )
        git(tmp_path, "add", "-A")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTEST", "PYTHON"))}
        return subprocess.run(
            [sys.executable, "-m", "pre_commit", "run", hook, "--color", "never", "--verbose", *stage],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env={**kept, "PRE_COMMIT_HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull},
            check=False,
        )

    return run


def test_no_two_hooks_report_the_same_at_one_time() -> None:
    """Each stage of git has either the static hooks or the trace, which reports what the static pass finds, too."""
    yaml: Any = pytest.importorskip("yaml")
    stages = {
        hook["id"]: set(hook["stages"]) for hook in yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text())
    }
    assert stages["ddelint"] == stages["ddelint-fix"] >= {"pre-commit"}
    assert stages["ddelint-trace"] >= {"pre-push"}
    assert not stages["ddelint"] & stages["ddelint-trace"]


@pytest.mark.slow
def test_each_hook_does_what_it_says(run_hook: Commit, home: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.py"

    found = run_hook("ddelint", LEFT)
    assert found.returncode == 1, found.stdout + found.stderr
    assert "model.py:7:12 DDE105" in found.stdout
    assert model.read_text() == LEFT

    installed = {path.name for path in home.glob("repo*/py_env-*/lib/python*/site-packages/*")}
    assert "libcst" in installed
    assert "torch" not in installed

    clean = run_hook("ddelint", "import torch\n")
    assert clean.returncode == 0, clean.stdout + clean.stderr

    written = run_hook("ddelint-fix", FIXABLE)  # a hook that changes files fails, so that somebody looks
    assert written.returncode == 1, written.stdout + written.stderr
    assert "files were modified by this hook" in written.stdout
    fixed = model.read_text()
    assert "torch._check" in fixed
    again = run_hook("ddelint-fix", fixed)
    assert again.returncode == 0, again.stdout + again.stderr
    assert model.read_text() == fixed

    if find_spec("torch") is not None:
        pushed = ("--hook-stage", "pre-push", "--all-files")
        traced = run_hook("ddelint-trace", OFFERED, "--python", sys.executable, "--samples", "4", stage=pushed)
        assert traced.returncode == 1, traced.stdout + traced.stderr
        assert "running model.py:Model" in traced.stdout
        assert "export ok" in traced.stdout
