"""The script of a session: run, and what it captured as entries.

The process that ran the script holds the live programs; its forks answer the requests about them. Where that cannot
be (a CUDA context, module-level code that a rewrite changes), the script is run again, up to the program in question.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ddelint.nouns.protocol import SavedInputs, ScriptRun, ScriptSpec, SessionOptions
from ddelint.trace import entries, failures, launch, offers, registrations, saved
from ddelint.trace.arguments import seed_everything
from ddelint.trace.capture import Capture, Enough, Recorder
from ddelint.trace.captured_marks import of_tensors
from ddelint.trace.entry import Entry, EntryProblem
from ddelint.trace.isolation import last_words
from ddelint.trace.surroundings import kept

_captured: Recorder | None = None
_adopted = False
"""Whether what was captured comes from no script that could run again."""
_ending = ""
_traceback = ""


def adopt(recorder: Recorder) -> None:
    """What requests are about is what `recorder` kept in this process (see trace.live)."""
    global _captured, _adopted
    _captured, _adopted = recorder, True


def run(options: SessionOptions, *, until: tuple[int, int] | None = None) -> None:
    """Run the script in this process and keep what it captures. Raises EntryProblem where there is no such script."""
    global _captured, _ending, _traceback
    if _adopted:
        raise EntryProblem("missing", "code outside of functions cannot run again in this process")
    script = _script(options)
    recorder = Recorder(script.patterns, until=until)
    _captured, _ending, _traceback = recorder, "", ""
    registrations.forget(options.entry.filename)
    seed_everything(options.seed)
    try:
        with kept(), recorder.listening(), launch.time_limit(options.timeout):
            launch.run(script)
    except launch.NoSuchScript as problem:
        raise EntryProblem("missing", str(problem)) from None
    except Enough:
        pass
    except launch.TimeUp:
        _ending = f"was stopped after {options.timeout:g} seconds"
    except SystemExit as error:
        if error.code not in (None, 0):
            code, said = (error.code, last_words()) if isinstance(error.code, int) else (1, str(error.code))
            _ending = f"ended with exit code {code}" + (f" ({said})" if said else "")
    except BaseException as error:
        if until is not None and until[0] >= len(recorder.captures):
            raise
        failure = failures.from_exception(error, options.paths, options.entry.filename)
        _ending, _traceback = _ended(failure), failure.traceback


def _ended(failure: Any) -> str:
    place = f" ({os.path.basename(failure.span.filename)}:{failure.span.row})" if failure.span is not None else ""
    lines = str(failure.message).strip().splitlines()
    return f"raised {lines[0] if lines else 'an exception'}{place}"


def _script(options: SessionOptions) -> ScriptSpec:
    assert options.entry.script is not None
    return options.entry.script


def script_run(options: SessionOptions) -> ScriptRun:
    """What the script captured, and how it ended."""
    if _captured is None:
        run(options)
    assert _captured is not None
    infos = [capture.info for capture in _captured.captures]
    main = getattr(sys.modules.get("__main__"), "__file__", None) or options.entry.filename
    infos = [info if info.filename else replace(info, filename=main) for info in infos]
    return ScriptRun(tuple(infos), _captured.left_out, _ending, _traceback)


def captures(options: SessionOptions) -> Sequence[Capture]:
    """What the script captured; it is run where it was not."""
    if _captured is None:
        run(options)
    assert _captured is not None
    return _captured.captures


def save(options: SessionOptions, filename: str) -> SavedInputs:
    """Write the captured arguments to a file. Raises EntryProblem where it cannot be written."""
    programs = [saved.Saved(c.name, c.filename, tuple(c.calls)) for c in captures(options)]
    try:
        refused = saved.write(filename, programs)
    except OSError as error:
        raise EntryProblem("missing", error.strerror or str(error)) from None
    names = [program.name for program in programs]
    lost = {line.partition(":")[0] for line in refused}
    return SavedInputs(tuple(name for name in dict.fromkeys(names) if name not in lost), tuple(refused))


class Loader(entries.Loader):
    """Gives the captured program as an entry."""

    def load(self, *, again: bool = False) -> Entry:
        """As entries.Loader.load; `again` runs the script another time, up to the program in question."""
        number = self._spec.capture
        assert number is not None
        if again or _captured is None:
            run(self._options, until=(number, self._spec.calls))
        found = captures(self._options)
        if number >= len(found):
            raise EntryProblem("missing", f"the script did not call program {number + 1} again")
        capture = found[number]
        capture.state.restore()
        seed_everything(self._options.seed)
        program = self._made(capture.name, capture.program, capture.restored, lambda: ((), {}))
        if not isinstance(capture.program, torch.nn.Module):
            program = replace(program, build=capture.restored)
        count = len(capture.calls)
        calls = "first call" if count == 1 else f"first {count} calls"
        script = _script(self._options)
        inputs = entries.Inputs(f"its {calls} in {os.path.basename(script.target)}", capture.arguments, count > 1)
        names = entries.parameter_names(program, lambda: capture.calls[0])
        marks = types.SimpleNamespace(
            **{
                offers.UNBACKED: of_tensors(capture.unbacked, names, capture.calls[0]),
                offers.DYNAMIC: of_tensors(capture.dynamic, names, capture.calls[0]),
            }
        )
        return replace(self._entry(marks, program, inputs, None), surroundings=capture.surroundings.around)

    def warm(self) -> None:
        """Run the script, so that the forks have what it captured."""
        run(self._options)

    def entry_names(self) -> tuple[str, ...]:
        """None: each capture is opened by its number."""
        return ()
