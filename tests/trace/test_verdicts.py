"""What is kept of a worker's answers: used again only where everything that they rest on is what it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddelint.knowledge.cache import Cache
from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace.verdicts import Verdicts

LINE = b'{"method": "trace", "overlay": {}}\n'
TRACED = {"questions": [], "runs": 1, "failure": None}
OLD = 10**18


class Project:
    """A folder with an entry, a helper, an installed package and data, all of them read by the entry's process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.entry, self.helper = root / "model.py", root / "helper.py"
        self.installed, self.data = root / "packages" / "lib.py", root / "data" / "table.csv"
        for path in (self.entry, self.helper, self.installed, self.data):
            path.parent.mkdir(exist_ok=True)
            self.write(path, "one")
        self.options = SessionOptions(EntrySpec(str(self.entry)), (str(root),))
        self.reads: dict[str, list[str]] = {
            "own": [str(self.entry), str(self.helper), str(self.data)],
            "installed": [str(self.installed)],
            "sources": [str(root)],
            "packages": [str(self.installed.parent)],
            "folders": [str(self.data.parent)],
            "beside": [],
            "outside": [],
        }

    def write(self, path: Path, text: str) -> None:
        path.write_text(text, "utf-8")
        os.utime(path, ns=(OLD, OLD))

    def verdicts(self, **changes: Any) -> Verdicts:
        cache = Cache(self.root / ".ddelint_cache", "verdicts")
        return Verdicts(cache, replace(self.options, **changes), None)

    def learn(self, method: str = "trace", line: bytes = LINE, **reply: Any) -> None:
        known = self.verdicts()
        known.learn("open", b"", {"result": {"label": "model.py:fn"}, "reads": self.reads})
        known.learn(method, line, reply or {"result": TRACED})
        known.save()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_an_answer_is_there_again(project: Project) -> None:
    project.learn()

    again = project.verdicts()

    assert again.holds_entry
    assert again.known("trace", LINE) == {"result": TRACED}
    assert again.known("trace", LINE.replace(b"{}", b'{"a": "b"}')) is None
    assert project.verdicts(jobs=7).known("trace", LINE) == {"result": TRACED}


CHANGES: dict[str, Callable[[Project], object]] = {
    "the entry": lambda project: project.write(project.entry, "two"),
    "a file that it imports": lambda project: project.write(project.helper, "two"),
    "a file that it reads": lambda project: project.write(project.data, "two"),
    "such a file is gone": lambda project: project.data.unlink(),
    "what is installed": lambda project: os.utime(project.installed, ns=(OLD, OLD + 1)),
    "another package is installed": lambda project: project.write(project.installed.with_name("new.py"), ""),
    "a new file may be imported": lambda project: project.write(project.root / "torch.py", ""),
    "a folder that it lists": lambda project: project.write(project.data.with_name("more.csv"), ""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_has_changed_makes_all_unknown(project: Project, change: Callable[[Project], object]) -> None:
    project.learn()
    change(project)

    assert not project.verdicts().holds_entry
    assert project.verdicts().known("trace", LINE) is None


@pytest.mark.parametrize("changes", [{"samples": 8}, {"targets": ("strict",)}, {"timeout": 5.0}, {"device": "cpu"}])
def test_other_options_are_another_question(project: Project, changes: dict[str, Any]) -> None:
    project.learn()

    assert not project.verdicts(**changes).holds_entry


def test_another_environment_is_another_question(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.learn()
    monkeypatch.setenv("COLUMNS", "41")
    assert project.verdicts().holds_entry

    monkeypatch.setenv("WITH_EXPERTS", "1")
    assert not project.verdicts().holds_entry


def test_what_was_known_before_a_change_is_known_after_it_is_taken_back(project: Project) -> None:
    project.learn()
    project.write(project.entry, "two")
    project.learn(result={**TRACED, "runs": 2})
    assert project.verdicts().known("trace", LINE) == {"result": {**TRACED, "runs": 2}}

    project.write(project.entry, "one")
    assert project.verdicts().known("trace", LINE) == {"result": TRACED}


@pytest.mark.parametrize(
    ("method", "reply"),
    [
        ("measure", {"result": {"failure": None}}),
        ("trace", {"failure": {"kind": "timeout", "message": "", "span": None, "traceback": ""}}),
        ("trace", {"failure": {"kind": "signal", "message": "", "span": None, "traceback": ""}, "died": True}),
        ("compare", {"result": {**TRACED}, "hurried": True}),
        ("compile", {"result": {"failure": None, "results": [{"error": "did not finish within 3 s"}]}}),
    ],
)
def test_what_depends_on_time_is_not_kept(project: Project, method: str, reply: dict[str, Any]) -> None:
    project.learn(method, LINE, **reply)

    assert project.verdicts().holds_entry
    assert project.verdicts().known(method, LINE) is None


def test_what_the_program_itself_does_wrong_is_kept(project: Project) -> None:
    failure = {"kind": "raised", "message": "ValueError: no", "span": None, "traceback": ""}
    project.learn(failure=failure)

    assert project.verdicts().known("trace", LINE) == {"failure": failure}


def test_nothing_is_kept_of_what_talks_to_the_outside(project: Project) -> None:
    project.reads["outside"] = ["socket.connect"]
    project.learn()

    assert not project.verdicts().holds_entry


def test_nothing_is_kept_of_files_that_change_meanwhile(project: Project) -> None:
    known = project.verdicts()
    known.learn("open", b"", {"result": {"label": "model.py:fn"}, "reads": project.reads})
    project.helper.write_text("changed while the entry was loaded", "utf-8")
    os.utime(project.helper)
    known.save()

    assert not project.verdicts().holds_entry


def test_no_text_of_a_program_is_kept(project: Project) -> None:
    line = json.dumps({"method": "trace", "overlay": {"model.py": "secret = 'a text'"}}).encode()
    project.learn("trace", line)

    stored = list((project.root / ".ddelint_cache").rglob("*.json"))
    assert len(stored) == 1
    assert "secret" not in stored[0].read_text("utf-8")
    assert project.verdicts().known("trace", line) == {"result": TRACED}


@pytest.mark.parametrize("damage", [{}, [1], [{"key": "a"}], [{"key": 1, "rests on": 2, "replies": {}, "reads": {}}]])
def test_a_damaged_state_is_a_miss(project: Project, damage: object) -> None:
    project.learn()
    (stored,) = (project.root / ".ddelint_cache").rglob("*.json")
    content = json.loads(stored.read_bytes())
    content["files"]["model.py"]["value"] = damage
    stored.write_text(json.dumps(content), "utf-8")

    assert not project.verdicts().holds_entry
    project.learn()
    assert project.verdicts().holds_entry
