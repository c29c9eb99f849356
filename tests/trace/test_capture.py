"""What a script compiles, exports or calls is captured as it was at the call, and is an entry like any other."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ddelint.nouns.protocol import EntryFailure, EntrySpec, ScriptSpec, SessionOptions
from ddelint.trace import saved
from ddelint.trace.captured_sessions import CapturedScript
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

Run = Callable[..., CapturedScript]
Write = Callable[..., Path]

NET = """
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(3))

        def forward(self, x):
            if x.sum() > 0:
                return x * self.weight
            return x - self.weight

        def loss(self, x, scale=1.0):
            return (self(x) * scale).sum()

    def double(x):
        if x.max() > 1:
            return x * 2
        return x

    x = torch.ones(3)
    """


@pytest.fixture
def run(worker: Worker, tmp_path: Path) -> Iterator[Run]:
    """`run(target, *arguments, module=False, patterns=(), **session options)` runs a script in the shared worker."""
    with contextlib.ExitStack() as stack:

        def run_script(
            target: object, *arguments: str, module: bool = False, patterns: tuple[str, ...] = (), **given: object
        ) -> CapturedScript:
            script = ScriptSpec(str(target), module, arguments, patterns)
            options = SessionOptions(
                EntrySpec(str(target), script=script), (str(tmp_path),), **{"timeout": 60.0, **given}
            )
            captured = worker.run_script(options)
            assert isinstance(captured, CapturedScript), captured
            stack.callback(captured.close)
            return captured

        yield run_script


def labels(captured: CapturedScript) -> list[str]:
    return [capture.label for capture in captured.run.captures]


def opened(captured: CapturedScript, number: int = 0) -> Session:
    session = captured.open(number)
    assert isinstance(session, Session), session
    return session


@pytest.mark.slow
@pytest.mark.parametrize(
    ("use", "label"),
    [
        ("torch.compile(Net())(x)", "model.py:Net (torch.compile)"),
        ("net = Net(); net.compile(); net(x)", "model.py:Net (torch.compile)"),
        ("net = Net(); net.forward = torch.compile(net.forward); net(x)", "model.py:Net (torch.compile)"),
        ("torch.compile(Net().loss)(x, scale=2.0)", "model.py:Net.loss (torch.compile)"),
        ("torch.compile(double, dynamic=True)(x)", "model.py:double (torch.compile)"),
        ("torch.compile(backend='eager')(double)(x)", "model.py:double (torch.compile)"),
        ("Net.forward = torch.compile(Net.forward); Net()(x)", "model.py:Net (torch.compile)"),
        ("Net = torch.compile(Net); Net()(x)", "model.py:Net (torch.compile)"),
        (
            "from torch import compile; compile(torch.nn.Sequential(Net()))(x)",
            "container.py:Sequential (torch.compile)",
        ),
        ("torch.export.export(Net(), (x,), strict=True)", "model.py:Net (torch.export.export)"),
        ("torch.export.draft_export(Net(), (x,))", "model.py:Net (torch.export.draft_export)"),
    ],
)
def test_every_way_to_compile_or_export_is_captured(write: Write, run: Run, use: str, label: str) -> None:
    captured = run(write(f"{NET}\n    {use}\n"))
    assert labels(captured) == [label], captured.run
    trace = opened(captured).trace({})
    assert trace.failure is None
    assert [question.kind for question in trace.questions] == ["truth"]


def test_modules_are_captured_by_class_or_by_path(write: Write, run: Run) -> None:
    path = write(
        f"{NET}\n"
        "    class Outer(torch.nn.Module):\n"
        "        def __init__(self):\n"
        "            super().__init__()\n"
        "            self.parts = torch.nn.ModuleList([torch.nn.ReLU(), Net()])\n"
        "        def forward(self, x):\n"
        "            return self.parts[1](self.parts[0](x))\n"
        "    Outer()(x)\n"
    )
    assert run(path).run.captures == ()
    assert labels(run(path, patterns=("*.Net",))) == ["model.py:Net (called)"]
    assert labels(run(path, patterns=("parts.0", "Out*"))) == ["model.py:Outer (called)", "activation.py:ReLU (called)"]


def test_arguments_and_state_are_those_of_the_call(write: Write, run: Run, tmp_path: Path) -> None:
    captured = run(
        write(
            """
            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.register_buffer("calls", torch.zeros(()))
                def forward(self, x, scales):
                    assert self.calls.item() == 0, "the state is that of a later call"
                    return x * scales["a"]

            other = Net()

            @torch.compile
            def through(x):
                return other(x, {"a": 1})

            net, x, scales = Net(), torch.ones(2, 3).t(), {"a": 2}
            torch.compile(net)(x, scales=scales)
            through(x)
            x.zero_(); scales.clear(); net.calls += 1; other.calls += 1
            """
        )
    )
    for number in range(2):
        assert isinstance(captured.open(number), Session), captured.open(number)
    assert captured.save(str(tmp_path / "inputs.safetensors")).saved == ("Net", "through")
    ((args, kwargs),) = saved.read(str(tmp_path / "inputs.safetensors"))[0].calls
    assert args[0].tolist() == [[1.0, 1.0]] * 3
    assert args[0].stride() == (1, 3)
    assert kwargs == {"scales": {"a": 2}}


def test_a_module_that_cannot_be_copied_is_copied_but_for_that_part(write: Write, run: Run) -> None:
    captured = run(
        write(
            """
            import functools, threading

            class Net(torch.nn.Module):
                def __init__(self):
                    super().__init__()
                    self.lock = threading.Lock()
                    self.weight = torch.nn.Parameter(torch.ones(3))
                    self.last = None

                def forward(self, x, sign=1):
                    with self.lock:
                        assert self.last is None or self.last.sum() > 0
                    self.last = x * self.weight * sign
                    return self.last

            net = Net()
            net(torch.ones(3))
            torch.compile(net)(torch.ones(3))
            torch.compile(functools.partial(Net(), sign=2))(torch.ones(3))
            net(-torch.ones(3))
            """
        )
    )
    assert labels(captured) == ["model.py:Net (torch.compile)"] * 2
    comparison = opened(captured).compare({}, (), 1, False)
    assert (comparison.equal, comparison.failure) == (True, None), comparison.mismatches


def test_first_calls_are_inputs_and_layers_of_one_kind_are_one_entry(write: Write, run: Run) -> None:
    captured = run(
        write(f"{NET}\n    for net in (Net(), Net()):\n        for n in range(9): torch.compile(net)(x * n)\n")
    )
    assert [capture.calls for capture in captured.run.captures] == [4]
    session = opened(captured)
    assert session.info.seeded
    assert session.info.requires_grad
    comparison = session.compare({}, (), 8, False)
    assert comparison.equal
    assert comparison.declared == 4


@pytest.mark.parametrize(
    ("last", "ending"),
    [
        ("", ""),
        ("import sys; sys.exit(0)", ""),
        ("import sys; sys.exit('no')", "ended with exit code 1 (no)"),
        ("import argparse; argparse.ArgumentParser(prog='x').error('bad')", "ended with exit code 2 (x: error: bad)"),
        ("import os; os._exit(3)", "ended with exit code 3"),
        ("raise ValueError('too late')", "raised ValueError: too late (model.py:24)"),
        ("while True: pass", "was stopped after 2 seconds"),
    ],
)
def test_what_was_captured_counts_however_the_script_ends(write: Write, run: Run, last: str, ending: str) -> None:
    captured = run(
        write(f"{NET}\n    torch.compile(double)(x)\n    {last}\n"), timeout=2.0 if "while" in last else 60.0
    )
    assert captured.run.ending == ending
    assert labels(captured) == ["model.py:double (torch.compile)"]


WITNESS = """
import json, sys
def compiled(x):
    return x + 1
if __name__ == "__main__":
    import helper
    seen = [sys.argv, sys.path[0], __name__, __file__, __spec__ and __spec__.name, __package__, helper.NAME]
    seen += [sys.modules["__main__"].compiled is compiled, __builtins__.__name__]
    open(sys.argv[1], "w").write(json.dumps(seen))
    print("noise")
    import torch
    torch.compile(compiled)(torch.ones(2))
"""


@pytest.mark.slow
@pytest.mark.parametrize("module", [False, True])
def test_a_script_sees_what_python_shows_it(
    write: Write, run: Run, tmp_path: Path, module: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = "pkg/" if module else ""
    script = write(WITNESS, f"{folder}tool.py", torch=False)
    write("NAME = 'helper'\n", "helper.py", torch=False)
    write("", f"{folder}__init__.py", torch=False)
    monkeypatch.chdir(tmp_path)
    target = "pkg.tool" if module else str(script)
    outputs = [tmp_path / name for name in ("python.json", "worker.json")]
    subprocess.run([sys.executable, *(["-m"] if module else []), target, outputs[0], "-x"], check=True)
    captured = run(target, str(outputs[1]), "-x", module=module)
    assert labels(captured) == ["tool.py:compiled (torch.compile)"]
    plain, ours = (json.loads(output.read_text()) for output in outputs)
    assert plain[0].pop(1) != ours[0].pop(1)
    if module:  # the working directory, which is another one in the worker that all tests share
        del plain[1], ours[1]
    assert ours == plain
    assert opened(captured).trace({}).questions == ()


def test_a_rewrite_of_module_level_code_runs_the_script_again(write: Write, run: Run, tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    path = write(
        f"""
        LIMIT = [1]
        class Net(torch.nn.Module):
            limit = LIMIT[0]
            def forward(self, x):
                if self.limit and x.sum() > 0:
                    return x + 1
                return x
        torch.compile(Net())(torch.ones(3))
        with open({str(witness)!r}, "a") as file:
            file.write("to the end\\n")
        """
    )
    session = opened(run(path))
    assert len(session.trace({}).questions) == 1
    swapped = path.read_text().replace("x.sum() > 0", "True")
    assert session.trace({str(path): swapped}).questions == ()
    assert witness.read_text() == "to the end\n"
    longer = path.read_text().replace("        if self.limit", "        x = x + 0\n        if self.limit")
    (question,) = session.trace({str(path): longer}).questions
    assert (question.expression, question.span.row) == ("x.sum() > 0", 8), "read in the new text"
    changed = path.read_text().replace("LIMIT = [1]", "LIMIT = [0]")
    trace = session.trace({str(path): changed})
    assert (trace.failure, trace.questions) == (None, ())
    assert witness.read_text() == "to the end\n", "the second run ends once the program is captured"
    same = path.read_text().replace("x.sum() > 0", "0 < x.sum()")
    assert session.compare({str(path): same}, (), 4, False).equal


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the names of threads")
def test_where_forks_cannot_use_what_the_script_started_it_runs_again(write: Write, run: Run, tmp_path: Path) -> None:
    """A backward pass on a device starts threads that no fork survives; a thread of that name stands for them."""
    witness = tmp_path / "witness"
    session = opened(
        run(
            write(
                f"""
                import ctypes, threading

                def device_thread(started):
                    ctypes.CDLL(None).prctl(15, b"pt_autograd_0", 0, 0, 0)
                    started.set()
                    threading.Event().wait()

                def double(x):
                    return x * 2 if x.sum() > 0 else x

                compiled = torch.compile(double)
                for n in range(3):
                    compiled(torch.ones(n))
                    with open({str(witness)!r}, "a") as file:
                        file.write(str(n))
                started = threading.Event()
                threading.Thread(target=device_thread, args=(started,), daemon=True).start()
                started.wait()
                """
            )
        )
    )
    assert witness.read_text().startswith("012012"), "once to see what it starts, once for the list"
    assert not witness.read_text().endswith("2"), "a request for one program stops the script at its last kept call"
    assert len(session.trace({}).questions) == 1
    assert session.compare({}, (), 8, False).declared == 3


def test_marked_and_dynamic_dimensions_stay_open(write: Write, run: Run) -> None:
    captured = run(
        write(
            """
            from torch._dynamo.decorators import mark_unbacked

            def marked(x):
                return x + 1 if x.shape[0] == 3 else x

            class Net(torch.nn.Module):
                def forward(self, x, n):
                    return x[:n]

            x = torch.ones(5, 2)
            mark_unbacked(x, 0)
            torch.compile(marked)(x)
            dynamic = {"x": {0: torch.export.Dim.DYNAMIC, 1: None}, "n": None}
            torch.export.export(Net(), (torch.ones(5, 2), 2), dynamic_shapes=dynamic)
            """
        )
    )
    assert labels(captured) == ["model.py:marked (torch.compile)", "model.py:Net (torch.export.export)"]
    assert [question.expression for question in opened(captured).trace({}).questions] == ["x.shape[0] == 3"]
    (result,) = opened(captured, 1).compile({}, ("export",), 4, "eager").results
    assert result.ok


def test_tests_run_by_pytest_are_captured_as_they_are_written(write: Write, run: Run, tmp_path: Path) -> None:
    write(
        """
        class Net(torch.nn.Module):
            def forward(self, x):
                assert x.sum() > 0, "negative"
                return x

        def test_net(tmp_path):
            assert torch.compile(Net())(torch.ones(3)).shape == (4,)
        """,
        "test_net.py",
    )
    write("[pytest]\naddopts = -n 2 --dist worksteal\n", "pytest.ini", torch=False)
    captured = run("pytest", str(tmp_path / "test_net.py"), "-q", module=True)
    assert labels(captured) == ["test_net.py:Net (torch.compile)"]
    assert captured.run.ending == "ended with exit code 1"
    (question,) = opened(captured).trace({}).questions
    assert (question.expression, question.span.row) == ("x.sum() > 0", 5)


def test_a_script_that_cannot_run_is_a_failure(worker: Worker, write: Write, tmp_path: Path) -> None:
    for target, module, message in (
        (str(tmp_path / "nowhere.py"), False, "no such script"),
        ("no_such_module_of_mine", True, "no module named"),
    ):
        spec = EntrySpec(target, script=ScriptSpec(target, module))
        failure = worker.run_script(SessionOptions(spec, (str(tmp_path),)))
        assert isinstance(failure, EntryFailure)
        assert (failure.kind, message in failure.message) == ("missing", True)


def test_a_crash_is_told(worker: Worker, write: Write, tmp_path: Path) -> None:
    path = write("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")
    failure = worker.run_script(SessionOptions(EntrySpec(str(path), script=ScriptSpec(str(path))), (str(tmp_path),)))
    assert isinstance(failure, EntryFailure)
    assert failure.message == "was killed by SIGSEGV"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("around", "seen"),
    [
        ("torch.no_grad()", "not torch.is_grad_enabled()"),
        ("torch.set_grad_enabled(False)", "not torch.is_grad_enabled()"),
        ("torch.inference_mode()", "torch.is_inference_mode_enabled()"),
        ("torch.autocast('cpu', torch.bfloat16)", "(x[None] @ x[:, None]).dtype == torch.bfloat16"),
        ("torch.autocast('cpu', torch.float16)", "torch.get_autocast_dtype('cpu') == torch.float16"),
        ("torch.device('meta')", "torch.zeros(1).device.type == 'meta'"),
        ("double_precision()", "torch.zeros(1).dtype == torch.float64"),
    ],
)
@pytest.mark.parametrize("how", ["torch.compile(asks, backend='eager')(x)", "torch.export.export(Asks(), (x,))"])
def test_what_surrounds_a_call_surrounds_it_again(write: Write, run: Run, around: str, seen: str, how: str) -> None:
    """The program asks something only inside the surroundings, and gives what shows whether it was in them."""
    captured = run(
        write(
            f"""
            import contextlib
            import torch

            @contextlib.contextmanager
            def double_precision():
                before = torch.get_default_dtype()
                torch.set_default_dtype(torch.float64)
                yield
                torch.set_default_dtype(before)

            def asks(x):
                if {seen}:
                    if x.sum() > 0:
                        return x * 2
                    return x * 3
                return x

            class Asks(torch.nn.Module):
                def forward(self, x):
                    return asks(x)

            x = torch.ones(3)
            with {around}:
                try:
                    {how}
                except Exception:
                    pass
            """
        ),
        patterns=("nothing",),
    )
    session = opened(captured)
    trace = session.trace({})
    assert trace.failure is None
    assert [question.kind for question in trace.questions] == ["truth"]
    assert session.compare({}, (), 2, False).equal
    for result in session.compile({}, ("export", "strict", "compile"), 2, "eager").results:
        assert result.questions, result


def test_different_surroundings_are_different_programs(write: Write, run: Run) -> None:
    captured = run(
        write(
            f"{NET}\n"
            "    net = torch.compile(Net())\n"
            "    net(x)\n"
            "    with torch.no_grad(): net(x)\n"
            "    net(x)\n"
            "    torch.set_default_device('meta')\n"
        )
    )
    assert [capture.calls for capture in captured.run.captures] == [2, 1]
    assert [opened(captured, number).info.requires_grad for number in (0, 1)] == [True, False]


def test_where_a_copy_of_the_scripts_process_dies_the_script_runs_again(write: Write, run: Run) -> None:
    """As with libraries whose threads are not in the copy: what waits for them may abort."""
    fragile = """
    import os

    process = os.getpid()

    class Fragile(Net):
        def forward(self, x):
            if os.getpid() != process:
                os.abort()
            return super().forward(x)

    torch.compile(Fragile(), backend="eager")(x)
    """
    trace = opened(run(write(NET + fragile))).trace({})
    assert trace.failure is None
    assert [question.expression for question in trace.questions] == ["x.sum() > 0"]
