"""Structured logs (TORCH_TRACE), as tlparse reads them: records of JSON with payloads indented below."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ddelint.explain import cleaning, partial_graphs, recompilations
from ddelint.explain.births import Birth
from ddelint.explain.frames import RawFrame
from ddelint.explain.occurrences import Occurrence, distinct, front_end, resolved
from ddelint.explain.occurrences import find as find_in_text
from ddelint.explain.ownership import blamed

_RECORD = re.compile(r"^[VIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ [^\s\]]+\] (?P<json>\{.*)$")
_RANGE = re.compile(r"\[(?P<lower>[^,\]]{0,300}), (?P<upper>[^\]]{0,300})\]")
_NAMES = ("*.log", "raw.log", "raw.jsonl")
_HEAD = 200
"""Lines among which a structured log shows itself."""
_QUESTIONS = {
    "propagate_real_tensors_provenance": "auto",
    "guard_on_data_dependent_error": "auto",
    "propagate_real_tensors": "auto",
    "guard_added": "guard",
}
"""Records that are questions by themselves, and their kind."""
_CODES = {
    "missing_fake_kernel": "DDE801",
    "mismatched_fake_kernel": "DDE802",
    "symbolic_shape_specialization": "DDE404",
}
_TELLING = ("dynamo_error", "graph_break", "export_fail", "fail", "error")
"""Parts of names of artifacts whose payload is an error's text."""


@dataclass
class _Log:
    """What one pass over a log keeps."""

    paths: tuple[str, ...]
    strings: dict[int, str] = field(default_factory=dict)
    births: dict[str, Birth] = field(default_factory=dict)
    found: list[Occurrence] = field(default_factory=list)


def is_structured(text: str) -> bool:
    """Whether a text is a structured log."""
    return any(_json(line) is not None for line in text[:200_000].split("\n")[:_HEAD])


def log_files(folder: Path) -> list[Path]:
    """The logs in a folder and those below it, by name."""
    found = {path for name in _NAMES for path in folder.rglob(name) if path.is_file()}
    return sorted(found)


def find(text: str, paths: Sequence[str]) -> list[Occurrence]:
    """Every error that a structured log reports."""
    log = _Log(tuple(paths))
    for row, record, payload in _records(text):
        _read(log, row, record, payload)
    return distinct(log.found)


def _records(text: str) -> Iterator[tuple[int, Mapping[str, Any], str]]:
    """(row, record, payload) of each record, in their order."""
    current: tuple[int, Mapping[str, Any]] | None = None
    payload: list[str] = []
    for row, line in enumerate(text.split("\n"), start=1):
        record = _json(line)
        if record is not None:
            if current is not None:
                yield (*current, "\n".join(payload))
            current, payload = (row, record), []
        elif current is not None and line.startswith("\t"):
            payload.append(line[1:])
    if current is not None:
        yield (*current, "\n".join(payload))


def _json(line: str) -> Mapping[str, Any] | None:
    match = _RECORD.match(line)
    body = match["json"] if match is not None else line if line.startswith('{"') else None
    if body is None:
        return None
    try:
        record = json.loads(body)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _read(log: _Log, row: int, record: Mapping[str, Any], payload: str) -> None:
    if isinstance(record.get("str"), list) and len(record["str"]) == 2:
        text, number = record["str"]
        log.strings[number] = text
        return
    for key, kind in _QUESTIONS.items():
        if isinstance(record.get(key), dict):
            _add(log, row, record[key], resolved(kind, str(record[key].get("expr", ""))), "")
    for key, code in _CODES.items():
        if isinstance(record.get(key), dict):
            _add(log, row, record[key], "", code, record.get("stack"))
    created = record.get("create_unbacked_symbol")
    if isinstance(created, dict):
        _born(log, row, created)
    artifact = record.get("artifact")
    name = str(artifact.get("name", "")) if isinstance(artifact, dict) else ""
    if payload and name == partial_graphs.ARTIFACT:
        question = partial_graphs.find(payload, row, log.paths)
        log.found += [replace(question, births=dict(log.births))] if question is not None else []
    elif payload and any(part in name for part in _TELLING):
        log.found += _of_payload(log, row, payload)
    elif payload and "recompile" in name:
        log.found += _of_reasons(log, row, payload)
    metrics = record.get("compilation_metrics")
    if isinstance(metrics, dict) and metrics.get("fail_reason"):
        log.found += _of_metrics(log, row, metrics)


def _add(log: _Log, row: int, data: Mapping[str, Any], kind: str, code: str, stack: Any = None) -> None:
    raw = str(data.get("expr", ""))
    frames = _frames(log, data.get("user_stack"))
    whole = _frames(log, data.get("stack") or stack)
    who = blamed(frames, log.paths, traced=True)
    if who is None:
        frames = whole
        who = blamed(frames, log.paths, traced=False)
    elif not any(frame.code for frame in frames):
        frames = [frame for frame in frames if frame.filename]
    groups: dict[str, str] = {}
    if code == "DDE404":
        sources = [str(source) for source in data.get("sources") or ()]
        if not sources or who is None or not who[1]:
            return  # a symbol of the framework's own
        groups = {"subject": sources[0], "answer": str(data.get("value", ""))}
    asks = front_end([*whole, *frames]) or ("export" if kind == "auto" else "")
    if kind == "guard" and (asks == "compile" or data.get("prefix", "eval") != "eval"):
        return  # what torch.compile lives by
    local = (data.get("frame_locals") or {}) if isinstance(data.get("frame_locals"), dict) else {}
    log.found.append(
        Occurrence(
            row=row,
            kind=kind,
            code=code,
            raw=raw,
            operator=str(data.get("op", "")),
            groups=groups,
            asks=(asks,) if asks else (),
            message=_sentence(data, raw),
            frames=tuple(frames),
            blamed=None if who is None else who[0],
            traced=who is None or who[1],
            names={**_sources(data.get("symbol_to_sources")), **_names(local)},
            births=dict(log.births),
        )
    )


def _sentence(data: Mapping[str, Any], raw: str) -> str:
    if data.get("reason"):
        return str(data["reason"])
    return f"{raw} was taken to be {data['result']}" if "result" in data else raw


def _names(frame_locals: Mapping[str, Any]) -> dict[str, str]:
    """Symbol → the local that holds it: the record lists each local's leaves."""
    names: dict[str, str] = {}
    for name, leaves in (frame_locals.get("locals") or {}).items():
        if isinstance(leaves, list) and len(leaves) == 1:
            names.setdefault(str(leaves[0]), name)
    return names


def _sources(sources: Any) -> dict[str, str]:
    """Symbol → the input that it is the size of."""
    if not isinstance(sources, dict):
        return {}
    first = {name: found[0] if isinstance(found, list) and found else found for name, found in sources.items()}
    return {str(name): source for name, source in first.items() if isinstance(source, str)}


def _born(log: _Log, row: int, data: Mapping[str, Any]) -> None:
    frames = _frames(log, data.get("user_stack"))
    who = blamed(frames, log.paths, traced=True)
    match = _RANGE.match(str(data.get("vr", "")))
    bounds = [_bound(match[side]) if match is not None else None for side in ("lower", "upper")]
    symbol = str(data.get("symbol", ""))
    log.births[symbol] = Birth(symbol, row, frames[who[0]] if who is not None else None, *bounds)


def _frames(log: _Log, stack: Any) -> list[RawFrame]:
    if not isinstance(stack, list):
        return []
    frames = []
    for entry in stack:
        if isinstance(entry, dict) and isinstance(entry.get("line"), int):
            filename = entry.get("filename", "")
            name = log.strings.get(filename, "") if isinstance(filename, int) else str(filename)
            frames.append(
                RawFrame(name, entry["line"], str(entry.get("name", "")), str(entry.get("loc") or "").strip())
            )
    return [frame for frame in frames if frame.filename]


def _of_payload(log: _Log, row: int, payload: str) -> list[Occurrence]:
    lines = cleaning.clean(payload)
    return [_placed(log, occurrence, row) for occurrence in find_in_text(lines, log.paths)]


def _of_reasons(log: _Log, row: int, payload: str) -> list[Occurrence]:
    """`recompile_reasons`: a JSON list of texts; the function is named by an earlier line of the text log only."""
    try:
        reasons = json.loads(payload)
    except ValueError:
        reasons = [payload]
    lines = [line for reason in reasons if isinstance(reason, str) for line in reason.split("\n")]
    text = "\n".join(["Recompiling function ? in <unknown>:1", *(f"    - {line}" for line in lines)])
    found = recompilations.find(cleaning.clean(text), log.paths)
    return [_placed(log, occurrence, row) for occurrence in found]


def _of_metrics(log: _Log, row: int, metrics: Mapping[str, Any]) -> list[Occurrence]:
    """`compilation_metrics` of a compilation that failed: the reason, and the user's line."""
    text = f"{metrics.get('fail_type') or 'Error'}: {metrics['fail_reason']}"
    name, line = metrics.get("fail_user_frame_filename"), metrics.get("fail_user_frame_lineno")
    if name and isinstance(line, int):
        text += f'\n\nfrom user code:\n   File "{name}", line {line}, in {metrics.get("co_name") or "?"}\n'
    return [_placed(log, occurrence, row) for occurrence in find_in_text(cleaning.clean(text), log.paths)]


def _placed(log: _Log, occurrence: Occurrence, row: int) -> Occurrence:
    asks = occurrence.asks or ("compile",)
    return replace(occurrence, row=row, asks=asks, births={**log.births, **occurrence.births})


def _bound(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
