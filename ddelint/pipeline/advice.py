"""What to do next where nothing could be run: which program was probably meant, and how to say with what to call it."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from dataclasses import dataclass

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace.offers import FUNCTION, MAKE_INPUTS, MODEL_CLASS


@dataclass(frozen=True, slots=True)
class Program:
    """A module class or function that `--entry` could name."""

    filename: str
    name: str
    is_class: bool
    needs_init: bool
    """Whether its constructor takes arguments without a default."""

    def options(self, named: bool) -> str:
        """The options that would run it; `named` where its file must be named, too."""
        reference = f"{shown(self.filename)}:{self.name}" if named else self.name
        init = " --init FILE.py:NAME" if self.needs_init else ""
        return f"--entry {reference}{init} --inputs FILE.py:NAME"


def read_only(paths: Sequence[str], readable: Sequence[SourceFile], findings: Sequence[Diagnostic]) -> list[str]:
    """The closing lines of a call that found something by reading and had nothing to run."""
    program = probable_program(readable, findings)
    several = len(readable) != 1
    where = "no file here says" if several else f"{shown(readable[0].filename)} does not say"
    whom = "its models" if program is None or several else f"`{program.name}`"
    call = program.options(several) if program is not None else "--entry FILE.py:NAME --inputs FILE.py:NAME"
    guessed = "FILE.py" if several else shown(readable[0].filename)
    rows = (
        ("have it guessed", f"ddelint init {guessed}"),
        ("or define in the file", f"{MAKE_INPUTS}(seed), beside a class {MODEL_CLASS} or a function {FUNCTION}"),
        ("or name what to run", f"ddelint {' '.join(paths)} {call}"),
        ("or let a script do it", "ddelint run SCRIPT"),
    )
    them = "them" if several else "it"
    return [
        f"This was read, not run: {where} with which inputs to call {whom}. "
        f"To trace {them}, and have every fix verified:",
        *(f"  {title:<23}{text}" for title, text in rows),
        "(--static says that reading is enough)",
    ]


def no_entry(paths: Sequence[str], readable: Sequence[SourceFile]) -> str:
    """The error of a call that requires something to run, one line."""
    program = probable_program(readable, ())
    call = program.options(len(readable) != 1) if program is not None else "--entry FILE.py:NAME --inputs FILE.py:NAME"
    return (
        f"no entry in {', '.join(paths)}: define {MAKE_INPUTS}(seed) beside a class {MODEL_CLASS} or a function "
        f"{FUNCTION}, or name one with {call}; `ddelint init FILE.py` guesses one"
    )


def probable_program(readable: Sequence[SourceFile], findings: Sequence[Diagnostic]) -> Program | None:
    """What holds the first finding; without findings, the last module class of the only file."""
    by_name = {source.filename: source for source in readable}
    for finding in findings:
        source = by_name.get(finding.span.filename)
        if source is not None and finding.code != "DDE001":
            for node in _body(source):
                if node.lineno <= finding.span.row <= (node.end_lineno or node.lineno):
                    return _program(source.filename, node)
            return None
    if len(readable) == 1:
        programs = [_program(readable[0].filename, node) for node in _body(readable[0])]
        return next((p for p in reversed(programs) if p is not None and p.is_class), None)
    return None


def _body(source: SourceFile) -> list[ast.stmt]:
    """The file's statements; none where it does not parse, which is reported as a finding or not at all."""
    try:
        return source.tree.body
    except SourceError:
        return []


def shown(filename: str) -> str:
    """The file as a person would type it here."""
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative


def _program(filename: str, node: ast.stmt) -> Program | None:
    match node:
        case ast.FunctionDef(name=name):
            return Program(filename, name, False, False)
        case ast.ClassDef(name=name, body=body):
            methods = {method.name: method for method in body if isinstance(method, ast.FunctionDef)}
            if "forward" not in methods:
                return None
            return Program(filename, name, True, "__init__" in methods and _needs_arguments(methods["__init__"].args))
    return None


def _needs_arguments(signature: ast.arguments) -> bool:
    positional = len(signature.posonlyargs) + len(signature.args) - 1  # without self
    keywords = any(default is None for default in signature.kw_defaults)
    return positional > len(signature.defaults) or keywords
