"""The server itself: which message leads to which check, and what is shown of it.

Checks run in threads, one for the static pass and one for each trace. An error in one is logged and leaves the server,
and what it had said before, as they are.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import traceback
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer

from ddelint.errors import DdelintError
from ddelint.server.checks import Cancelled, Checked, check_text, entries_in, trace_file
from ddelint.server.entry_points import TRACE, EntryPoint, actions, lenses
from ddelint.server.messages import FIX_ALL, Document, wants
from ddelint.server.positions import UTF16
from ddelint.sources.source import SourceError, SourceFile
from ddelint.version import VERSION

PREVIEW = "ddelint.fixed"
PAUSE = 0.25
"""Seconds without a key stroke before a changed text is checked."""
Result = TypeVar("Result")


class Server(LanguageServer):
    """The documents that are open, what was found in each, and the traces that run."""

    def __init__(self, pause: float = PAUSE) -> None:
        super().__init__("ddelint", VERSION)
        self.documents: dict[str, Document] = {}
        self.on_type = True
        self._pause = pause
        self._waiting: dict[str, asyncio.Task[None]] = {}
        self._traces: dict[str, threading.Event] = {}
        self._pool = ThreadPoolExecutor(1, "ddelint-static")
        self._reported: str = ""

    # ---------------------------------------------------------------- the static pass

    def later(self, uri: str, *, pause: bool) -> None:
        """Check a document, once nobody has typed for a moment."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        self._waiting[uri] = asyncio.ensure_future(self._check(uri, self._pause if pause else 0))

    async def _check(self, uri: str, pause: float) -> None:
        await asyncio.sleep(pause)
        document = self.workspace.get_text_document(uri)
        text, version = document.source, document.version
        known = self.documents.get(uri)
        if known is not None and known.checked.traced and known.checked.text == text:
            return  # saved as it was traced: the trace knows more
        checked = await self._done(self._pool, lambda: check_text(path_of(uri), text))
        if checked is not None and self.workspace.get_text_document(uri).version == version:
            self.publish(uri, checked, version)

    def publish(self, uri: str, checked: Checked, version: int | None) -> None:
        """Report what was found."""
        document = self.documents[uri] = Document(uri, checked, self.encoding, confirms=self.confirms)
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, document.diagnostics(), version=version)
        )

    def forget(self, uri: str) -> None:
        """The document is closed."""
        waiting = self._waiting.pop(uri, None)
        if waiting is not None:
            waiting.cancel()
        if uri in self._traces:
            self._traces.pop(uri).set()
        self.documents.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def end_traces(self) -> None:
        """Nobody waits for what is being traced."""
        for cancelled in self._traces.values():
            cancelled.set()

    def entry_points(self, uri: str) -> list[EntryPoint]:
        """What of a document can be traced; nothing where the configuration is wrong, which a check reports."""
        try:
            return entries_in(path_of(uri), self.workspace.get_text_document(uri).source)
        except DdelintError:
            return []

    @property
    def confirms(self) -> bool:
        """Whether the editor shows an edit before it is made, where asked to."""
        workspace = self.client_capabilities.workspace
        edits = workspace.workspace_edit if workspace is not None else None
        return bool(edits is not None and edits.document_changes and edits.change_annotation_support)

    @property
    def encoding(self) -> str:
        """How the editor counts columns."""
        return types.PositionEncodingKind(self.workspace.position_encoding or UTF16).value

    # ---------------------------------------------------------------- the trace

    async def trace(self, uri: str, line: int) -> int | None:
        """Trace the entry at a line (from 0) and publish what it finds; gives how many findings the file has."""
        path = path_of(uri)
        document = self.workspace.get_text_document(uri)
        text, version = document.source, document.version
        if not _holds(path, text):
            self.say(f"save {path.name} first: a trace runs the file on disk", types.MessageType.Warning)
            return None
        if uri in self._traces:
            self._traces[uri].set()
        cancelled = self._traces[uri] = threading.Event()
        pool = ThreadPoolExecutor(1, "ddelint-trace")
        show_stage: Callable[[str], None] = _silent
        loop = asyncio.get_running_loop()

        def publish_early(known: Checked) -> None:
            if self._traces.get(uri) is cancelled and self.workspace.get_text_document(uri).version == version:
                self.publish(uri, known, version)

        def found(known: Checked) -> None:
            loop.call_soon_threadsafe(publish_early, known)

        try:
            show_stage = await self._reported_progress(f"ddelint traces {path.name}", cancelled)
            checked = await self._done(pool, lambda: trace_file(path, text, line + 1, show_stage, found, cancelled))
        except asyncio.CancelledError:
            cancelled.set()
            raise
        finally:
            pool.shutdown(wait=False)
            show_stage("")
            if self._traces.get(uri) is cancelled:
                del self._traces[uri]
        if checked is None or cancelled.is_set():
            return None
        if self.workspace.get_text_document(uri).version != version:
            self.say(f"{path.name} was changed while it was traced: trace it again", types.MessageType.Warning)
            return None
        self.publish(uri, checked, version)
        entries = ", ".join(checked.report.entries) or "nothing"
        self.log(f"traced {entries}: {len(checked.diagnostics)} findings in {path.name}")
        return len(checked.diagnostics)

    async def _reported_progress(self, title: str, cancelled: threading.Event) -> Callable[[str], None]:
        """What hears of the stages of a trace; an empty one ends it. The editor's bar can cancel it."""
        window = self.client_capabilities.window
        if window is None or not window.work_done_progress:
            return _silent
        token = str(uuid.uuid4())
        bar, loop = self.work_done_progress, asyncio.get_running_loop()
        await bar.create_async(token)
        bar.begin(token, types.WorkDoneProgressBegin(title, cancellable=True))
        bar.tokens[token].add_done_callback(lambda future: cancelled.set())

        def show(stage: str) -> None:
            if stage:
                loop.call_soon_threadsafe(bar.report, token, types.WorkDoneProgressReport(message=stage))
            else:
                bar.end(token, types.WorkDoneProgressEnd())

        return show

    # ---------------------------------------------------------------- errors

    async def _done(self, pool: ThreadPoolExecutor, work: Callable[[], Result]) -> Result | None:
        """What work in a thread gives; None where it failed, which is reported."""
        try:
            result = await asyncio.get_running_loop().run_in_executor(pool, work)
            self._reported = ""
            return result
        except Cancelled:
            return None
        except DdelintError as error:
            if str(error) != self._reported:  # a bad configuration is reported once, not with each key stroke
                self.say(str(error), types.MessageType.Error)
            self._reported = str(error)
        except Exception as error:  # a bug of ours must not end the server
            self.log(f"{type(error).__name__}: {error} (a bug in ddelint)\n{traceback.format_exc()}")
        return None

    def say(self, text: str, kind: types.MessageType) -> None:
        """A message for the person in front of the editor."""
        self.window_show_message(types.ShowMessageParams(kind, f"ddelint: {text}"))

    def log(self, text: str) -> None:
        """A line in the editor's log of the server, and on standard error."""
        print(text, file=sys.stderr)
        self.window_log_message(types.LogMessageParams(types.MessageType.Log, text))


def _silent(stage: str) -> None:
    """Hears of a stage, and does nothing."""


def _holds(path: Path, text: str) -> bool:
    """Whether the file is as the editor shows it, which hides a byte order mark."""
    try:
        return SourceFile.read(path).text == text
    except (OSError, SourceError):
        return False


def path_of(uri: str) -> Path:
    """The file of a document; one that was never saved stands in the working directory."""
    name = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return Path(name) if name else Path.cwd() / "untitled.py"


def make_server(pause: float = PAUSE) -> Server:
    """A server with its features registered."""
    server = Server(pause)

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        given: Any = params.initialization_options
        value = given.get("onType") if isinstance(given, dict) else getattr(given, "onType", None)
        server.on_type = value is not False

    @server.feature(types.SHUTDOWN)
    def ended(params: None) -> None:
        server.end_traces()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        server.later(params.text_document.uri, pause=False)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: types.DidChangeTextDocumentParams) -> None:
        if server.on_type:
            server.later(params.text_document.uri, pause=True)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        server.later(params.text_document.uri, pause=False)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        server.forget(params.text_document.uri)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, FIX_ALL]),
    )
    def code_actions(params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        document = _current(server, uri)
        only = [str(getattr(kind, "value", kind)) for kind in params.context.only or ()]
        found = document.actions(params.range, only) if document is not None else []
        if wants(only, types.CodeActionKind.QuickFix.value):
            found += actions(uri, server.entry_points(uri), params.range)
        return found

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    def code_lenses(params: types.CodeLensParams) -> list[types.CodeLens]:
        return lenses(params.text_document.uri, server.entry_points(params.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        document = _current(server, params.text_document.uri)
        return document.hover(params.position) if document is not None else None

    @server.command(PREVIEW)
    def fixed(uri: str) -> str | None:
        """The text after all safe fixes, for a preview; None where there is nothing to fix."""
        document = _current(server, uri)
        return document.checked.fixed if document is not None else None

    @server.command(TRACE)
    async def trace(uri: str, line: int = 0) -> int | None:
        return await server.trace(uri, line)

    return server


def _current(server: Server, uri: str) -> Document | None:
    """What is known of a document, unless it was changed since."""
    document = server.documents.get(uri)
    if document is None or server.workspace.get_text_document(uri).source != document.checked.text:
        return None
    return document


def serve() -> None:
    """Serve an editor over standard input and output. Whatever else is printed goes to standard error."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    make_server().start_io(stdout=stream)
