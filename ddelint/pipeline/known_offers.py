"""Fixes that are found by reading, kept from call to call: working one out loads libcst and every move.

A fix is used again for the same finding in the same text, where the other files that its check read are what they were,
the same functions count as compiled, and neither the code that rewrites nor how long lines may be has changed. So is
what the static pass finds in the text that the fixes make of a file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from ddelint.knowledge.cache import content_of, stamp_of, stamps
from ddelint.nouns.diagnostics import Diagnostic, Fix
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.pipeline.caches import Caches
from ddelint.pipeline.gathering import Run, static_findings, static_reading
from ddelint.pipeline.offering import offered
from ddelint.rewrite.writing.style import longest_line
from ddelint.sources.source import SourceFile


def offers_of(findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile], run: Run) -> list[Diagnostic]:
    """The findings with the fixes that `offered` gives them, in the same order."""
    caches = _caches(run)
    if caches is None:
        return offered(findings, sources, run)
    by_file: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        by_file.setdefault(finding.span.filename, []).append(finding)
    done: dict[int, Diagnostic] = {}
    for filename, group in by_file.items():
        kept = _Kept(filename, run, caches) if filename in run.sources else None
        found = kept.offers(group, sources) if kept is not None else group
        done |= zip(map(id, group), found, strict=True)
    caches.save()
    return [done[id(finding)] for finding in findings]


def findings_of(source: SourceFile, run: Run) -> Sequence[Diagnostic]:
    """What the static pass says of a text that fixes have made of a file of the call."""
    caches = _caches(run)
    if caches is None or source.filename not in run.sources:
        return static_findings(source, run)
    found = _Kept(source.filename, run, caches).findings(source)
    caches.save()
    return found


def _caches(run: Run) -> Caches | None:
    return run.caches if run.options.cache else None


class _Kept:
    """What is kept beside one file: fixes, by text and finding, and findings in texts that fixes have made of it."""

    def __init__(self, filename: str, run: Run, caches: Caches) -> None:
        self._filename, self._run, self._caches = filename, run, caches
        self._data = run.sources[filename].encode()
        self._made_by = _made_by(filename, run)
        stored = caches.offers(filename).get(filename, None, self._data)
        self._known = _still_true(stored, self._made_by, caches)

    def offers(self, findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile]) -> list[Diagnostic]:
        """The findings, in the file's text among `sources`, with their fixes."""
        text, fixes = _digest(sources[self._filename].text), self._known["fixes"]
        keys = [_digest([text, to_wire(finding)]) for finding in findings]
        missing = {key: finding for key, finding in zip(keys, findings, strict=True) if key not in fixes}
        if missing:
            found = offered(list(missing.values()), sources, self._run, self._known["consulted"])
            fixes |= {key: to_wire(finding.fix) for key, finding in zip(missing, found, strict=True)}
            self._store()
        known = [from_wire(Fix, fixes[key]) if fixes[key] is not None else None for key in keys]
        return [replace(finding, fix=fix) for finding, fix in zip(findings, known, strict=True)]

    def findings(self, source: SourceFile) -> Sequence[Diagnostic]:
        """What the static pass says of the text."""
        text, texts = _digest(source.text), self._known["texts"]
        if text not in texts:
            reading = static_reading(source.filename, source.encode(), self._run)
            self._known["consulted"] |= reading.consulted
            texts[text] = to_wire(reading.findings)
            self._store()
        return [from_wire(Diagnostic, found) for found in texts[text]]

    def _store(self) -> None:
        value = {"made by": self._made_by, **self._known}
        self._caches.offers(self._filename).put(self._filename, content_of(self._data, None), value)


def _still_true(value: Any, made_by: str, caches: Caches) -> dict[str, dict[str, Any]]:
    """What was stored for a file, where all that it rests on is as it was; else that nothing is known."""
    names = ("fixes", "texts", "consulted")
    try:
        if value["made by"] == made_by and caches.are_as_they_were(value["consulted"]):
            return {name: dict(value[name]) for name in names}
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    return {name: {} for name in names}


def _made_by(filename: str, run: Run) -> str:
    """What fixes depend on beside the text, the finding and the files that were consulted."""
    return _digest([run.compiled.get(filename, ()), longest_line(filename), _rewriting()])


@cache
def _rewriting() -> str:
    """Changes when the code that rewrites does: ours, and libcst's, which is found without being loaded."""
    package = os.path.dirname(os.path.dirname(__file__))
    folders = [os.path.join(package, "pipeline"), *(where for where, *_ in os.walk(os.path.join(package, "rewrite")))]
    libcst = find_spec("libcst")
    origin = libcst.origin if libcst is not None else None
    return _digest([sorted(stamps(folders)), origin, stamp_of(origin) if origin is not None else None])


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()
