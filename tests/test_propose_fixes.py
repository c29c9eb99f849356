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
PROPOSE = CHECKOUT / "propose" / "action.yml"
SUGGEST = CHECKOUT / "suggest" / "action.yml"
PROPOSING = ("branch", "base", "token", "folder")
"""Inputs of the second one."""

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="no git here"),
    pytest.mark.skipif(not ACTION.is_file(), reason="needs the checkout"),
]

RULE = """\
code = "ACME001"
name = "host-copy"
message = "`{expression}` copies to the host"
severity = "error"

[flags]
calls = ["acme.to_host"]

[replacement]
calls = { "acme.to_host" = "acme.to_host_later" }
applicability = "safe"
"""
"""Without a run, only what somebody's rule file vouches for is safe."""

MODEL = """\
import acme
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, scores):
        acme.to_host(scores)
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
if words[:2] == ["pr", "view"] or words[:2] == ["api", "--paginate"]:
    print(os.environ.get("GH_SAID", ""))
if words[0] == "api" and "--input" in words:
    with open(os.environ["GH_LOG"] + ".posted", "w") as posted:
        posted.write(open(words[words.index("--input") + 1]).read())
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
    (clone / "src" / "acme.toml").write_text(RULE)
    (clone / "pyproject.toml").write_text('[tool.ddelint]\nextend-rules = ["src/acme.toml"]\n')
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


def run_action(clone: Path, inputs: Mapping[str, str], opened: str = "", **environment_: str) -> dict[str, str]:
    """Run the steps of both actions after the installation, for which a command of this checkout stands in; outputs."""
    outputs = run_steps(clone, ACTION, {k: v for k, v in inputs.items() if k not in PROPOSING}, opened, **environment_)
    given = {"folder": outputs["folder"], **{k: v for k, v in inputs.items() if k in PROPOSING}}
    return {**outputs, **run_steps(clone, PROPOSE, given, opened, **environment_)}


def run_steps(
    clone: Path, path: Path, inputs: Mapping[str, str], opened: str = "", code: int = 0, **environment_: str
) -> dict[str, str]:
    """Run the steps of one action."""
    yaml: Any = pytest.importorskip("yaml")
    action = yaml.safe_load(path.read_text())
    temporary = clone.parent / "runner"
    bin_folder = temporary / "ddelint" / "bin"
    bin_folder.mkdir(parents=True, exist_ok=True)
    executable(bin_folder / "ddelint", f'#!/bin/sh\nPYTHONPATH="{CHECKOUT}" exec "{sys.executable}" -m ddelint "$@"\n')
    fake = clone.parent / "fake"
    fake.mkdir(exist_ok=True)
    executable(fake / "gh", GH.format(python=sys.executable))
    known = {
        **{f"inputs.{name}": str(spec.get("default", "")) for name, spec in action["inputs"].items()},
        "github.token": "secret",
        "github.event.pull_request.number": "",
        "github.event.pull_request.head.repo.full_name": environment_.get("head", ""),
        **{f"inputs.{name}": value for name, value in inputs.items()},
    }
    outputs = clone.parent / "outputs"
    outputs.write_text("")
    for step in action["runs"]["steps"]:
        if "pip install" in step["run"]:
            continue
        given = {name: filled(value, known) for name, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=clone,
            capture_output=True,
            text=True,
            check=False,
            env={
                **environment(),
                "PATH": f"{fake}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(temporary),
                "GITHUB_ACTION_PATH": str(path.parent),
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_REF_NAME": "main",
                "GITHUB_REPOSITORY": "somebody/project",
                "GITHUB_STEP_SUMMARY": str(clone.parent / "summary.md"),
                "GH_LOG": str(clone.parent / "gh.log"),
                "GH_OPEN": opened,
                **environment_,
                **given,
            },
        )
        (clone.parent / "said").write_text(done.stdout + done.stderr)
        assert done.returncode == code, done.stdout + done.stderr
    return dict(line.split("=", 1) for line in outputs.read_text().splitlines())


def filled(text: str, known: Mapping[str, str]) -> str:
    """With the values of `${{ … }}`, also inside of values."""
    while "${{" in text:
        text = re.sub(r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: known[found[1]], text)
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
    assert "acme.to_host_later(scores)" in git(repository, "show", f"{proposed}:src/model.py")
    assert (repository / "src" / "model.py").read_text() == MODEL
    assert git(repository, "status", "--porcelain") == ""

    # the patch: applies in the root of a fresh clone, and gives the branch's tree
    fresh = repository.parent / "fresh"
    git(repository.parent, "clone", "-q", "remote.git", "fresh")
    git(fresh, "apply", "--index", outputs["patch"])
    assert git(fresh, "write-tree") == git(repository, "rev-parse", f"{proposed}^{{tree}}")

    # the body: what was fixed, what is left, how to see it again
    body = Path(outputs["body"]).read_text()
    title, *_ = body.splitlines()
    assert title == "## ddelint: 2 findings in 1 file, 1 fixed, 1 needs manual changes"
    fixed, left, again = body[body.index("### Fixed") :].split("\n### ")
    assert "`src/model.py:8` | ACME001 host-copy" in fixed
    assert "- Evidence: not verified: nothing was run" in fixed
    assert "- Risk: safe: " in fixed
    assert "```diff\n- acme.to_host(scores)" in fixed
    assert left.startswith("Needs manual changes")
    assert "```diff\n--- src/model.py" in again
    assert "| `src/model.py:9` | DDE105" in left
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
    same = run_action(repository, {"paths": "src"}, opened="7")
    assert same["commit"] == first["commit"]
    assert calls_of_gh(repository)[-1][:3] == ["pr", "edit", "7"]

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


BOTH = """\
import acme
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x, mask):
        acme.to_host(x)
        a = torch.ones(mask.sum().item())
        b = torch.zeros(mask.sum().item())
        return a, b
"""
"""A model with a safe fix and an unsafe one."""


def write_both(repository: Path) -> None:
    (repository / "src" / "model.py").write_text(BOTH)
    commit(repository, "both")


def options_of(call: list[str]) -> dict[str, str]:
    return dict(zip(call[2::2], call[3::2]))


@pytest.mark.parametrize("how", [{"unsafe": "commit"}, {"arguments": "--unsafe-fixes"}], ids=["input", "argument"])
def test_unsafe_fixes_are_a_commit_of_their_own(repository: Path, how: dict[str, str]) -> None:
    write_both(repository)
    outputs = run_action(repository, {"paths": "src", **how})
    safe, unsafe = (git(repository, "show", f"{outputs['commit']}{back}:src/model.py") for back in ("^", ""))
    assert "acme.to_host_later(x)" in safe
    assert safe.count("mask.sum().item()") == 2
    assert unsafe.count("mask.sum().item()") == 1
    assert git(repository, "rev-parse", f"{outputs['commit']}^^") == git(repository, "rev-parse", "HEAD")
    first, second = git(repository, "log", "-2", "--reverse", "--format=%s", outputs["commit"]).splitlines()
    assert "unsafe fixes, " not in first
    assert second.startswith("ddelint: unsafe fixes, ")
    assert (repository / "src" / "model.py").read_text() == BOTH

    body = Path(outputs["body"]).read_text()
    headings = [line for line in body.splitlines() if line.startswith("### ")]
    assert headings == ["### Fixed", "### Unsafe fixes, in a commit of their own", "### How to reproduce"]
    safe_part, unsafe_part = body.split("### Unsafe fixes")
    assert "ACME001" in safe_part
    assert "ACME001" not in unsafe_part
    assert "DDE205" in unsafe_part
    assert "- Risk: unsafe: " in unsafe_part

    assert run_action(repository, {"paths": "src", **how}, opened="7")["commit"] == outputs["commit"]


@pytest.mark.slow
def test_unsafe_fixes_are_a_pull_request_of_their_own_on_top_of_the_other(repository: Path) -> None:
    write_both(repository)
    run_action(repository, {"paths": "src", "unsafe": "pull-request"})
    safe, unsafe = tip(repository), tip(repository, "ddelint/fixes-unsafe")
    assert git(repository, "rev-parse", f"{unsafe}^").strip() == safe
    created = [options_of(call) for call in calls_of_gh(repository) if call[:2] == ["pr", "create"]]
    bases = [(options["--head"], options["--base"]) for options in created]
    assert bases == [("ddelint/fixes", "main"), ("ddelint/fixes-unsafe", "ddelint/fixes")]
    # what is safe is merged, and the rest goes on from there
    git(repository, "merge", "-q", "--ff-only", safe)
    git(repository, "push", "-q", "origin", "main")
    run_action(repository, {"paths": "src", "unsafe": "pull-request"}, opened="7")
    assert tip(repository, "ddelint/fixes-unsafe") == unsafe
    # and then nothing is left of either
    git(repository, "merge", "-q", "--ff-only", unsafe)
    git(repository, "push", "-q", "origin", "main")
    run_action(repository, {"paths": "src", "unsafe": "pull-request"}, opened="7")
    assert calls_of_gh(repository)[-1][:3] == ["pr", "close", "7"]


def test_fixes_on_changed_lines_are_suggested_once(repository: Path) -> None:
    base = git(repository, "rev-parse", "HEAD").strip()
    (repository / "src" / "model.py").write_text(f"{MODEL}\n\n{BOTH[BOTH.index('class') :].replace('Model', 'Other')}")
    commit(repository, "another model")
    made = run_steps(repository, ACTION, {"paths": "src", "arguments": f"--diff-base {base}"})
    event = {"folder": made["folder"], "pull-request": "7"}
    run_steps(repository, SUGGEST, event)
    assert calls_of_gh(repository)[-1][:4] == ["api", "--method", "POST", "repos/somebody/project/pulls/7/reviews"]
    posted = repository.parent / "gh.log.posted"
    review = json.loads(posted.read_text())
    assert review["commit_id"] == git(repository, "rev-parse", "HEAD").strip()
    (comment,) = review["comments"]  # the old model's finding is not on a changed line
    lines = (repository / "src" / "model.py").read_text().splitlines()
    assert (comment["path"], comment["side"]) == ("src/model.py", "RIGHT")
    assert lines[comment["line"] - 1] == "        acme.to_host(x)"
    (suggested,) = re.findall(r"```suggestion\n(.*?)\n```", comment["body"], re.DOTALL)
    assert suggested == "        acme.to_host_later(x)"

    posted.unlink()
    run_steps(repository, SUGGEST, event, GH_SAID=comment["body"])
    assert not posted.exists()
    assert "nothing new to suggest" in (repository.parent / "said").read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [({}, "the number of a pull request"), ({"pull-request": "7"}, "with --diff-base first")],
    ids=["no number", "no review"],
)
def test_what_cannot_be_suggested_says_why(repository: Path, given: dict[str, str], said: str) -> None:
    folder = repository.parent / "empty"
    folder.mkdir()
    run_steps(repository, SUGGEST, {"folder": str(folder), **given}, code=2)
    assert said in (repository.parent / "said").read_text()


CLEAN = "import torch\n"


def tip(repository: Path, branch: str = "ddelint/fixes") -> str:
    return git(repository, "ls-remote", "origin", f"refs/heads/{branch}").partition("\t")[0]


def test_a_proposal_of_which_nothing_is_left_is_closed(repository: Path) -> None:
    run_action(repository, {"paths": "src"})
    (repository / "src" / "model.py").write_text(CLEAN)
    commit(repository, "clean")
    run_action(repository, {"paths": "src"}, opened="7")
    assert calls_of_gh(repository)[-1][:3] == ["pr", "close", "7"]


@pytest.mark.slow
def test_commits_of_others_are_never_overwritten(repository: Path) -> None:
    run_action(repository, {"paths": "src"})
    git(repository, "fetch", "-q", "origin", "ddelint/fixes")
    git(repository, "checkout", "-q", "FETCH_HEAD")
    (repository / "src" / "model.py").write_text("# theirs\n")
    git(repository, "commit", "-qam", "theirs")
    git(repository, "push", "-q", "origin", "HEAD:refs/heads/ddelint/fixes")
    theirs = tip(repository)
    git(repository, "checkout", "-q", "main")
    outputs = run_action(repository, {"paths": "src"}, opened="7")
    assert outputs["refused"] == "true"
    assert tip(repository) == theirs
    assert calls_of_gh(repository)[-1][:3] == ["pr", "comment", "7"]
    said = calls_of_gh(repository)[-1][-1]
    run_action(repository, {"paths": "src"}, opened="7", GH_SAID=said)
    assert calls_of_gh(repository)[-1][:3] == ["pr", "view", "7"]  # once is enough
    (repository / "src" / "model.py").write_text(CLEAN)
    commit(repository, "clean")
    run_action(repository, {"paths": "src"}, opened="7", GH_SAID=said)
    assert calls_of_gh(repository)[-1][:3] == ["pr", "view", "7"]
    assert tip(repository) == theirs


@pytest.mark.slow
@pytest.mark.parametrize("how", ["amended", "of another"])
def test_a_commit_that_somebody_changed_is_somebodys(repository: Path, how: str) -> None:
    run_action(repository, {"paths": "src"})
    git(repository, "fetch", "-q", "origin", "ddelint/fixes")
    git(repository, "checkout", "-q", "FETCH_HEAD" if how == "amended" else "main")
    (repository / "src" / "model.py").write_text("# theirs\n")
    git(repository, "commit", "-qa", *(["--amend", "--no-edit"] if how == "amended" else ["-m", "theirs"]))
    git(repository, "push", "-q", "--force", "origin", "HEAD:refs/heads/ddelint/fixes")
    theirs = tip(repository)
    git(repository, "checkout", "-q", "main")
    assert run_action(repository, {"paths": "src"})["refused"] == "true"
    assert tip(repository) == theirs


def test_what_runs_the_project_has_no_token_and_the_rest_runs_no_project(repository: Path) -> None:
    yaml: Any = pytest.importorskip("yaml")
    for step in yaml.safe_load(ACTION.read_text())["runs"]["steps"]:
        assert not any("token" in str(value) for value in step.get("env", {}).values())
    spy = repository.parent / "runner" / "spy"
    spy.parent.mkdir(parents=True, exist_ok=True)
    executable(spy, '#!/bin/sh\nenv > "$RUNNER_TEMP/env"\n: > "$RUNNER_TEMP/ran"\n')
    script = str(CHECKOUT / "scripts" / "propose_fixes.sh")
    given = {
        **environment(), "RUNNER_TEMP": str(spy.parent), "DDELINT_BIN": str(spy), "GH_TOKEN": "secret",
        "GITHUB_TOKEN": "secret", "GITHUB_ENV": "/secret", "GITHUB_PATH": "/secret", "CI_JOB_TOKEN": "secret",
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "secret", "DDELINT_FOLDER": str(repository.parent / "report"),
    }  # fmt: skip
    subprocess.run(["bash", script, "fix"], cwd=repository, env=given, check=False, capture_output=True)
    assert "secret" not in (spy.parent / "env").read_text()
    (spy.parent / "ran").unlink()
    subprocess.run(["bash", script, "propose"], cwd=repository, env=given, check=False, capture_output=True)
    assert not (spy.parent / "ran").exists()


def test_in_a_pull_request_the_fixes_go_into_its_own_branch(repository: Path) -> None:
    git(repository, "checkout", "-q", "-b", "feature")
    (repository / "README.md").write_text("more\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "feature")
    git(repository, "push", "-q", "origin", "feature")
    feature = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "checkout", "-q", "--detach", "main")
    git(repository, "merge", "-q", "--no-ff", "-m", "what GitHub checks out", "feature")
    event = {"GITHUB_REF_NAME": "7/merge", "GITHUB_HEAD_REF": "feature", "head": "somebody/project"}
    outputs = run_action(repository, {"paths": "src"}, **event)
    assert outputs["branch"] == "ddelint/fixes-feature"
    assert git(repository, "rev-parse", f"{outputs['commit']}^").strip() == feature
    options = dict(zip(calls_of_gh(repository)[-1][2::2], calls_of_gh(repository)[-1][3::2]))
    assert (options["--head"], options["--base"]) == ("ddelint/fixes-feature", "feature")
    forked = {**event, "head": "stranger/project"}
    assert "commit" not in run_action(repository, {"paths": "src"}, **forked)


def test_no_trace_runs_for_strangers_with_the_rights_of_the_repository(repository: Path) -> None:
    inputs = {"paths": "src", "python": sys.executable}
    run_steps(repository, ACTION, inputs, code=2, GITHUB_EVENT_NAME="pull_request_target")
    assert "run a stranger's code" in (repository.parent / "said").read_text()


def test_the_fixes_go_on_what_they_were_made_on(repository: Path) -> None:
    made = run_steps(repository, ACTION, {"paths": "src"})
    checked = git(repository, "rev-parse", "HEAD").strip()
    (repository / "README.md").write_text("more\n")
    commit(repository, "meanwhile")
    proposed = run_steps(repository, PROPOSE, {"folder": made["folder"]})
    assert git(repository, "rev-parse", f"{proposed['commit']}^").strip() == checked


def test_names_and_arguments_with_blanks(repository: Path) -> None:
    (repository / "my models").mkdir()
    (repository / "src" / "model.py").rename(repository / "my models" / "a model.py")
    commit(repository, "moved")
    inputs = {"paths": "'my models' \"my models/a model.py\"", "arguments": "--exclude 'not this'\n--select ACME"}
    outputs = run_action(repository, inputs)
    assert "acme.to_host_later" in git(repository, "show", f"{outputs['commit']}:my models/a model.py")
    assert git(repository, "status", "--porcelain") == ""


def test_changes_that_are_not_committed_stay(repository: Path) -> None:
    (repository / "src" / "model.py").write_text(f"# mine\n{MODEL}")
    (repository / "src" / "other.py").write_text("mine = 1\n")
    run_steps(repository, ACTION, {"paths": "src"})
    assert (repository / "src" / "model.py").read_text() == f"# mine\n{MODEL}"
    assert (repository / "src" / "other.py").read_text() == "mine = 1\n"


FORGED = """diff --git a/{name} b/{name}
{mode}--- {old}
+++ b/{name}
@@ {lines} @@
{text}
"""


@pytest.mark.parametrize(
    ("name", "mode", "old", "lines", "text"),
    [
        ("evil.py", "new file mode 100644\n", "/dev/null", "-0,0 +1", "+evil"),
        (".github/workflows/evil.yml", "new file mode 100644\n", "/dev/null", "-0,0 +1", "+evil"),
        ("README.md", "", "a/README.md", "-1 +1", "-first\n+evil"),
        ("run.py", "old mode 100644\nnew mode 100755\n", "a/run.py", "-1 +1", "-first\n+evil"),
        ("../outside.py", "new file mode 100644\n", "/dev/null", "-0,0 +1", "+evil"),
    ],
)
def test_a_patch_that_code_has_forged_reaches_sources_only(
    repository: Path, name: str, mode: str, old: str, lines: str, text: str
) -> None:
    for file in ("README.md", "run.py"):
        (repository / file).write_text("first\n")
    commit(repository, "files")
    made = run_steps(repository, ACTION, {"paths": "src"})
    forged = FORGED.format(name=name, mode=mode, old=old, lines=lines, text=text)
    (Path(made["folder"]) / "ddelint.patch").write_text(forged)
    run_steps(repository, PROPOSE, {"folder": made["folder"]}, code=2)
    assert tip(repository) == ""


@pytest.mark.parametrize("branch", ["main", "a b", "../main", "-x..y"])
def test_a_branch_that_cannot_be_is_refused(repository: Path, branch: str) -> None:
    made = run_steps(repository, ACTION, {"paths": "src"})
    before = git(repository, "ls-remote", "origin")
    run_steps(repository, PROPOSE, {"folder": made["folder"], "branch": branch}, code=2)
    assert git(repository, "ls-remote", "origin") == before


def test_examples_use_what_there_is() -> None:
    yaml: Any = pytest.importorskip("yaml")
    text = (CHECKOUT / "docs" / "examples" / "github-workflow.yml").read_text()
    workflow = yaml.safe_load(text)
    for name, path in (("ddelint/ddelint", ACTION), ("ddelint/ddelint/propose", PROPOSE)):
        steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
        (used,) = [step for step in steps if str(step.get("uses", "")).partition("@")[0] == name]
        assert set(used["with"]) <= set(yaml.safe_load(path.read_text())["inputs"])
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {}
    assert "group" in workflow["concurrency"]
    assert jobs["fix"]["permissions"] == {"contents": "read"}
    assert jobs["propose"]["permissions"] == {"contents": "write", "pull-requests": "write"}
    assert not any("run" in step for step in jobs["propose"]["steps"])
    pinned = re.findall(r"uses: *(\S+)@(\S+) # \S", text)
    assert len(pinned) == text.count("uses:")
    assert all(re.fullmatch("[0-9a-f]{40}", commit) for _, commit in pinned)
    checkouts = [step for job in jobs.values() for step in job["steps"] if "checkout@" in step.get("uses", "")]
    assert [step["with"]["persist-credentials"] for step in checkouts] == [False] * 3
    pipeline = yaml.safe_load((CHECKOUT / "docs" / "examples" / "gitlab-ci.yml").read_text())
    script = (CHECKOUT / "scripts" / "propose_fixes.sh").read_text()
    jobs = [pipeline["ddelint-fix"], pipeline["ddelint-propose"]]
    assert all(f"#   {name} " in script for job in jobs for name in job["variables"])
    assert not any("TOKEN" in line for line in pipeline["ddelint-fix"]["script"])
