"""`ddelint explain`: a text or a folder of structured logs → a report, as `check` makes one. Nothing is executed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ddelint.errors import DdelintError
from ddelint.explain import cleaning, recompilations, structured
from ddelint.explain.diagnosing import Diagnosing
from ddelint.explain.occurrences import Occurrence, distinct, find
from ddelint.explain.places import Places
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.report.model import Report
from ddelint.settings.options import CheckOptions
from ddelint.system.files import read_regular
from ddelint.system.streams import MOST_INPUT, read_input

STDIN = "-"


class ExplainError(DdelintError):
    """What cannot be read; the message is one line for the user (exit code 2)."""


def run_explain(source: str, paths: Sequence[str], options: CheckOptions) -> Report:
    """The report on `source`: a file, a folder, or `-`. `paths` name whose code counts first, and where it lies.

    Raises ExplainError.
    """
    return _report(*_read(source, tuple(paths)), tuple(paths), options, source)


def explain_text(text: str, paths: Sequence[str], options: CheckOptions) -> Report:
    """The report on a text at hand; `paths` as in `run_explain`. Places count in it under the name `-`."""
    return _report(STDIN, *_of_text(text, tuple(paths)), tuple(paths), options, STDIN)


def _report(
    name: str, text: str, occurrences: Sequence[Occurrence], paths: tuple[str, ...], options: CheckOptions, source: str
) -> Report:
    explainer = Diagnosing(name, text, paths, Places(paths))
    found = [explainer.diagnostic(occurrence) for occurrence in occurrences]
    diagnostics = _joined([one for one in found if options.selects(one.code, one.span.filename)])
    notes = []
    if found and not diagnostics:
        codes = ", ".join(sorted({diagnostic.code for diagnostic in found}))
        notes.append(f"nothing selected: the options or the configuration leave out what was found ({codes})")
    elif not diagnostics:
        where = "what was read" if source == STDIN else source
        notes.append(f"nothing found: {where} holds no error that data-dependent values cause")
        if _ends_early(text):
            notes.append("the text ends before the error: paste what follows the last line of the traceback, too")
    elif explainer.missing:
        files = ", ".join(explainer.missing)
        notes.append(f"not at hand, so columns count in the quoted lines: {files} (--path says where your code is)")
    return Report(tuple(diagnostics), explainer.texts(), notes=tuple(notes), entries=())


def _ends_early(text: str) -> bool:
    """Whether the text is a traceback whose last lines, which name the error, are missing."""
    lines = [line for line in text.splitlines() if line.strip()]
    begun = any(line.lstrip().startswith("Traceback (most recent call last)") for line in lines)
    framed = [number for number, line in enumerate(lines) if line.lstrip().startswith('File "')]
    if not framed or not (begun or len(framed) > 1):
        return False
    indent = len(lines[framed[-1]]) - len(lines[framed[-1]].lstrip())
    # what names the error stands further left than the frames
    return all(len(line) - len(line.lstrip()) >= indent for line in lines[framed[-1] :])


def _joined(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings of one rule at one place are one."""
    kept: dict[object, Diagnostic] = {}
    for diagnostic in diagnostics:
        key = (diagnostic.code, diagnostic.span, diagnostic.expression)
        first = kept.get(key)
        if first is None:
            kept[key] = diagnostic
        else:
            asks = tuple(dict.fromkeys((*first.asks, *diagnostic.asks)))
            hints = tuple(dict.fromkeys((*first.hints, *diagnostic.hints)))
            kept[key] = replace(first, asks=asks, symbols=first.symbols or diagnostic.symbols, hints=hints)
    return list(kept.values())


def _read(source: str, paths: tuple[str, ...]) -> tuple[str, str, list[Occurrence]]:
    """The name and text to show places in, and what was found."""
    if source == STDIN:
        return STDIN, *_of_text(_decoded(read_input(), "standard input"), paths)
    path = Path(source)
    try:
        if path.is_dir():
            return _of_folder(path, paths)
        with path.open("rb") as file:  # a pipe, too: `ddelint explain <(command)`
            data = file.read(MOST_INPUT + 1)
        if len(data) > MOST_INPUT:
            raise ExplainError(f"{source} is more than {MOST_INPUT >> 20} MB")
    except FileNotFoundError as error:
        raise ExplainError(f"no such file or folder: {source}") from error
    except OSError as error:
        raise ExplainError(f"cannot read {source}: {error.strerror}") from error
    return source, *_of_text(_decoded(data, source), paths)


def _of_folder(folder: Path, paths: tuple[str, ...]) -> tuple[str, str, list[Occurrence]]:
    files = structured.log_files(folder)
    if not files:
        raise ExplainError(f"{folder} holds no log (TORCH_TRACE writes *.log, tlparse raw.log)")
    occurrences: list[Occurrence] = []
    for file in files:
        try:
            text = _decoded(read_regular(file, MOST_INPUT), str(file))
        except OSError as error:
            raise ExplainError(f"cannot read {file}: {error.strerror}") from error
        occurrences += _of_text(text, paths)[1]
    return str(files[0]), "", distinct(occurrences)


def _of_text(text: str, paths: tuple[str, ...]) -> tuple[str, list[Occurrence]]:
    if structured.is_structured(text):
        return text, structured.find(text, paths)
    shown = cleaning.unwrapped(text)
    occurrences: list[Occurrence] = []
    for lines in cleaning.streams(cleaning.clean(shown)):
        occurrences += find(lines, paths)
        occurrences += recompilations.find(lines, paths)
    return shown, distinct(occurrences)


def _decoded(data: bytes, name: str) -> str:
    try:
        return cleaning.decode(data)
    except cleaning.NotText as error:
        raise ExplainError(f"{name} is not a text") from error
