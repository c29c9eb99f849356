"""What the server does with a check, without a process of its own: cancelling, failing, finding the entry."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra `server` is not installed")

from lsprotocol import types

from ddelint.diagnostics import Span
from ddelint.errors import DdelintError
from ddelint.server.checks import Cancelled, check_text, trace_file
from ddelint.server.language_server import make_server
from ddelint.server.positions import overlap, place, position, range_of

TEXT = """def helper(x):
    return x


class Model:
    def forward(self, x):
        return helper(x)
"""


@pytest.mark.parametrize(("encoding", "columns"), [("utf-8", 6), ("utf-16", 4), ("utf-32", 3)])
def test_columns_are_counted_as_the_editor_does(encoding: str, columns: int) -> None:
    lines = ["a\U0001f40db = 1\n"]
    assert position(lines, 1, 4, encoding) == types.Position(0, columns)
    assert place(types.Position(0, columns), lines, encoding) == (1, 4)
    span = range_of(Span("f", 1, 1, 2, 1), lines, encoding)
    assert (span.start, span.end) == (types.Position(0, 0), types.Position(1, 0))


def test_a_cursor_at_the_end_of_a_range_is_at_it() -> None:
    def spot(column: int) -> types.Range:
        return types.Range(types.Position(0, column), types.Position(0, column))

    word = types.Range(types.Position(0, 2), types.Position(0, 5))
    assert [overlap(word, spot(column)) for column in (1, 2, 5, 6)] == [False, True, True, False]


def test_a_trace_that_nobody_waits_for_ends_before_its_next_step(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n\ndef fn(x):\n    return x\n\ndef make_inputs(seed):\n    return (torch.ones(2),)\n")
    cancelled = threading.Event()
    cancelled.set()
    told: list[str] = []
    with pytest.raises(Cancelled):
        trace_file(path, path.read_text(), 1, told.append, cancelled)
    assert told == []


def test_a_file_that_is_excluded_has_no_findings(tmp_path: Path) -> None:
    path = tmp_path / "generated.py"
    path.write_text("import torch\n")
    text = "import torch\n\ndef broken(:\n"
    assert [found.code for found in check_text(path, text).diagnostics] == ["DDE001"]
    (tmp_path / "ddelint.toml").write_text("exclude = ['generated.py']\n")
    assert check_text(path, text).diagnostics == ()


def test_a_crash_is_logged_and_a_mistake_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    server = make_server()
    logged: list[str] = []
    shown: list[str] = []
    server.window_log_message = lambda params: logged.append(params.message)  # type: ignore[method-assign]
    server.window_show_message = lambda params: shown.append(params.message)  # type: ignore[method-assign]

    def crash() -> int:
        raise ZeroDivisionError("of ours")

    def refuse() -> int:
        raise DdelintError("a bad configuration")

    async def work() -> None:
        with ThreadPoolExecutor(1) as pool:
            assert await server._done(pool, crash) is None
            assert await server._done(pool, refuse) is None
            assert await server._done(pool, refuse) is None
            assert await server._done(pool, lambda: 3) == 3

    asyncio.run(work())
    assert "ZeroDivisionError: of ours (a bug in ddelint)" in logged[0]
    assert shown == ["ddelint: a bad configuration"]
    assert "ZeroDivisionError" in capsys.readouterr().err
