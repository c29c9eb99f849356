"""The steps of the GitHub Action, as action.yml has them, on a repository with a bare remote."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

CHECKOUT = Path(__file__).parent.parent
ACTION = CHECKOUT / "action.yml"

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="no git here"),
    pytest.mark.skipif(not ACTION.is_file(), reason="needs the checkout"),
]

MODEL = """\
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scores):
        if scores.min() < 0:
            raise ValueError("negative score")
        if scores.sum() > 4:
            x = self.expensive(x)
        return x
"""

GH = """\
#!{python}
import json, os, sys
words = sys.argv[1:]
with open(os.environ["GH_LOG"], "a") as log:
    log.write(json.dumps(words) + "\\n")
if words[:2] == ["pr", "list"]:
    print(os.environ.get("GH_OPEN", ""))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A clone whose model is in a sub-folder; its remote is bare."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "remote.git")
    git(tmp_path, "clone", "-q", "remote.git", "clone")
    clone = tmp_path / "clone"
    git(clone, "checkout", "-q", "-b", "main")
    (clone / "src").mkdir()
    (clone / "src" / "model.py").write_text(MODEL)
    commit(clone, "first")
    return clone


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def environment() -> dict[str, str]:
    """This one without what git or a runner may have set, and with somebody who commits."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "GITHUB_", "DDELINT_"))}
    identity = {
        f"GIT_{role}_{what}": f"{role}@example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    return {**kept, **identity, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def commit(clone: Path, message: str) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", message)
    git(clone, "push", "-q", "origin", "main")


def run_action(clone: Path, inputs: Mapping[str, str], opened: str = "") -> dict[str, str]:
    """Run the action's steps after its installation, for which a command of this checkout stands in; its outputs."""
    yaml: Any = pytest.importorskip("yaml")
    action = yaml.safe_load(ACTION.read_text())
    temporary = clone.parent / "runner"
    bin_folder = temporary / "ddelint" / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    executable(bin_folder / "ddelint", f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m ddelint "$@"\n')
    fake = clone.parent / "fake"
    fake.mkdir(exist_ok=True)
    executable(fake / "gh", GH.format(python=sys.executable))
    known = {
        **{f"inputs.{name}": str(spec.get("default", "")) for name, spec in action["inputs"].items()},
        "github.ref_name": "main",
        "github.token": "secret",
        **{f"inputs.{name}": value for name, value in inputs.items()},
    }
    outputs = clone.parent / "outputs"
    outputs.write_text("")
    install, *steps = action["runs"]["steps"]
    assert 'pip install --quiet "$GITHUB_ACTION_PATH"' in install["run"]
    for step in steps:
        given = {name: filled(value, known) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
            env={
                **environment(),
                **given,
                "PATH": f"{fake}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(temporary),
                "GITHUB_ACTION_PATH": str(CHECKOUT),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_STEP_SUMMARY": str(clone.parent / "summary.md"),
                "GH_LOG": str(clone.parent / "gh.log"),
                "GH_OPEN": opened,
            },
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return dict(line.split("=", 1) for line in outputs.read_text().splitlines())


def filled(text: str, known: Mapping[str, str]) -> str:
    """With the values of `${{ … }}`, also inside of values."""
    while "${{" in text:
        text = re.sub(r"\$\{\{\s*([\w.]+)\s*\}\}", lambda found: known[found[1]], text)
    return text


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def calls_of_gh(clone: Path) -> list[list[str]]:
    return [json.loads(line) for line in (clone.parent / "gh.log").read_text().splitlines()]


def test_the_action_proposes_what_it_fixed(repository: Path) -> None:
    head = git(repository, "rev-parse", "HEAD")
    outputs = run_action(repository, {"paths": "src"})
    assert (outputs["changed"], outputs["branch"]) == ("true", "ddelint/fixes")

    # the branch: one commit on top of main, and nothing else has moved
    proposed = git(repository, "ls-remote", "origin", "refs/heads/ddelint/fixes").split()[0]
    assert proposed == outputs["commit"]
    assert git(repository, "rev-parse", f"{proposed}^") == head == git(repository, "rev-parse", "HEAD")
    assert git(repository, "rev-parse", "--abbrev-ref", "HEAD").strip() == "main"
    assert git(repository, "show", f"{proposed}:src/model.py") == (repository / "src" / "model.py").read_text() != MODEL

    # the patch: applies in the root of a fresh clone, and gives the branch's tree
    fresh = repository.parent / "fresh"
    git(repository.parent, "clone", "-q", "remote.git", "fresh")
    git(fresh, "apply", "--index", outputs["patch"])
    assert git(fresh, "write-tree") == git(repository, "rev-parse", f"{proposed}^{{tree}}")

    # the body: what was fixed, what needs a person, how to see it again
    body = Path(outputs["body"]).read_text()
    title, *_ = body.splitlines()
    assert title == "## ddelint: 2 findings in 1 file, 1 fixed, 1 for a person"
    fixed, left, again = body[body.index("### Fixed") :].split("\n### ")
    assert "`src/model.py:7` | DDE103 validation-branch" in fixed
    assert "not run: equivalent by the text alone" in fixed
    assert "```diff\n--- src/model.py" in left
    assert left.startswith("Needs a person")
    assert "| `src/model.py:8` | DDE105" in left
    assert "ddelint check src --static\nddelint check src --static --fix\n" in again
    assert (repository.parent / "summary.md").read_text() == body
    assert git(repository, "log", "-1", "--format=%s", proposed).strip() == title.removeprefix("## ")

    # the pull request
    asked, created = calls_of_gh(repository)
    assert asked[:2] == ["pr", "list"]
    assert created[:2] == ["pr", "create"]
    options = dict(zip(created[2::2], created[3::2]))
    assert (options["--head"], options["--base"]) == ("ddelint/fixes", "main")
    assert options["--title"] == title.removeprefix("## ")
    assert Path(options["--body-file"]).read_text() == body


def test_the_next_run_updates_the_same_proposal(repository: Path) -> None:
    first = run_action(repository, {"paths": "src"})
    git(repository, "checkout", "-q", ".")
    same = run_action(repository, {"paths": "src"}, opened="7")
    assert same["commit"] == first["commit"]
    assert calls_of_gh(repository)[-1][:3] == ["pr", "edit", "7"]

    git(repository, "checkout", "-q", ".")
    (repository / "README.md").write_text("more\n")
    commit(repository, "second")
    moved = run_action(repository, {"paths": "src"}, opened="7")
    assert moved["commit"] != first["commit"]
    assert git(repository, "rev-parse", f"{moved['commit']}^") == git(repository, "rev-parse", "HEAD")
    assert git(repository, "ls-remote", "origin", "refs/heads/ddelint/fixes").split()[0] == moved["commit"]


def test_nothing_to_fix_proposes_nothing(repository: Path) -> None:
    (repository / "src" / "model.py").write_text("import torch\n")
    commit(repository, "clean")
    outputs = run_action(repository, {"paths": "src"})
    assert outputs["changed"] == "false"
    assert git(repository, "ls-remote", "origin", "refs/heads/ddelint/fixes") == ""
    assert not (repository.parent / "gh.log").exists()


def test_examples_use_what_there_is() -> None:
    yaml: Any = pytest.importorskip("yaml")
    workflow = yaml.safe_load((CHECKOUT / "docs" / "examples" / "github-workflow.yml").read_text())
    action = yaml.safe_load(ACTION.read_text())
    used = [step for step in workflow["jobs"]["fix"]["steps"] if str(step.get("uses", "")).startswith("ddelint/")]
    assert len(used) == 1
    assert set(used[0]["with"]) <= set(action["inputs"])
    assert workflow["jobs"]["fix"]["permissions"] == {"contents": "write", "pull-requests": "write"}
    pipeline = yaml.safe_load((CHECKOUT / "docs" / "examples" / "gitlab-ci.yml").read_text())
    script = (CHECKOUT / "scripts" / "propose_fixes.sh").read_text()
    assert all(f"#   {name} " in script for name in pipeline["ddelint-fix"]["variables"])
