"""`shapes`: the contract of each entry."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import Dispatch
from ddelint.nouns.protocol import EntryFailure, EntrySpec
from ddelint.nouns.size_specs import CheckedSpec
from ddelint.nouns.size_streams import Forecast
from ddelint.pipeline import advice
from ddelint.pipeline.beside import write_beside
from ddelint.pipeline.dispatching import Graphs, dispatch
from ddelint.pipeline.entries import entry_specs, label, others, session_options
from ddelint.pipeline.foretelling import forecast
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files
from ddelint.pipeline.range_checking import check_given
from ddelint.pipeline.sessions import start_worker
from ddelint.pipeline.spec_checking import check_specs
from ddelint.report.model import Progress
from ddelint.settings.options import CheckOptions
from ddelint.shapes.names import names_of
from ddelint.shapes.pinning import beside as test_beside
from ddelint.shapes.pinning import pinned
from ddelint.shapes.ranges_given import Ranges
from ddelint.shapes.requirements import contract_within, side_taken
from ddelint.shapes.specs import spec_of
from ddelint.shapes.writing import BESIDE, MARK
from ddelint.shapes.writing import written as spec_text


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be done with a contract."""

    check: bool = False
    """Compare what is declared beside the entry with it."""
    spec: str = ""
    """Only the declaration of that name."""
    ranges: tuple[Ranges, ...] = ()
    """Ranges that are to take each size once."""
    write: bool = False
    """Write it beside the entry, as what torch takes."""
    stream: str = ""
    """A file of sizes, call after call: for which of them is the program compiled again?"""
    graphs: Graphs | None = None
    """Write a dispatcher beside the entry."""


@dataclass(frozen=True, slots=True)
class ShapesReport:
    """The outcome of `shapes`: for each entry a contract, what is declared, what was written."""

    contracts: tuple[Contract, ...]
    checked: tuple[tuple[CheckedSpec, ...], ...] = ()
    written: tuple[str, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    """For each contract its dispatcher, where one was asked for."""
    forecasts: tuple[Forecast, ...] = ()
    """For each contract what a stream costs, where one was given."""
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


def run_shapes(paths: Sequence[str], options: CheckOptions, progress: Progress, wanted: Wanted) -> ShapesReport:
    """Derive the contract of each entry, and compare or write it. Raises PipelineError (one line, exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    readable = read_files(discover(paths, run), paths, run)
    specs = entry_specs(paths, readable, options)
    if not specs:
        raise PipelineError(advice.no_entry(paths, readable))
    contracts: list[Contract] = []
    checked: list[tuple[CheckedSpec, ...]] = []
    written: list[str] = []
    dispatches: list[Dispatch] = []
    forecasts: list[Forecast] = []
    stream = _text_of(wanted.stream) if wanted.stream else ""
    waiting = deque(specs)
    holders: dict[str, str] = {}
    """File → the entry whose sizes are written beside it."""
    with start_worker(options) as worker:
        while waiting:
            spec = waiting.popleft()
            progress.stage(f"loading {label(spec)}")
            settings = session_options(spec, paths, options)
            opened = worker.open(replace(settings, unbacked=options.unbacked or "all"))
            if isinstance(opened, EntryFailure):
                if opened.kind == "no-torch":
                    raise PipelineError(opened.message)
                contracts.append(Contract(label(spec), failure=opened))
                checked.append(())
                dispatches += [Dispatch()] if wanted.graphs is not None else []
                forecasts += [Forecast()] if wanted.stream else []
                continue
            with closing(opened) as session:
                waiting.extendleft(reversed(others(spec, session.info.names)))
                progress.note(f"running {session.info.label}")
                progress.stage("following sizes")
                contract = replace(session.contract({}), label=session.info.label)
                contracts.append(contract)
                if wanted.check:
                    progress.stage("comparing with what is declared")
                derived = contract.failure is None and contract.paths > 0
                if contract.failure is None and not derived and wanted != Wanted():
                    run.errors.append(
                        f"{contract.label}: no way through it was followed to its end, so nothing is told"
                    )
                found = check_specs(session, contract, wanted.spec) if wanted.check and derived else []
                found += [check_given(session, contract, one) for one in wanted.ranges if derived]
                checked.append(tuple(found))
                if wanted.stream:
                    progress.stage("calling with the stream's sizes")
                    forecasts.append(forecast(session, contract, wanted.stream, stream) if derived else Forecast())
                try:
                    if derived and (wanted.write or wanted.graphs is not None):
                        _claim(contract, holders)
                    if wanted.write and derived:
                        written += [_write(contract), _write_test(contract, spec)]
                    if wanted.graphs is not None and derived:
                        progress.stage("compiling a graph for each range")
                        dispatches.append(dispatch(session, contract, wanted.graphs))
                except (PipelineError, OSError) as error:
                    run.errors.append(str(error))
            if wanted.graphs is not None and len(dispatches) < len(contracts):
                dispatches.append(Dispatch())
    return ShapesReport(
        tuple(contracts),
        tuple(checked),
        (*written, *(one.filename for one in dispatches if one.filename)),
        tuple(dispatches),
        tuple(forecasts),
        tuple(run.warnings),
        tuple(run.errors),
    )


def _claim(contract: Contract, holders: dict[str, str]) -> None:
    """One file is written for one entry. Raises PipelineError for the second one of a file."""
    first = holders.setdefault(contract.filename, contract.label)
    if first != contract.label:
        name = os.path.basename(contract.filename)
        raise PipelineError(
            f"nothing written for {contract.label}: what is beside {name} is of {first}; choose (--entry)"
        )


def _text_of(filename: str) -> str:
    """Raises PipelineError where the file cannot be read."""
    try:
        return Path(filename).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PipelineError(f"cannot read {filename}: {getattr(error, 'strerror', None) or error}") from None


def _write(contract: Contract) -> str:
    """Write the spec for the example's side of each branch; gives the file's name.

    Raises PipelineError for a file that something else has written, OSError where it cannot be written.
    """
    sides = [side_taken(branch, contract.example) for branch in contract.branches]
    path = Path(contract.filename).with_name(f"{Path(contract.filename).stem}{BESIDE}")
    text = spec_text(contract_within(contract, sides), spec_of(contract, names_of(contract), sides))
    return write_beside(path, text, MARK, "shapes --write")


def _write_test(contract: Contract, entry: EntrySpec) -> str:
    """Write the test that pins what `_write` has written; gives the file's name. Raises as `_write` does."""
    folder = os.path.dirname(contract.filename)

    def named(filename: str | None, name: str | None) -> str | None:
        parts = [os.path.relpath(filename, folder)] if filename else []
        return ":".join([*parts, *([name] if name else [])]) or None

    text = pinned(
        contract.filename,
        entry.entry,
        named(entry.inputs_filename, entry.inputs),
        named(entry.init_filename, entry.init),
    )
    return write_beside(test_beside(contract.filename), text, MARK, "shapes --write")
