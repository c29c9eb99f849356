"""What a worker answered about an entry, kept from call to call: verdicts by request, inputs and versions.

An answer is a function of the request, of the entry's options, and of what the entry's process read: that it says
itself (see `trace.reads`). It is used again where all of this is what it was: the user's files by content, what is
installed by size and time, folders by the names in them, Python, ddelint's own code, the environment, the machine and
its devices. What talked to something outside of this machine's files, ran out of time or memory, or measures time is
not kept. Texts of programs are kept as digests only; answers hold what a report shows.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import Any

from ddelint.knowledge.cache import Cache, Content
from ddelint.nouns.protocol import UNFINISHED, SessionOptions
from ddelint.nouns.wire import to_wire
from ddelint.system.files import read_regular
from ddelint.trace.versions import environment, own_code, stamp

Reply = Mapping[str, Any]
KEPT = ("open", "types", "trace", "compare", "compile", "gpu", "contract", "declared", "try_spec")
"""Requests whose answers do not depend on how fast the machine is."""
_OWN_FAULT = "raised", "missing", "bad-inputs"
"""Failures that the program itself is the reason of."""
_MOST = 12
"""States of one file's entries that are kept: one for each entry and what the files were."""
_LARGEST = 2**24
"""Bytes: of a larger file, its size and time count in place of its content."""
_DEVICES, _DRIVER = "/dev", "/proc/driver/nvidia/version"
_PARTS = ("own", "installed", "sources", "packages", "folders", "beside", "outside")
_SAME = b""
"""What is kept of a file lies under one name whatever it holds: `rests on` says what must be as it was."""


class Verdicts:
    """The answers about one entry under one set of options."""

    def __init__(self, cache: Cache, options: SessionOptions, python: str | None) -> None:
        """What `cache` holds of the entry, and is still so; `python`: the worker's interpreter (None: this one)."""
        self._cache = cache
        self._path = options.entry.filename
        self._began = time.time_ns()
        self._key = _key(options, python or sys.executable)
        self._states = _well_formed(cache.get(self._path, None, _SAME))
        self._reads: dict[str, list[str]] = {part: [] for part in _PARTS}
        self._replies: dict[str, Reply] = {}
        self._has_news = False
        for state in self._states:
            if state["key"] == self._key and _state_of(state["reads"]) == state["rests on"]:
                self._reads, self._replies = state["reads"], state["replies"]
                break

    @property
    def holds_entry(self) -> bool:
        """Whether it is known what the entry is: a session need not load it to begin."""
        return _digest(b"open") in self._replies

    def known(self, method: str, line: bytes) -> Reply | None:
        """The answer to a request, as it was given; None where it was not, or cannot be relied on."""
        return self._replies.get(_digest(b"open" if method == "open" else line))

    def learn(self, method: str, line: bytes, reply: Reply) -> None:
        """Remember an answer, if it is one that would be given again."""
        self._add(reply.get("reads", {}))
        if method in KEPT and _is_lasting(reply):
            kept = {name: reply[name] for name in ("result", "failure", "reloading") if name in reply}
            self._replies[_digest(b"open" if method == "open" else line)] = kept
            self._has_news = True

    def forget(self) -> None:
        """Nothing that is known holds any more."""
        self._replies.clear()
        self._has_news = True

    def save(self) -> None:
        """Write what is new; nothing where a file was changed meanwhile, so that nobody knows which text was run."""
        if not self._has_news or self._reads["outside"] or not self._is_untouched():
            return
        self._has_news = False
        rests_on = _state_of(self._reads)
        others = [
            state
            for state in self._states
            if state["replies"] is not self._replies and (state["key"], state["rests on"]) != (self._key, rests_on)
        ]
        mine = {"key": self._key, "rests on": rests_on, "reads": self._reads, "replies": self._replies}
        self._states = [mine, *others][:_MOST]
        self._cache.put(self._path, Content(hashlib.blake2b(_SAME, digest_size=16).hexdigest(), None), self._states)
        self._cache.save()

    def _add(self, reads: Mapping[str, Any]) -> None:
        for part, names in reads.items():
            new = set(names) - set(self._reads[part])
            if new:
                self._reads[part] = sorted({*self._reads[part], *new})
                self._has_news = True

    def _is_untouched(self) -> bool:
        """Whether every file of the user's is older than this."""
        for path in self._reads["own"]:
            with suppress(OSError):
                if os.stat(path).st_mtime_ns >= self._began:
                    return False
        return True


def verdicts_of(entry: str, cache_folder: str, options: SessionOptions, python: str | None) -> Verdicts:
    """What the cache in a folder knows of the entry in the file `entry`."""
    salt = f"verdicts of {os.path.basename(entry)}, made by {own_code()}"
    return Verdicts(Cache(cache_folder, salt), options, python)


def _well_formed(stored: object) -> list[dict[str, Any]]:
    """What is one of our states, of what a file of the cache holds."""
    return [
        state
        for state in (stored if isinstance(stored, list) else ())
        if isinstance(state, dict)
        and isinstance(state.get("replies"), dict)
        and isinstance(state.get("reads"), dict)
        and {"key", "rests on"} <= state.keys()
        and all(isinstance(state["reads"].get(part), list) for part in _PARTS)
    ]


def _is_lasting(reply: Reply) -> bool:
    if reply.get("died") or reply.get("hurried"):
        return False
    failure = reply.get("failure") or (reply.get("result") or {}).get("failure")
    if failure:
        return failure["kind"] in _OWN_FAULT
    result = reply["result"]
    errors = [target.get("error", "") for target in result.get("results", ())]
    return not any(error.startswith(UNFINISHED) for error in errors)


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _key(options: SessionOptions, python: str) -> str:
    """What an answer depends on besides the request and files."""
    settings = to_wire(options)
    del settings["jobs"]
    with suppress(OSError):
        settings["interpreter"] = stamp(os.path.realpath(python))
    driver = b""
    with suppress(OSError):
        driver = Path(_DRIVER).read_bytes()
    devices: list[str] = []
    with suppress(OSError):
        devices = sorted(name for name in os.listdir(_DEVICES) if name.startswith(("nvidia", "kfd", "dri")))
    system = [*os.uname(), os.cpu_count(), devices, driver.decode(errors="replace")]
    return _digest(dumps([settings, os.path.abspath(python), environment(), os.getcwd(), system]).encode())


def _state_of(reads: Mapping[str, list[str]]) -> str:
    """Changes with whatever an answer rests on."""
    state = hashlib.blake2b(digest_size=16)
    for part in _PARTS:
        for name in reads[part]:
            state.update(f"{part} {name} ".encode(errors="surrogateescape"))
            state.update(_part_of(part, name))
            state.update(b"\n")
    return state.hexdigest()


def _part_of(part: str, name: str) -> bytes:
    try:
        match part:
            case "own":
                if os.stat(name).st_size <= _LARGEST:
                    return hashlib.blake2b(read_regular(name, _LARGEST), digest_size=16).digest()
                return stamp(name).encode()
            case "installed" | "packages":
                return stamp(name).encode()
            case "sources":
                return dumps(sorted(_importable(name))).encode()
            case "folders":
                return dumps(sorted(os.listdir(name))).encode()
            case "beside":
                return dumps(sorted(_data_in(name))).encode()
    except OSError as error:
        return str(error.errno).encode()
    return b""


def _importable(folder: str) -> Iterator[str]:
    """The names in a folder of `sys.path` that an import may find: a new one may stand before an old one."""
    for name in os.listdir(folder):
        stem, end = os.path.splitext(name)
        if end in (".py", ".so", ".pyd") or (not end and stem.isidentifier() and stem != "__pycache__"):
            yield name


def _data_in(folder: str) -> Iterator[tuple[str, str]]:
    """Files that lie beside those that were read, which a library may have read without Python's knowing."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_file() and not entry.name.startswith(".") and not entry.name.endswith(".py"):
                yield entry.name, stamp(entry.path)
