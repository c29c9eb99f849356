"""What the server does with a check, without a process of its own: cancelling, failing, finding the entry."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("pygls", reason="the extra `server` is not installed")

from lsprotocol import types

from ddelint.errors import DdelintError
from ddelint.nouns.diagnostics import Span
from ddelint.server import checks, language_server
from ddelint.server.checks import Cancelled, Checked, check_text, trace_file
from ddelint.server.language_server import make_server
from ddelint.server.messages import Document
from ddelint.server.positions import overlap, position, range_of
from ddelint.settings import config

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
    span = range_of(Span("f", 1, 1, 2, 1), lines, encoding)
    assert (span.start, span.end) == (types.Position(0, 0), types.Position(1, 0))


def test_a_cursor_at_the_end_of_a_range_is_at_it() -> None:
    def spot(column: int) -> types.Range:
        return types.Range(types.Position(0, column), types.Position(0, column))

    word = types.Range(types.Position(0, 2), types.Position(0, 5))
    assert [overlap(word, spot(column)) for column in (1, 2, 5, 6)] == [False, True, True, False]


@pytest.mark.slow
def test_a_trace_that_nobody_waits_for_ends_before_its_next_step(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("import torch\n\ndef fn(x):\n    return x\n\ndef make_inputs(seed):\n    return (torch.ones(2),)\n")
    cancelled = threading.Event()
    cancelled.set()
    told: list[str] = []
    known: list[Checked] = []
    with pytest.raises(Cancelled):
        trace_file(path, path.read_text(), 1, told.append, known.append, cancelled)
    assert told == []
    assert known == []


MODELS = """import torch


class A(torch.nn.Module):
    def forward(self, x):
        return x


class B(torch.nn.Module):
    def forward(self, x):
        return x
"""


@pytest.mark.parametrize(
    ("configured", "row", "entries"),
    [
        ("", 10, ["{here}:B"]),
        ('[entries.o]\nentry = "other.py:f"\n', 10, ["{here}:B"]),
        ('[entries.a]\nentry = "model.py:A"\n[entries.b]\nentry = "model.py:B"\n', 10, ["{folder}/model.py:B"]),
        ('[entries.a]\nentry = "model.py:A"\n[entries.o]\nentry = "other.py:f"\n', 10, ["{folder}/model.py:A"]),
    ],
    ids=["nothing configured", "of another file", "of this definition", "of another definition"],
)
def test_which_entry_a_cursor_means(tmp_path: Path, configured: str, row: int, entries: list[str]) -> None:
    (tmp_path / "ddelint.toml").write_text(configured)
    path = tmp_path / "model.py"
    path.write_text(MODELS)
    options = config.resolve(config.discover(tmp_path), {})
    found = checks._about_entry_at(path, MODELS, row, options)
    named = [entry.entry for entry in (*found.entries, found.entry) if entry is not None]
    assert named == [entry.format(here=path, folder=tmp_path) for entry in entries]


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("        if x.sum() > 0:\n            return 1\n", True),
        ("        if x.sum() > 0 and \\\n  True:\n            return 1\n", False),
    ],
    ids=["a line", "a line that goes on behind a backslash"],
)  # fmt: skip
def test_a_comment_is_offered_where_it_can_stand(tmp_path: Path, text: str, offered: bool) -> None:
    text = "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n" + text
    path = tmp_path / "model.py"
    path.write_text(text)
    document = Document(path.as_uri(), check_text(path, text), "utf-16")
    (shown, *_) = document.diagnostics()
    titles = [action.title for action in document.actions(shown.range, [])]
    assert any("ignore it on this line" in title for title in titles) is offered


def test_the_end_of_the_server_ends_its_traces() -> None:
    server = make_server()
    waiting = server._traces["file:///model.py"] = threading.Event()
    server.protocol.fm.features[types.SHUTDOWN](None)
    assert waiting.is_set()


def test_a_byte_order_mark_is_not_shown_by_an_editor(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert language_server._holds(path, "x = 1\r\n")
    assert not language_server._holds(path, "x = 2\r\n")
    assert not language_server._holds(tmp_path / "nothing.py", "")


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
