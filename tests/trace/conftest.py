"""Writes a small program and opens it in the shared worker."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.trace.session import Session
from ddelint.trace.worker_process import Worker

Write = Callable[..., Path]
Open = Callable[..., Session]
Fail = Callable[..., EntryFailure]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(text, name="model.py")` gives the path of a new file; `import torch` stands in front of the text."""

    def write_file(text: str, name: str = "model.py", *, torch: bool = True) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(("import torch\n" if torch else "") + textwrap.dedent(text))
        return path

    return write_file


@pytest.fixture
def attempt(worker: Worker) -> Iterator[Callable[..., Session | EntryFailure]]:
    """`attempt(path, paths=…, entry=…, **session options)` opens a session, which is closed after the test."""
    with contextlib.ExitStack() as stack:

        def open_path(path: Path, *, paths: tuple[Path, ...] | None = None, **given: Any) -> Session | EntryFailure:
            spec_keys = ("entry", "inputs_filename", "inputs", "init_filename", "init")
            spec = EntrySpec(str(path), **{key: given.pop(key) for key in spec_keys if key in given})
            ours = tuple(map(str, paths if paths is not None else (path,)))
            opened = worker.open(SessionOptions(entry=spec, paths=ours, **{"timeout": 60.0, **given}))
            if isinstance(opened, Session):
                stack.callback(opened.close)
            return opened

        yield open_path


@pytest.fixture
def opened(attempt: Callable[..., Session | EntryFailure]) -> Open:
    """As `attempt`, where a session is expected."""

    def open_path(path: Path, **given: Any) -> Session:
        result = attempt(path, **given)
        assert isinstance(result, Session), result
        return result

    return open_path


@pytest.fixture
def refused(attempt: Callable[..., Session | EntryFailure]) -> Fail:
    """As `attempt`, where a failure is expected."""

    def open_path(path: Path, **given: Any) -> EntryFailure:
        result = attempt(path, **given)
        assert isinstance(result, EntryFailure), result.info
        return result

    return open_path


@pytest.fixture
def clean_imports(tmp_path: Path) -> Iterator[None]:
    """What a test imports from its own folder, puts on the path or overlays is gone after it."""
    from ddelint.trace import overlay

    modules, path, finders, lines = dict(sys.modules), list(sys.path), list(sys.meta_path), dict(linecache.cache)
    yield
    for name, module in list(sys.modules.items()):
        if name not in modules and str(tmp_path) in str(getattr(module, "__file__", "")):
            del sys.modules[name]
    sys.modules.update(modules)
    sys.path[:], sys.meta_path[:] = path, finders
    linecache.cache.clear()
    linecache.cache.update(lines)
    overlay._texts.clear()
    importlib.invalidate_caches()
