"""Whatever user code does, the parent, the worker and the next entry go on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import TIME_IS_OVER
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

Write = Callable[..., Path]
Open = Callable[..., Session]
Fail = Callable[..., EntryFailure]

GOOD = """
def fn(x):
    return x + 1

def make_inputs(seed):
    return (torch.full((2,), float(seed)),)
"""

WRITES_TO_ALL = """
import os, select

def write_to_all(data):
    for number in range(3, 256):
        try:
            if select.select([], [number], [], 0)[1]:
                os.write(number, data)
        except (OSError, ValueError):
            pass
"""
FAILS_WHEN_CALLED = """
import os, signal, sys, time

def fn(x):
    {body}
    return x

def make_inputs(seed):
    return (torch.zeros(2),)
"""


def test_a_good_entry_is_described(write: Write, opened: Open) -> None:
    info = opened(write(GOOD)).info
    assert info.label == "model.py:fn, inputs from make_inputs(seed)"
    assert info.parameters == ("x",)
    assert info.seeded
    assert not info.requires_grad
    assert info.devices[0] == "cpu"
    assert info.torch_version


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "signal", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "signal", "SIGKILL"),
        ("os._exit(3)", "exit", "exit code 3"),
        ("os._exit(0)", "exit", "exit code 0"),
        ("sys.exit(4)", "exit", "sys.exit(4)"),
        ("raise ValueError('too short')", "raised", "ValueError: too short"),
        ("raise KeyboardInterrupt", "raised", "KeyboardInterrupt"),
        ("os.closerange(3, 256)", "exit", "ended without an answer"),
        ("raise type('Odd', (Exception,), {'__str__': lambda self: 1 / 0})()", "raised", "Odd"),
    ],
)
def test_what_a_program_does_to_its_process_stays_there(
    write: Write, refused: Fail, opened: Open, body: str, kind: str, message: str
) -> None:
    failure = refused(write(FAILS_WHEN_CALLED.format(body=body)))
    assert failure.kind == kind
    assert message in failure.message
    assert opened(write(GOOD, "next.py")).info.parameters == ("x",)


@pytest.mark.parametrize(
    "body",
    [
        "import time\ntime.monotonic = time.time = time.perf_counter = lambda: 1 / 0",
        "import time\ntime.monotonic = time.time = time.perf_counter = lambda: 0.0",
        "import sys\nsys.stdout = sys.stderr = sys.__stderr__ = None",
        "import os\nos.closerange(0, 3)",
        "import json\njson.dumps = json.loads = None",
        "import sys\nsys.excepthook = sys.breakpointhook = None",
    ],
)
def test_what_a_program_replaces_is_not_what_its_supervisor_uses(write: Write, opened: Open, body: str) -> None:
    assert opened(write(f"{body}\n{GOOD}")).info.parameters == ("x",)


def test_a_process_that_ends_without_an_answer_says_what_of(write: Write, refused: Fail) -> None:
    body = "import os, tempfile\nfolder = tempfile.mkdtemp()\nos.chdir(folder)\nos.rmdir(folder)"
    failure = refused(write(f"{body}\n{GOOD}"))
    assert "FileNotFoundError" in failure.message


def test_a_raise_shows_the_users_frames_and_place(write: Write, refused: Fail) -> None:
    path = write(FAILS_WHEN_CALLED.format(body="raise ValueError('too short')"))
    failure = refused(path)
    assert failure.span is not None
    assert (failure.span.filename, failure.span.row, failure.span.column) == (str(path), 6, 5)
    assert "raise ValueError('too short')" in failure.traceback
    assert f"ddelint{os.sep}trace" not in failure.traceback


def test_a_crash_shows_where_it_happened(write: Write, refused: Fail) -> None:
    failure = refused(write(FAILS_WHEN_CALLED.format(body="os.kill(os.getpid(), signal.SIGSEGV)")))
    assert failure.span is not None
    assert failure.span.row == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    "body", ["while True: pass", "time.sleep(1000)", "signal.pthread_sigmask(0, range(1, 15)); time.sleep(1000)"]
)
def test_a_hang_is_ended_and_shown(write: Write, refused: Fail, body: str) -> None:
    failure = refused(write(FAILS_WHEN_CALLED.format(body=body)), timeout=1.0)
    assert failure.kind == "timeout"  # what loading the file has left of the second, perhaps nothing
    assert failure.message in (TIME_IS_OVER, "did not finish within 1 second")


@pytest.mark.slow
def test_a_hang_shows_its_place(write: Write, refused: Fail) -> None:
    failure = refused(write(FAILS_WHEN_CALLED.format(body="while True: pass")), timeout=5.0)
    assert failure.span is not None
    assert failure.span.row == 6


def test_a_hang_while_importing(write: Write, refused: Fail) -> None:
    failure = refused(write("while True:\n    pass\n"), timeout=1.0)
    assert failure.kind == "timeout"
    assert failure.span is not None
    assert failure.span.row in (2, 3)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_is_limited(write: Write, refused: Fail) -> None:
    body = "held = [b'x' * 2**22 for _ in range(10**9)]"
    failure = refused(write(FAILS_WHEN_CALLED.format(body=body)), memory=2**28)
    assert failure.kind == "memory"
    assert "256 MiB" in failure.message


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_memory_of_processes_that_the_program_starts_counts(write: Write, refused: Fail) -> None:
    body = "os.fork(); held = [b'x' * 2**22 for _ in range(10**9)]"
    assert refused(write(FAILS_WHEN_CALLED.format(body=body)), memory=2**28).kind == "memory"


def test_nothing_that_the_program_started_survives(write: Write, refused: Fail, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"""
    child = os.fork()
    if child == 0:
        time.sleep(1000)
    open({str(note)!r}, "w").write(str(child))
    os._exit(1)
"""
    assert refused(write(FAILS_WHEN_CALLED.format(body=body.strip()))).kind == "exit"
    with pytest.raises(ProcessLookupError):
        _signal_until_gone(int(note.read_text()))


def _signal_until_gone(pid: int) -> None:
    for _ in range(100_000):
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError("only waits to be reaped")


def test_a_program_that_forks_answers_once(write: Write, opened: Open) -> None:
    session = opened(write(GOOD.replace("return x + 1", "import os; os.fork(); return x + 1")))
    assert session.types().failure is None
    assert session.types().failure is None


@pytest.mark.slow
def test_noise_is_swallowed_and_closing_ends_the_worker(write: Write, tmp_path: Path) -> None:
    program = write(
        "import os, sys\nprint('noise')\nos.write(1, b'raw')\nos.write(2, b'raw')\nsys.stderr.write('more')\n" + GOOD
    )
    script = (
        "import sys\n"
        "from ddelint.nouns.protocol import EntrySpec, SessionOptions\n"
        "from ddelint.trace.worker_process import Worker\n"
        "with Worker() as worker:\n"
        f"    session = worker.open(SessionOptions(EntrySpec({str(program)!r}), ({str(program)!r},)))\n"
        "    print(session.info.parameters)\n"
        "    process = worker._process\n"
        "    assert not {'torch', 'sympy', 'libcst'} & set(sys.modules)\n"
        "print(process.poll())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("('x',)\n0\n", "", 0)


def test_a_flood_of_output_does_not_block(write: Write, opened: Open) -> None:
    body = "import sys\nfor _ in range(300):\n    sys.stderr.write('x' * 65536)\n    print('y' * 65536)\n"
    assert opened(write(body + GOOD)).info.parameters == ("x",)


def test_import_error_is_the_users(write: Write, refused: Fail) -> None:
    failure = refused(write("import a_module_that_nobody_has\n"))
    assert failure.kind == "raised"
    assert "ModuleNotFoundError" in failure.message
    assert failure.span is not None
    assert failure.span.row == 2


def test_syntax_error_has_its_place(write: Write, refused: Fail) -> None:
    failure = refused(write("def fn(:\n"))
    assert failure.kind == "raised"
    assert failure.span is not None
    assert failure.span.row == 2


def test_a_missing_file(tmp_path: Path, refused: Fail) -> None:
    failure = refused(tmp_path / "absent.py")
    assert failure.kind == "missing"
    assert "absent.py" in failure.message


def test_a_file_that_is_not_python(tmp_path: Path, refused: Fail) -> None:
    path = tmp_path / "weights.py"
    path.write_bytes(b"\x00\xff\xfe binary")
    assert refused(path).kind == "raised"


def test_main_guard_does_not_run(write: Write, opened: Open) -> None:
    assert opened(write(GOOD + "\nif __name__ == '__main__':\n    raise SystemExit(1)\n")).info.parameters == ("x",)


def test_import_leaves_no_bytecode_behind(write: Write, opened: Open, tmp_path: Path) -> None:
    write("VALUE = 1\n", "helper.py")
    opened(write("import helper\n" + GOOD))
    assert not (tmp_path / "__pycache__").exists()


def test_requests_do_not_see_each_other(write: Write, opened: Open) -> None:
    text = """
    calls = []

    def fn(x):
        calls.append(1)
        count = len(calls)
        return x + count

    def make_inputs(seed):
        return (torch.zeros(2),)
    """
    path = write(text)
    session = opened(path)
    counted = [session.types().functions[f"{path}::fn"]["count"].value for _ in range(2)]
    assert counted[0] == counted[1]


def test_what_one_entry_patches_in_torch_is_whole_for_the_next(write: Write, opened: Open) -> None:
    patching = """
    def fn(x):
        return torch.nn.functional.linear(x, torch.ones(2, 2))

    def make_inputs(seed):
        return (torch.zeros(2),)

    torch.nn.functional.linear = lambda x, weight: x + 1
    torch.Tensor.sum = None
    """
    asking = """
    def fn(x):
        if torch.nn.functional.linear(x, torch.ones(2, 2)).sum() > 0:
            return x + 1
        return x

    def make_inputs(seed):
        return (torch.full((2,), float(seed)),)
    """
    assert opened(write(patching)).trace({}).questions == ()
    (question,) = opened(write(asking, "next.py")).trace({}).questions
    assert question.expression == "torch.nn.functional.linear(x, torch.ones(2, 2)).sum() > 0"


@pytest.mark.slow
def test_inputs_may_come_from_the_processes_of_a_data_loader(write: Write, opened: Open) -> None:
    text = """
    def fn(x):
        if x.sum() > 0:
            return x + 1
        return x

    def make_inputs(seed):
        data = [torch.full((2,), float(seed + number)) for number in range(4)]
        return (next(iter(torch.utils.data.DataLoader(data, batch_size=4, num_workers=2))),)
    """
    session = opened(write(text))
    assert [question.expression for question in session.trace({}).questions] == ["x.sum() > 0"]
    compared = session.compare({}, (), 4, True)
    assert compared.failure is None
    assert compared.samples >= 1


def test_a_session_survives_a_request_that_crashes(write: Write, opened: Open, tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    text = GOOD.replace("return x + 1", f"import os; os.path.exists({str(switch)!r}) and os._exit(9); return x + 1")
    session = opened(write(text))
    switch.touch()
    failure = session.types().failure
    assert failure is not None
    assert failure.kind == "exit"
    switch.unlink()
    assert session.types().failure is None


def test_a_session_survives_the_death_of_its_zygote(write: Write, opened: Open, tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    text = GOOD.replace(
        "return x + 1",
        f"import os, signal; os.path.exists({str(switch)!r}) and os.kill(os.getppid(), signal.SIGKILL); return x + 1",
    )
    session = opened(write(text))
    switch.touch()
    failure = session.types().failure
    assert failure is not None
    assert failure.kind == "signal"
    switch.unlink()
    assert session.types().failure is None


def test_overlay_that_does_not_load_is_the_users_failure(write: Write, opened: Open) -> None:
    path = write(GOOD)
    failure = opened(path).trace({str(path): path.read_text() + "\nraise ValueError('while loading')\n"}).failure
    assert failure is not None
    assert (failure.kind, failure.message) == ("raised", "ValueError: while loading")


def test_a_file_that_takes_the_device_while_loading_is_loaded_in_each_fork(write: Write, opened: Open) -> None:
    # stands in for a CUDA context, which a fork cannot use
    path = write("torch.cuda.is_initialized = lambda: True\n" + GOOD)
    session = opened(path)
    assert session.info.parameters == ("x",)
    assert session.trace({str(path): path.read_text().replace("x + 1", "x + 2")}).failure is None


def test_one_entry_of_many(write: Write, opened: Open) -> None:
    text = """
    import ddelint

    def one(x):
        return x

    def two(y):
        return y

    def ddelint_entries():
        return [ddelint.Entry(program, (torch.ones(1),)) for program in (one, two)]
    """
    path = write(text)
    assert opened(path).info.names == ("one", "two")
    assert opened(path, entry="two").info.parameters == ("y",)


REGISTERS = """
    if "table" in vars(torch):
        raise RuntimeError("registered twice")
    torch.table = {}
    """ + GOOD.replace("\n", "\n    ")


@pytest.mark.parametrize("fresh", [False, True])
def test_files_that_cannot_be_executed_twice(write: Write, opened: Open, fresh: bool) -> None:
    path = write(REGISTERS)
    session = opened(path)
    same = path.read_text().replace("x + 1", "1 + x")
    other = path.read_text().replace("x + 1", "x + 2")
    assert session.compare({str(path): same}, (), 2, True, fresh=fresh).equal
    different = session.compare({str(path): other}, (), 2, True, fresh=fresh)
    assert (different.failure, different.equal) == (None, False)
    assert session.trace({str(path): other + "\nVALUE = 1\nprint(VALUE)\n"}).failure is None


def test_new_text_that_cannot_be_imported_is_not_compared(write: Write, opened: Open) -> None:
    path = write(REGISTERS)
    failure = opened(path).compare({str(path): path.read_text() + "\n1 / 0\n"}, (), 2, False).failure
    assert failure is not None
    assert "ZeroDivisionError" in failure.message


def test_requests_reach_their_engines(write: Write, opened: Open) -> None:
    path = write(GOOD)
    session = opened(path)
    changed = {str(path): path.read_text().replace("x + 1", "x + 2")}
    assert session.trace({}).questions == ()
    assert session.compare({}, (), 2, True).equal
    assert not session.compare(changed, (), 2, True).equal
    assert [result.ok for result in session.compile({}, ("export",), 2, "eager").results] == [True]


COUNTS = """
import os
from pathlib import Path

CALLS = Path(__file__).with_name("calls.txt")

def fn(x):
    with CALLS.open("a") as file:
        file.write("old\\n")
    return x + 1

def make_inputs(seed):
    return (torch.full((2,), float(seed)),)
"""


STARTS_A_THREAD = COUNTS.replace("import os", "import threading").replace(
    "    return x + 1", "    threading.Thread(target=threading.Event().wait, daemon=True).start()\n    return x + 1"
)


@pytest.mark.parametrize(
    ("program", "each_time", "quick"), [(COUNTS, False, False), (COUNTS, False, True), (STARTS_A_THREAD, True, True)]
)
def test_the_original_is_run_once_for_many_programs(
    write: Write, opened: Open, program: str, each_time: bool, quick: bool
) -> None:
    path = write(program)
    session = opened(path)
    text = path.read_text().replace("old", "new")
    calls = []
    for wrong in (0, 1):
        before = (path.parent / "calls.txt").read_text().count("old")
        changed = {str(path): text.replace("x + 1", f"x + {wrong}")}
        assert session.compare(changed, (), 4, quick).equal is (wrong == 1)
        calls.append((path.parent / "calls.txt").read_text().count("old") - before)
    # a fork would lack the program's threads
    assert [count > 0 for count in calls] == [True, each_time]


def test_another_version_may_count_as_the_original(write: Write, opened: Open) -> None:
    path = write(GOOD)
    now = {str(path): path.read_text()}
    before = {str(path): now[str(path)].replace("x + 1", "x + 2")}
    session = opened(path)
    assert not session.compare(now, (), 2, False, original=before).equal
    assert session.compare(now, (), 2, False, original=now).equal
    compiled = session.compile(now, ("compile",), 2, "eager", original=before)
    assert [result.ok for result in compiled.results] == [False]


def test_sessions_side_by_side(write: Write, opened: Open) -> None:
    first = opened(write(GOOD, "first.py"))
    second = opened(write(GOOD.replace("(x)", "(y)").replace("x + 1", "y"), "second.py"))
    assert first.types().functions.keys() != second.types().functions.keys()
    first.close()
    assert second.types().failure is None


def test_a_closed_session_says_so(write: Write, opened: Open) -> None:
    session = opened(write(GOOD))
    session.close()
    failure = session.types().failure
    assert failure is not None
    assert "gone" in failure.message


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    with Worker(str(tmp_path / "python")) as absent:
        failure = absent.open(_options(tmp_path))
    assert isinstance(failure, EntryFailure)
    assert failure.kind == "no-torch"


def test_an_interpreter_without_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    launcher = tmp_path / "python"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    launcher.chmod(0o755)
    with Worker(str(launcher)) as torchless:
        failure = torchless.open(_options(tmp_path))
    assert isinstance(failure, EntryFailure)
    assert failure.kind == "no-torch"
    assert "ddelint[trace]" in failure.message


def test_an_interpreter_with_an_old_torch(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("__version__ = '2.4.1+cpu'\n")
    launcher = tmp_path / "python"
    launcher.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path} exec {sys.executable} "$@"\n')
    launcher.chmod(0o755)
    with Worker(str(launcher)) as old:
        failure = old.open(_options(tmp_path))
    assert isinstance(failure, EntryFailure)
    assert "2.4.1" in failure.message
    assert "2.11" in failure.message


def test_an_interpreter_that_still_loads_torch_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launcher = tmp_path / "python"
    launcher.write_text("#!/bin/sh\nexec sleep 600\n")
    launcher.chmod(0o755)
    ended: list[str] = []

    class Process(subprocess.Popen[bytes]):
        def kill(self) -> None:
            ended.append("killed")
            super().kill()

        def wait(self, timeout: float | None = None) -> int:
            ended.append("waited for")
            return super().wait(timeout)

    monkeypatch.setattr("ddelint.trace.worker_process.subprocess.Popen", Process)
    Worker(str(launcher)).close()
    assert ended[:2] == ["killed", "waited for"]


def _options(folder: Path) -> SessionOptions:
    return SessionOptions(EntrySpec(str(folder / "model.py")), (str(folder),), timeout=60.0)


@pytest.mark.slow
def test_a_working_directory_that_hides_the_standard_library(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(GOOD)
    (tmp_path / "typing.py").write_text("raise ImportError('not the one')\n")
    monkeypatch.chdir(tmp_path)
    with Worker() as started:
        session = started.open(_options(tmp_path))
        assert isinstance(session, Session), session
        session.close()


FORGED = json.dumps({"result": {"label": "mine", "parameters": [], "requires_grad": False, "seeded": True}})


@pytest.mark.parametrize("written", ["junk", "junk\n", FORGED + "\n"])
def test_a_program_that_forges_answers_when_it_is_called_is_refused(write: Write, refused: Fail, written: str) -> None:
    called = GOOD.replace("return x + 1", f"write_to_all({written.encode()!r}); return x + 1")
    failure = refused(write(WRITES_TO_ALL + called))
    assert failure.kind == "forged"


@pytest.mark.parametrize("written", ["junk", "junk\n", FORGED + "\n", '{"imported": true}\n' + FORGED + "\n"])
def test_a_file_that_forges_answers_while_it_is_imported_is_refused(
    write: Write, refused: Fail, opened: Open, written: str
) -> None:
    failure = refused(write(f"{WRITES_TO_ALL}\nwrite_to_all({written.encode()!r})\n{GOOD}"))
    assert failure.kind == "forged"
    assert "wrote to a channel of ddelint" in failure.message
    assert opened(write(GOOD, "next.py")).info.parameters == ("x",)


def test_an_answer_in_ddelints_name_without_its_form_is_a_failure(write: Write, refused: Fail) -> None:
    """User code can replace what ddelint sends with: that ends its own session."""
    text = "import ddelint.trace.replies\nddelint.trace.replies.dumps = lambda *_, **__: '[]'\n"
    assert refused(write(text + GOOD)).kind == "forged"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="waits for /proc")
def test_a_daemon_does_not_outlive_the_request_that_started_it(write: Write, opened: Open, tmp_path: Path) -> None:
    daemon = f"""
import os, time

def fn(x):
    child = os.fork()
    if child == 0:
        os.setsid()
        grandchild = os.fork()
        if grandchild:
            open({str(tmp_path / "pid")!r}, "w").write(str(grandchild))
            os._exit(0)
        while True:
            time.sleep(1000)
    os.waitpid(child, 0)
    return x

def make_inputs(seed):
    return (torch.zeros(2),)
"""
    opened(write(daemon))
    with pytest.raises(ProcessLookupError):
        _signal_until_gone(int((tmp_path / "pid").read_text()))
