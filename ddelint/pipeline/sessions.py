"""The worker of a call, and its sessions: what earlier calls know of an entry, and which of its sizes are unbacked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.nouns.contracts import FIXED, Contract
from ddelint.nouns.protocol import EntryFailure, EntrySpec, SessionOptions
from ddelint.pipeline.entries import label, session_options
from ddelint.report.model import Progress
from ddelint.settings.options import CheckOptions
from ddelint.shapes.facts import read
from ddelint.shapes.linear_forms import is_product

if TYPE_CHECKING:
    from ddelint.trace.session import Session
    from ddelint.trace.verdicts import Verdicts
    from ddelint.trace.worker_process import Worker

ALL, NONE = "all", "none"
"""What `--unbacked` is given for every dimension of every input, and for no dimension."""


def start_worker(options: CheckOptions, *, at_once: bool = True) -> Worker:
    """Start loading torch (`at_once`: False where it may not be needed); a session that needs it reports what fails."""
    from ddelint.trace import lasting
    from ddelint.trace.worker_process import Worker

    lasts = options.lasting and options.cache and lasting.is_wanted()
    return Worker(options.python, at_once=at_once, lasts=lasts)


def are_known(specs: Sequence[EntrySpec], paths: Sequence[str], options: CheckOptions) -> bool:
    """Whether earlier calls have loaded all of the entries, and nothing has changed since."""
    known = (verdicts_of(session_options(spec, paths, options), options) for spec in specs)
    return all(verdicts is not None and verdicts.holds_entry for verdicts in known)


def verdicts_of(opening: SessionOptions, options: CheckOptions) -> Verdicts | None:
    """What earlier calls learned of an entry; None where nothing is to be kept."""
    from ddelint.trace.verdicts import verdicts_of

    if not options.cache:
        return None
    entry = opening.entry.filename
    return verdicts_of(entry, options.at(entry).cache_folder, opening, options.python)


def open_entry(
    worker: Worker, opening: SessionOptions, progress: Progress, known: CheckOptions | None = None
) -> Session | EntryFailure:
    """A session about an entry; under `--unbacked all` without the sizes that the program itself fixes.

    `known`: the options under which earlier calls' answers are used again; without, everything is asked anew.

    A layer of 16 columns takes inputs of 16 columns. Were such a size unbacked, every front end would refuse the
    program for it ("Constraints violated"), and nothing else could be said. The contract says which sizes these are.
    """
    session = worker.open(opening, verdicts_of(opening, known) if known is not None else None)
    if isinstance(session, EntryFailure) or opening.unbacked != ALL:
        return session
    contract = session.contract({})
    fixed = fixed_sizes(contract)
    if not fixed:
        return session
    left = [dimension for dimension in session.info.unbacked if dimension not in fixed]
    told = ", ".join(f"{name} == {contract.example[name]}" for name in fixed.values())
    why = "fixed by the program, or in a product (`ddelint shapes` says by which line)"
    progress.note(f"{label(opening.entry)}: not unbacked are {told}: {why}")
    session.close()
    narrowed = replace(opening, unbacked=",".join(left) or NONE)
    return worker.open(narrowed, verdicts_of(narrowed, known) if known is not None else None)


def fixed_sizes(contract: Contract) -> dict[str, str]:
    """`tokens.1`, as `--unbacked` takes it → `tokens.shape[1]`, for each size that can be no other, or that stands in
    a product of one number (`heads * width == 32`): torch then takes the example's sizes.

    Nothing where the contract could not be derived.
    """
    if contract.failure is not None:
        return {}
    tied = {name for one in contract.requirements if is_product(one.text) for name in read(one.text).names}
    names = [one.name for one in contract.dimensions if one.kind == FIXED or one.name in tied]
    return {".".join(name.removesuffix("]").rsplit(".shape[", 1)): name for name in names}
