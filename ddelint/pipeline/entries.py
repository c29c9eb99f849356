"""Which entries a call is about, and what their sessions are reported."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from ddelint.nouns.protocol import EntrySpec, SessionOptions
from ddelint.pipeline.gathering import PipelineError, roots
from ddelint.settings.options import REFERRED, CheckOptions, EntryOption
from ddelint.sources.source import SourceFile
from ddelint.trace.offers import static_offer


def entry_specs(paths: Sequence[str], readable: Sequence[SourceFile], options: CheckOptions) -> list[EntrySpec]:
    """The entries that the options name, else those that the files offer. Raises PipelineError."""
    files = [source.filename for source in readable]
    if options.entry is not None:
        return [_spec(options.entry, files, paths)]
    if options.entries:
        return [_spec(entry, files, paths) for entry in options.entries]
    return [EntrySpec(source.filename) for source in readable if static_offer(source) is not None]


def _spec(option: EntryOption, files: Sequence[str], paths: Sequence[str]) -> EntrySpec:
    filename, name = split_name(option.entry)
    inputs_filename, inputs = split_name(option.inputs)
    init_filename, init = split_name(option.init)
    if filename is None:
        if len(files) != 1:
            raise PipelineError(
                f"--entry {option.entry or '…'}: say which file it is in (FILE.py:NAME), since "
                f"{', '.join(paths)} holds {len(files) or 'no'} files"
            )
        filename = files[0]
    for given in (filename, inputs_filename, init_filename):
        if given is not None and not os.path.isfile(given):
            raise PipelineError(f"no such file: {given}")
    return EntrySpec(filename, name, inputs_filename, inputs, init_filename, init)


def split_name(text: str | None) -> tuple[str | None, str | None]:
    """`FILE.py:NAME` → (absolute file, name); `NAME` → (None, name)."""
    if text is None:
        return None, None
    head, colon, tail = text.rpartition(":")
    if colon and head.endswith(REFERRED):
        return os.path.realpath(head), tail
    if text.endswith(REFERRED):
        return os.path.realpath(text), None
    return None, text


def others(spec: EntrySpec, names: Sequence[str]) -> list[EntrySpec]:
    """A file that offers several entries is opened at its first, which reports the others."""
    return [replace(spec, entry=name) for name in names[1:]] if spec.entry is None else []


def label(spec: EntrySpec) -> str:
    """The entry as a person calls it: `model.py:Router`."""
    return os.path.basename(spec.filename) + (f":{spec.entry}" if spec.entry else "")


def session_options(spec: EntrySpec, paths: Sequence[str], options: CheckOptions) -> SessionOptions:
    """What the worker must know of one entry."""
    named = next(
        (
            e.unbacked
            for e in options.entries
            if options.entry is None and e.unbacked and split_name(e.entry)[1] == spec.entry
        ),
        None,
    )
    return SessionOptions(
        entry=spec,
        paths=tuple(roots(paths)),
        targets=options.targets,
        unbacked=named or options.unbacked,
        graph_breaks=options.graph_breaks and options.targets == ("compile",),
        cpp=options.cpp,
        samples=options.samples,
        seed=options.seed,
        device=options.device,
        gpu=options.gpu,
        timeout=options.timeout,
        memory=options.memory,
        jobs=options.jobs,
    )
