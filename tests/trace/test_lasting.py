"""A template that outlives the call: who may reach it, when it is used, and when it ends."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.trace import lasting, serving
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker, _outliving


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A runtime folder of the test's own, with a short name."""
    path = tmp_path_factory.mktemp("r")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    yield path / "ddelint"
    lasting.stop()


def of_this_python() -> Path:
    path = lasting.address(sys.executable)
    assert path is not None
    return path


def test_it_is_wanted_from_start_to_stop_and_not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not lasting.is_wanted()
    assert lasting.start()
    assert lasting.is_wanted()
    monkeypatch.setenv("CI", "true")
    assert not lasting.is_wanted()
    monkeypatch.delenv("CI")
    lasting.stop()
    assert not lasting.is_wanted()


def test_a_folder_that_others_can_open_is_not_used(folder: Path) -> None:
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    assert lasting.address(sys.executable) is None
    assert not lasting.start()


def test_a_link_is_no_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    assert lasting.address(sys.executable) is None


def test_another_environment_has_another_template(monkeypatch: pytest.MonkeyPatch) -> None:
    first = of_this_python()
    monkeypatch.setenv("PWD", "/elsewhere")
    monkeypatch.setenv("COLUMNS", "80")
    assert of_this_python() == first
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert of_this_python() != first


def test_what_hangs_on_the_working_directory_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"src{os.pathsep}/opt")
    assert lasting.address(sys.executable) is None


def test_one_listens_and_the_next_is_told_so() -> None:
    path = of_this_python()
    assert lasting.connected(path) is None
    listener = lasting.listening(path)
    assert listener is not None
    with listener:
        assert lasting.listening(path) is None
        channel = lasting.connected(path)
        assert channel is not None
        channel.close()


def test_a_new_template_ends_the_others_and_sockets_of_the_dead_are_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = lasting.listening(of_this_python())
    assert first is not None
    monkeypatch.setenv("OTHER", "1")
    second = lasting.listening(of_this_python())
    assert second is not None
    with first, second:
        caller, _ = first.accept()
        assert caller.recv(1) == lasting.STOP
        caller.close()
    third = lasting.listening(of_this_python())  # nobody closes the name of a template that was killed
    assert third is not None
    third.close()


def test_a_template_takes_away_no_name_but_its_own() -> None:
    path = of_this_python()
    listener = lasting.listening(path)
    assert listener is not None
    with listener:
        inode = path.stat().st_ino
        lasting.release(path, inode + 1)
        assert path.exists()
        lasting.release(path, inode)
        assert not path.exists()


@pytest.fixture
def childless(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests is no template: other tests have left it children."""
    monkeypatch.setattr(serving, "children", list)


def serving_one(path: Path) -> tuple[serving._Server, socket.socket]:
    """A server that has torch loaded, as it says, and a caller that waits to be welcomed."""
    listener = lasting.listening(path)
    assert listener is not None
    inode = path.stat().st_ino
    server = serving._Server(listener, lambda: lasting.release(path, inode), {"torch": "2.13.0"})
    caller = lasting.connected(path)
    assert caller is not None
    server._admit()
    return server, caller


def said(server: serving._Server, caller: socket.socket, what: bytes) -> None:
    caller.sendall(what)
    server._hear(server._callers[0])


def answer(caller: socket.socket) -> object:
    with caller.makefile("rb") as reader:
        return json.loads(reader.readline())


@pytest.mark.usefixtures("childless")
def test_a_caller_hears_what_is_loaded() -> None:
    path = of_this_python()
    server, caller = serving_one(path)
    with caller:
        said(server, caller, lasting.GREETING)
        assert answer(caller) == {"torch": "2.13.0"}
        said(server, caller, lasting.STOP)
    server._hear(server._callers[0])
    server.run()  # ends: it was asked to, and nobody is left
    assert not path.exists()


@pytest.mark.usefixtures("childless")
def test_what_was_installed_since_wants_a_new_template(monkeypatch: pytest.MonkeyPatch) -> None:
    path = of_this_python()
    server, caller = serving_one(path)
    monkeypatch.setattr(serving, "_stamps", lambda folders: dict.fromkeys(folders, "newer"))
    with caller:
        said(server, caller, lasting.GREETING)
        assert answer(caller) == {"stale": True}
    assert lasting.connected(path) is None


@pytest.mark.usefixtures("childless")
def test_a_path_that_was_added_meanwhile_is_no_new_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server, caller = serving_one(of_this_python())
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    with caller:
        said(server, caller, lasting.GREETING)
        assert answer(caller) == {"torch": "2.13.0"}


@pytest.mark.usefixtures("childless")
def test_it_waits_for_the_next_caller_and_ends_when_none_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float | None] = []
    server, caller = serving_one(of_this_python())
    select = server._selector.select

    def selected(timeout: float | None = None) -> object:
        waited.append(timeout)
        return select(0)

    monkeypatch.setattr(server._selector, "select", selected)
    monkeypatch.setattr("ddelint.trace.serving.load_inductor", lambda: waited.append(None))
    caller.close()
    server.run()
    breath = serving._BREATH_SECONDS
    assert waited == [breath, breath, None, serving.IDLE_SECONDS]  # it is gone, it is quiet, and it stays so


@pytest.mark.slow
def test_two_calls_share_a_template_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for name, limit in (("one", 4), ("two", 5)):
        project = tmp_path / name
        project.mkdir()
        (project / "model.py").write_text(
            f"import os, torch\n\n\ndef fn(x):\n    if x.sum() > {limit}:\n        return x\n    return x + 1\n\n\n"
            "def make_inputs(seed):\n    return (torch.ones(len(os.path.basename(os.getcwd()))),)\n"
        )
        monkeypatch.chdir(project)
        with Worker(lasts=True) as worker:
            assert worker.failure is None
            opened = worker.open(SessionOptions(EntrySpec("model.py"), ("model.py",)))
            assert isinstance(opened, Session)
            found.append([question.expression for question in opened.trace({}).questions])
    assert found == [["x.sum() > 4"], ["x.sum() > 5"]]
    assert len(_outliving) == 1
    assert lasting.stop() == 1
    assert _outliving.pop().wait(120) == 0
