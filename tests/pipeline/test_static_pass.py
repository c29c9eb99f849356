"""The static pass over many files: the cache, several processes, files that do not parse."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddelint.pipeline import readers, static_pass
from ddelint.pipeline.checking import run_check
from ddelint.report.model import Report, Silence
from ddelint.settings.options import CheckOptions, EntryOption, Mode
from ddelint.static.program.project import Project

ASKS = """
import torch


class Gate(torch.nn.Module):
    def forward(self, x):
        if x.sum().item() > {number}:
            return x
        return -x
"""


def make(root: Path, name: str, text: str, second: int = 1) -> Path:
    """A file that was last changed long ago."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, (second, second))
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that are looked at instead of taken from the cache, once each time that roots change."""
    names: list[str] = []
    whole = readers._do

    def noted(job: readers.Job, project: Project | None) -> readers.Answer:
        if job.survey or job.surveyed is None:
            names.append(Path(job.path).name)
        return whole(job, project)

    monkeypatch.setattr(readers, "_do", noted)
    return names


def check(root: Path, options: CheckOptions) -> Report:
    return run_check([str(root)], options, Silence())


def codes(report: Report) -> list[str]:
    return [f"{Path(d.span.filename).name}:{d.span.row} {d.code}" for d in report.diagnostics]


def test_findings_and_clean_files_are_both_remembered(tmp_path: Path, options: CheckOptions, read: list[str]) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1))
    make(tmp_path, "src/b.py", "x = 1\n")
    first = check(tmp_path / "src", options)
    assert codes(first) == ["a.py:7 DDE101"]
    assert sorted(read) == ["a.py", "b.py"]
    read.clear()
    assert check(tmp_path / "src", options).diagnostics == first.diagnostics
    assert read == []


def test_a_known_tree_is_not_even_opened(
    tmp_path: Path, options: CheckOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1))
    check(tmp_path / "src", options)
    whole = Path.read_bytes

    def opened(path: Path) -> bytes:
        assert path.suffix == ".json"
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", opened)
    monkeypatch.setattr(static_pass, "open", None, raising=False)
    assert codes(check(tmp_path / "src", options)) == ["a.py:7 DDE101"]


def test_what_changed_is_read_again(tmp_path: Path, options: CheckOptions, read: list[str]) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1))
    make(tmp_path, "src/b.py", ASKS.format(number=2))
    check(tmp_path / "src", options)
    read.clear()
    make(tmp_path, "src/a.py", "\n" + ASKS.format(number=1), second=2)
    make(tmp_path, "src/b.py", ASKS.format(number=2), second=2)  # touched, not changed
    assert codes(check(tmp_path / "src", options)) == ["a.py:8 DDE101", "b.py:7 DDE101"]
    assert read == ["a.py"]


def test_another_configuration_is_another_result(tmp_path: Path, options: CheckOptions, read: list[str]) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1) + "\n\ndef free(x):\n    return int(x.sum().item() > 1)\n")
    check(tmp_path / "src", options)
    check(tmp_path / "src", replace(options, assume_compiled=True))
    check(tmp_path / "src", options)
    assert read == ["a.py", "a.py"]


def test_a_damaged_cache_is_a_miss(tmp_path: Path, options: CheckOptions, read: list[str]) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1))
    first = check(tmp_path / "src", options)
    for place in (tmp_path / "cache").rglob("*.json"):
        place.write_text(place.read_text().replace("DDE101", '", "'))
    assert check(tmp_path / "src", options).diagnostics == first.diagnostics
    assert read == ["a.py", "a.py"]


def test_without_a_cache_nothing_is_written(tmp_path: Path, options: CheckOptions) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number=1))
    check(tmp_path / "src", replace(options, cache=False))
    assert not (tmp_path / "cache").exists()


SEVERAL_PROCESSES = """
import json, os, sys
from ddelint.settings.options import CheckOptions, EntryOption, Mode
from ddelint.pipeline import readers
from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence

readers.FILES_A_PROCESS = readers.AT_ONCE = 2
whole, used = readers._in_processes, []

def noted(jobs, project, processes):
    used.append(processes)
    return whole(jobs, project, processes)

readers._in_processes = noted
root, jobs = sys.argv[1], int(sys.argv[2])
told = run_check([root], CheckOptions(mode=Mode.STATIC, root=root, cache=False, jobs=jobs), Silence())
print(json.dumps({"used": used, "told": [repr(found) for found in told.diagnostics]}))
"""


def test_several_processes_say_the_same_in_the_same_order(tmp_path: Path) -> None:
    """In interpreters of their own: beside the threads that other tests leave behind, one process reads."""
    for number in range(12):
        make(tmp_path, f"src/m{number:02}.py", ASKS.format(number=number) if number % 3 else "x = 1\n")
    alone, together = (
        json.loads(
            subprocess.run(
                [sys.executable, "-c", SEVERAL_PROCESSES, str(tmp_path / "src"), jobs],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
        )
        for jobs in ("1", "3")
    )
    assert (alone["used"], together["used"]) == ([], [3, 3])  # to survey, and to read
    assert len(together["told"]) == 8
    assert together["told"] == alone["told"]


def test_a_file_by_name_is_parsed_whatever_it_holds(tmp_path: Path, options: CheckOptions) -> None:
    broken = make(tmp_path, "src/broken.py", "def f(:\n")
    assert codes(check(broken, options)) == ["broken.py:1 DDE001"]
    assert codes(check(tmp_path / "src", options)) == []
    assert codes(check(broken, options)) == ["broken.py:1 DDE001"]


def test_a_broken_file_that_could_matter_is_told_of_in_a_folder(tmp_path: Path, options: CheckOptions) -> None:
    make(tmp_path, "src/broken.py", ASKS.format(number="(") + "\n")
    assert [code.split()[1] for code in codes(check(tmp_path / "src", options))] == ["DDE001"]


@pytest.mark.parametrize("path", ["src", "src/broken.py"])
def test_a_file_that_does_not_parse_is_no_crash_where_an_entry_is_looked_for(
    tmp_path: Path, options: CheckOptions, path: str
) -> None:
    make(tmp_path, "src/broken.py", ASKS.format(number="(") + "\n")
    told = run_check([str(tmp_path / path)], replace(options, mode=Mode.DEFAULT), Silence())
    assert codes(told) == ["broken.py:7 DDE001"]


@pytest.mark.parametrize(
    "comment", ["ddelint: ignore[DDE101]", "noqa: DDE101", "noqa: E501, DDE101", "NOQA:DDE101", "noqa:  W1 DDE101"]
)
def test_a_comment_silences_in_every_form(tmp_path: Path, options: CheckOptions, comment: str) -> None:
    make(tmp_path, "src/a.py", ASKS.format(number="3:  # " + comment + "\n#").replace("#:", "#"))
    assert codes(check(tmp_path / "src", options)) == []


def test_a_comment_counts_in_a_file_that_is_linked(tmp_path: Path, options: CheckOptions) -> None:
    make(tmp_path, "shared/x.py", ASKS.format(number="3:  # ddelint: ignore[DDE101]\n#").replace("#:", "#"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "link.py").symlink_to(tmp_path / "shared" / "x.py")
    assert codes(check(tmp_path / "src", options)) == []


def test_comments_in_a_file_without_findings_are_looked_at(tmp_path: Path, options: CheckOptions) -> None:
    make(tmp_path, "src/a.py", "x = 1  # ddelint: ignore[DDE101]\n")
    for _ in range(2):
        assert codes(check(tmp_path / "src", options)) == ["a.py:1 DDE003"]


def test_a_comment_that_a_trace_may_need_stays_where_there_is_an_entry(tmp_path: Path, options: CheckOptions) -> None:
    text = "x = 1  # ddelint: ignore[DDE101]\n"
    helper = make(tmp_path, "src/a.py", text)
    entry = make(tmp_path, "src/b.py", "def fn(x):\n    return x\n\n\ndef make_inputs(seed):\n    return ()\n")
    assert codes(check(tmp_path / "src", replace(options, fix=True))) == []
    assert helper.read_text() == text
    named = (EntryOption("one", f"{entry}:fn"),)
    assert codes(check(helper, replace(options, entries=named))) == []
    entry.unlink()
    assert codes(check(tmp_path / "src", options)) == ["a.py:1 DDE003"]


def test_a_file_that_is_left_out_of_a_call_tells_nothing_from_the_cache(tmp_path: Path, options: CheckOptions) -> None:
    make(tmp_path, "src/pkg/__init__.py", "")
    calls = "\n    def forward(self, x):\n        return self.route(x)\n"
    make(tmp_path, "src/pkg/base.py", "import torch\n\n\nclass Base(torch.nn.Module):" + calls)
    text = ASKS.format(number=1).replace("torch.nn.Module", "Base").replace("forward", "route")
    make(tmp_path, "src/pkg/gate.py", "from .base import Base\n" + text)
    outcomes = []
    for exclude in ((), ("base.py",), ()):
        kept, fresh = (
            codes(check(tmp_path / "src", replace(options, exclude=exclude, cache=cache))) for cache in (True, False)
        )
        assert kept == fresh
        outcomes.append(fresh)
    assert outcomes == [["gate.py:8 DDE101"], [], ["gate.py:8 DDE101"]]


def test_a_linked_file_is_told_of_once(tmp_path: Path, options: CheckOptions) -> None:
    path = make(tmp_path, "src/m.py", ASKS.format(number=1))
    (tmp_path / "src" / "link.py").symlink_to(path)
    told = check(tmp_path / "src", options)
    assert codes(told) == ["m.py:7 DDE101"]
    assert told.files_checked == 1


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RecursionError("too deep"), "{path} nests too deep to be checked"),
        (KeyError("odd"), "cannot check {path}: KeyError: 'odd' (a bug in ddelint; DDELINT_DEBUG=1 shows where)"),
    ],
)
def test_a_file_that_reading_fails_at_is_told_and_the_others_are_checked(
    tmp_path: Path, options: CheckOptions, monkeypatch: pytest.MonkeyPatch, error: Exception, message: str
) -> None:
    text = ASKS.format(number=1)
    odd = make(tmp_path, "src/odd.py", text.replace("sum().item() > 1:", "sum().item() > 1:  # noqa: DDE101"))
    make(tmp_path, "src/plain.py", text)
    whole = readers.read

    def read(filename: str, *rest: Any, **named: Any) -> Any:
        if filename == str(odd):
            raise error
        return whole(filename, *rest, **named)

    monkeypatch.setattr(readers, "read", read)
    monkeypatch.delenv("DDELINT_DEBUG", raising=False)
    for mode in (Mode.STATIC, Mode.DEFAULT):
        told = check(tmp_path / "src", replace(options, mode=mode))
        assert codes(told) == ["plain.py:7 DDE101"]
        assert told.errors == (message.format(path=odd),)
    if isinstance(error, KeyError):
        monkeypatch.setenv("DDELINT_DEBUG", "1")
        with pytest.raises(KeyError):
            check(tmp_path / "src", options)


@pytest.mark.parametrize(("force", "found"), [(True, []), (False, ["g.py:7 DDE101"])])
def test_standard_input_may_be_left_out_by_its_name(
    tmp_path: Path, options: CheckOptions, force: bool, found: list[str]
) -> None:
    given = replace(
        options, stdin=ASKS.format(number=1).encode(), stdin_filename=str(tmp_path / "gen/g.py"), exclude=("gen",)
    )
    for mode in (Mode.STATIC, Mode.DEFAULT):
        told = run_check(["-"], replace(given, mode=mode, fix=True, force_exclude=force), Silence())
        assert codes(told) == found
        assert told.files_checked == (not force)


def test_what_reading_made_is_not_gone_through_at_once() -> None:
    before, made = gc.get_threshold(), []
    gc.set_threshold(100_000)
    try:
        with readers._without_collector():
            made += [[] for _ in range(50_000)]
        assert gc.get_count()[0] < len(made) // 10
    finally:
        gc.set_threshold(*before)


def test_beside_another_thread_one_process_reads(
    tmp_path: Path, options: CheckOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        make(tmp_path, f"src/m{number}.py", ASKS.format(number=number))
    monkeypatch.setattr(readers, "FILES_A_PROCESS", 2)
    monkeypatch.setattr(readers, "_in_processes", None)
    done = threading.Event()
    other = threading.Thread(target=done.wait, daemon=True)
    other.start()
    try:
        assert len(codes(check(tmp_path / "src", replace(options, cache=False, jobs=2)))) == 4
    finally:
        done.set()
        other.join()


LOADED = """
import sys
from ddelint.cli import main

try:
    main(["check", sys.argv[1], "--static", "--isolated", "--no-cache", "-q", "--exit-zero"], prog_name="ddelint")
except SystemExit:
    pass
names = ("ddelint.static.walk.interpreter", "ddelint.static.program.callgraph")
print(*(name for name in names if name in sys.modules), sep="\\n", file=sys.stderr)
"""


@pytest.mark.parametrize(("text", "count"), [("import os\n\nx = os.sep\n", 0), (ASKS.format(number=1), 1)])
def test_a_file_without_torch_loads_no_interpreter_and_one_that_stands_alone_no_call_graph(
    tmp_path: Path, text: str, count: int
) -> None:
    path = make(tmp_path, "m.py", text)
    done = subprocess.run([sys.executable, "-c", LOADED, str(path)], capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["ddelint.static.walk.interpreter"][:count]


PLAIN = """
import sys
from ddelint.commands.plain import passed

assert passed(["check", "--static", sys.argv[1]]) == "All checks passed!\\n"
names = ("ddelint.static.walk.interpreter", "ddelint.nouns.diagnostics", "ddelint.knowledge.catalog", "_hashlib")
print(*(name for name in names if name in sys.modules), sep="\\n")
"""


def test_a_clean_file_loads_neither_findings_nor_rules(tmp_path: Path) -> None:
    text = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x[x > 0].sum()\n"
    path = make(tmp_path, "m.py", text)
    for loaded in ("ddelint.static.walk.interpreter\n", "\n"):  # the second time it is known
        command = [sys.executable, "-c", PLAIN, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
        assert done.stdout == loaded
