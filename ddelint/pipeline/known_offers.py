"""Fixes that the text alone supports, kept from call to call: working one out loads libcst and every move.

A fix is used again for the same finding in the same text, where the other files that its check read are what they were,
the same functions count as compiled, and neither the code that rewrites nor how long lines may be has changed.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from typing import Any

from ddelint.knowledge.cache import content_of, stamp_of, stamps
from ddelint.nouns.diagnostics import Diagnostic, Fix
from ddelint.nouns.wire import from_wire, to_wire
from ddelint.pipeline.caches import Caches
from ddelint.pipeline.gathering import Run
from ddelint.pipeline.static_fixing import offered
from ddelint.rewrite.writing.style import longest_line
from ddelint.sources.source import SourceFile


def offered_or_known(findings: Sequence[Diagnostic], run: Run) -> list[Diagnostic]:
    """The findings with the fixes that `offered` gives them, in the same order."""
    caches = run.caches
    if caches is None or not run.options.cache:
        return offered(findings, run.sources, run)
    by_file: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        by_file.setdefault(finding.span.filename, []).append(finding)
    done: dict[int, Diagnostic] = {}
    for filename, group in by_file.items():
        source = run.sources.get(filename)
        found = _of_file(source, group, caches, run) if source is not None else group
        done |= zip(map(id, group), found, strict=True)
    caches.save()
    return [done[id(finding)] for finding in findings]


def _of_file(source: SourceFile, findings: Sequence[Diagnostic], caches: Caches, run: Run) -> list[Diagnostic]:
    kept, data = caches.offers(source.filename), source.encode()
    made_by = _made_by(source.filename, run)
    known = _still_true(kept.get(source.filename, None, data), made_by, caches)
    fixes: dict[str, Any] = dict(known["fixes"])
    keys = [_key(finding) for finding in findings]
    missing = [finding for finding, key in zip(findings, keys, strict=True) if key not in fixes]
    if missing:
        consulted: dict[str, str | None] = dict(known["consulted"])
        for finding in offered(missing, run.sources, run, consulted):
            fixes[_key(replace(finding, fix=None))] = to_wire(finding.fix)
        value = {"made by": made_by, "consulted": consulted, "fixes": fixes}
        kept.put(source.filename, content_of(data, None), value)
    return [
        replace(finding, fix=from_wire(Fix, fixes[key]) if fixes[key] is not None else None)
        for finding, key in zip(findings, keys, strict=True)
    ]


def _still_true(value: Any, made_by: str, caches: Caches) -> Mapping[str, Any]:
    """What was stored for a text, where all that it rests on is as it was; else that nothing is known."""
    try:
        if value["made by"] == made_by and caches.are_as_they_were(value["consulted"]):
            return {"consulted": dict(value["consulted"]), "fixes": dict(value["fixes"])}
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    return {"consulted": {}, "fixes": {}}


def _key(finding: Diagnostic) -> str:
    return _digest(to_wire(finding))


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


def _digest(value: Iterable[Any]) -> str:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).hexdigest()
