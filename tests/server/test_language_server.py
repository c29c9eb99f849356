"""The language server, asked by pygls' own client over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls", reason="the extra `server` is not installed")

from lsprotocol import types
from pygls import uris
from pygls.lsp.client import LanguageClient

from ddelint.version import VERSION

MODEL = """import torch
from torch.fx.experimental.symbolic_shapes import guard_size_oblivious


class Model(torch.nn.Module):
    def forward(self, x):
        n = x.sum().item()
        word = "🐍" if n > 4 else ""
        if guard_size_oblivious(x.shape[0] == 1):
            return x.squeeze(0)
        return -x, word
"""
SECONDS = 120.0
"""After which a test that still waits fails."""


class Editor(LanguageClient):
    """A client that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__("editor-of-a-test", "1")
        self.published: asyncio.Queue[types.PublishDiagnosticsParams | Exception] = asyncio.Queue()
        self.messages: asyncio.Queue[str] = asyncio.Queue()

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.put_nowait(params)

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.messages.put_nowait(params.message)

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            if "a bug in ddelint" in params.message:
                self.published.put_nowait(RuntimeError(params.message))

    def open(self, uri: str, text: str) -> None:
        self.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, text)))

    def change(self, uri: str, version: int, text: str) -> None:
        whole = types.TextDocumentContentChangeWholeDocument(text)
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, [whole]))

    def save(self, uri: str) -> None:
        self.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def found(self) -> types.PublishDiagnosticsParams:
        got = await asyncio.wait_for(self.published.get(), SECONDS)
        if isinstance(got, Exception):
            raise got
        return got

    async def message(self) -> str:
        return await asyncio.wait_for(self.messages.get(), SECONDS)

    async def actions(self, uri: str, where: types.Range, only: str) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=[only])
        answer = await self.text_document_code_action_async(
            types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        )
        return [action for action in answer or [] if isinstance(action, types.CodeAction)]

    async def hover(self, uri: str, at: types.Position) -> str:
        answer = await self.text_document_hover_async(types.HoverParams(types.TextDocumentIdentifier(uri), at))
        return "" if answer is None else str(getattr(answer.contents, "value", ""))


@asynccontextmanager
async def editor(folder: Path, **options: Any) -> AsyncIterator[Editor]:
    client = Editor()
    await client.start_io(sys.executable, "-m", "ddelint", "server", cwd=folder)
    try:
        answer = await client.initialize_async(
            types.InitializeParams(types.ClientCapabilities(), root_uri=folder.as_uri(), initialization_options=options)
        )
        assert answer.server_info == types.ServerInfo("ddelint", VERSION)
        client.initialized(types.InitializedParams())
        yield client
        await client.shutdown_async(None)
        client.exit(None)
    except BaseException:
        assert client._server is not None
        client._server.kill()
        raise
    finally:
        await client.stop()


def session(folder: Path, work: Callable[[Editor], Awaitable[None]], **options: Any) -> None:
    """Run `work` with an editor that has a server."""

    async def run() -> None:
        async with editor(folder, **options) as client:
            await work(client)

    asyncio.run(asyncio.wait_for(run(), SECONDS))


def document(folder: Path, name: str, text: str | None = None) -> str:
    """The address of a file, which holds a text or is not there."""
    path = folder / name
    if text is not None:
        path.write_text(text)
    uri = uris.from_fs_path(str(path))
    assert uri is not None
    return uri


def after(text: str, uri: str, action: types.CodeAction) -> str:
    """The text that a code action makes."""
    assert action.edit is not None
    assert action.edit.changes is not None
    lines = text.splitlines(keepends=True)

    def offset(at: types.Position) -> int:
        units = lines[at.line].encode("utf-16-le") if at.line < len(lines) else b""
        return sum(map(len, lines[: at.line])) + len(units[: 2 * at.character].decode("utf-16-le"))

    for edit in sorted(action.edit.changes[uri], key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_findings_are_published_fixed_and_explained(tmp_path: Path) -> None:
    uri = document(tmp_path, "model.py", MODEL)

    async def work(client: Editor) -> None:
        client.open(uri, MODEL)
        published = await client.found()
        assert [d.code for d in published.diagnostics] == ["DDE101", "DDE602"]
        question, retired = published.diagnostics
        # the snake before the question takes two units
        assert (question.range.start, question.range.end) == (types.Position(7, 23), types.Position(7, 28))
        assert question.severity is types.DiagnosticSeverity.Error
        assert question.code_description is not None
        assert question.code_description.href.endswith("/rules/DDE101/")
        assert question.related_information is not None
        assert question.related_information[0].location.range.start == types.Position(6, 12)

        fix, ignore = await client.actions(uri, retired.range, "quickfix")
        assert not fix.is_preferred
        assert "if guard_or_false(x.shape[0] == 1):" in after(MODEL, uri, fix)
        ignored = after(MODEL, uri, ignore)
        assert "if guard_size_oblivious(x.shape[0] == 1):  # ddelint: ignore[DDE602]\n" in ignored

        assert "# DDE101 branch-on-value" in await client.hover(uri, types.Position(7, 24))
        assert await client.hover(uri, types.Position(0, 0)) == ""

        client.change(uri, 2, ignored)
        assert [d.code for d in (await client.found()).diagnostics] == ["DDE101"]
        assert "# DDE602" in await client.hover(uri, types.Position(8, 74))
        client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        assert not (await client.found()).diagnostics

    session(tmp_path, work)


RULE = """
code = "ACME001"
name = "host-copy"
message = "`{expression}` copies to the host"

[flags]
calls = ["acme.to_host"]

[replacement]
calls = { "acme.to_host" = "acme.later" }
applicability = "safe"
"""
CALLING = "import acme\nimport torch\n\n\n@torch.compile\ndef f(x):\n    return acme.to_host(x), acme.to_host(-x)\n"


def test_what_is_safe_is_preferred_and_fixed_all_at_once(tmp_path: Path) -> None:
    uri = document(tmp_path, "model.py", CALLING)
    (tmp_path / "acme.toml").write_text(RULE)
    (tmp_path / "ddelint.toml").write_text('extend-rules = ["acme.toml"]\n')

    async def work(client: Editor) -> None:
        client.open(uri, CALLING)
        first, _ = (await client.found()).diagnostics
        fix, *_ = await client.actions(uri, first.range, "quickfix")
        assert fix.is_preferred
        assert after(CALLING, uri, fix) == CALLING.replace("acme.to_host(x)", "acme.later(x)")
        (whole,) = await client.actions(uri, first.range, "source.fixAll")
        assert whole.kind == "source.fixAll.ddelint"
        assert after(CALLING, uri, whole) == CALLING.replace("to_host", "later")

    session(tmp_path, work)


def test_a_text_that_does_not_parse_and_a_bad_configuration_are_not_the_end(tmp_path: Path) -> None:
    uri = document(tmp_path, "model.py")

    async def work(client: Editor) -> None:
        client.open(uri, "import torch\n\ndef broken(:\n")
        assert [d.code for d in (await client.found()).diagnostics] == ["DDE001"]
        (tmp_path / "ddelint.toml").write_text("selct = []\n")
        client.change(uri, 2, MODEL)
        assert "unknown key `selct` (did you mean `select`?)" in await client.message()
        (tmp_path / "ddelint.toml").write_text("ignore = ['DDE6']\n")
        client.change(uri, 3, MODEL)
        assert [d.code for d in (await client.found()).diagnostics] == ["DDE101"]

    session(tmp_path, work)


def test_checks_wait_for_the_save_where_that_is_wanted(tmp_path: Path) -> None:
    uri = document(tmp_path, "model.py")

    async def work(client: Editor) -> None:
        client.open(uri, "x = 1\n")
        assert not (await client.found()).diagnostics
        client.change(uri, 2, "import torch\n")
        client.change(uri, 3, MODEL)
        client.save(uri)
        published = await client.found()
        assert (published.version, len(published.diagnostics)) == (3, 2)
        assert client.published.empty()

    session(tmp_path, work, onType=False)


ENTRY = """import torch


def special(x):
    if x.shape[0] == 1:
        return x * 2
    return x


def arguments():
    return (torch.ones(4),)
"""
CONFIGURATION = """
target = "export"
samples = 4

[entries.special]
entry = "entry.py:special"
inputs = "entry.py:arguments"
unbacked = "x.0"
"""


@pytest.mark.slow
def test_the_entry_under_the_cursor_is_traced(tmp_path: Path) -> None:
    uri = document(tmp_path, "entry.py", ENTRY)
    (tmp_path / "ddelint.toml").write_text(CONFIGURATION)

    async def work(client: Editor) -> None:
        client.open(uri, ENTRY)
        await client.found()
        asked = types.ExecuteCommandParams("ddelint.trace", [uri, 4])
        assert await client.workspace_execute_command_async(asked) == 1
        for _ in ("as soon as it is known", "with what came of it"):
            (finding,) = (await client.found()).diagnostics
            assert (finding.code, finding.range.start) == ("DDE402", types.Position(4, 7))
            assert finding.range.end == types.Position(4, 22)
        client.change(uri, 2, ENTRY + "\n")
        assert (await client.found()).version == 2
        assert await client.workspace_execute_command_async(asked) is None
        assert "save entry.py first" in await client.message()

    session(tmp_path, work)
