"""`--timings`: every request to the worker has a name, and the shares make the whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ddelint.nouns.timings import Timings, step_of


def test_each_step_is_a_row_in_the_order_of_its_first_call() -> None:
    timings = Timings()
    for name in ("tracing", "comparing", "tracing"):
        with timings.step(name):
            pass
    head, first, second, rest, whole = timings.lines()
    assert head.split() == ["time", "calls", "waited", "share", "CPU"]
    assert first.split()[:2] == ["tracing", "2"]
    assert second.split()[:2] == ["comparing", "1"]
    assert rest.startswith("reading, rewriting and everything else")
    assert whole.split()[0] == "all"


def test_what_nobody_waited_for_counts_as_the_workers_time() -> None:
    timings = Timings()
    with timings.step("tracing"):
        pass
    for seconds in (1.5, 2.0):
        timings.spent("tracing", seconds)
    assert timings.requests() == {"tracing": (2, 3.5)}
    assert timings.lines()[1].split()[:2] == ["tracing", "2"]
    assert [line.split()[-1] for line in timings.lines()[1:]] == ["3.5", "0.0", "3.5"]


def test_a_step_that_raises_counts() -> None:
    timings = Timings()
    with pytest.raises(KeyError), timings.step("tracing"):
        raise KeyError
    assert timings.lines()[1].split()[:2] == ["tracing", "1"]


@pytest.mark.parametrize(
    ("method", "arguments", "step"),
    [
        ("trace", {}, "tracing"),
        ("compare", {"quick": True}, "comparing in eager, a few inputs"),
        ("compare", {"quick": False}, "comparing in eager, all inputs"),
        ("compile", {"backend": "inductor"}, "verifying with Inductor"),
        ("compile", {"backend": "eager"}, "verifying with front ends alone"),
    ],
)
def test_what_a_request_is_for(method: str, arguments: dict[str, object], step: str) -> None:
    assert step_of(method, arguments) == step


@pytest.mark.slow
def test_a_traced_call_says_where_its_time_went(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "def forward(x):\n    return x * 2\n\n\ndef get_inputs():\n    import torch\n\n    return (torch.ones(2),)\n",
        "utf-8",
    )
    called = subprocess.run(
        [sys.executable, "-m", "ddelint", "check", str(program), "--entry", f"{program}:forward", "--timings"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert called.returncode == 0
    assert "importing torch" in called.stderr
    assert "tracing" in called.stderr
    assert "seconds" not in called.stdout
