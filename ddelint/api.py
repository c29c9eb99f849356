"""The Python API: the commands as functions. They print nothing, end nothing, and raise DdelintError.

A keyword is the command line's option with `_` for `-`, checked as the command line checks it; what is not given stands
in the configuration that holds for the paths.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar, Unpack

from ddelint.errors import UsageError
from ddelint.report.model import Progress, Report, Silence
from ddelint.report.verified import VerifyReport

if TYPE_CHECKING:
    import click

    from ddelint.capturing import Capturing
    from ddelint.settings.options import CheckOptions

AnyPath = str | PathLike[str]
Paths = AnyPath | Sequence[AnyPath]
Listed = str | Sequence[str]
"""One word, several joined by commas, or a sequence of them."""
Result = TypeVar("Result")

_NEGATED = {
    "cache": "--no-cache",
    "graph_breaks": "--no-graph-breaks",
    "respect_gitignore": "--no-respect-gitignore",
    "suggest": "--no-suggest",
}
"""Keywords whose False is an option of its own."""
_SILENT = {"cache", "suggest"}
"""Keywords whose True is no option."""


class CodeArguments(TypedDict, total=False):
    """Which rules count, and which configuration."""

    select: Listed
    """Rules by code, prefix (`DDE1`) or name."""
    ignore: Listed
    extend_select: Listed
    config: AnyPath
    """Take the configuration from this file."""
    isolated: bool
    """Ignore configuration files."""


class RunArguments(CodeArguments, total=False):
    """How programs are run, traced and verified."""

    target: Listed
    """`export`, `strict`, `compile`: what must work afterwards."""
    unbacked: Listed
    """`NAME.DIM`, or `all`, `none`: input dimensions that must not be specialized."""
    guards: bool
    """Report also which lines guard on input sizes."""
    graph_breaks: bool
    """With `target="compile"`: what no rewrite keeps may leave the graph."""
    cpp: bool
    samples: int
    seed: int
    device: str
    gpu: str
    """`sm_90`, `H100`: whose code is assembled and interpreted without a device."""
    python: AnyPath
    timeout: float
    """Seconds for one entry."""
    memory: int | str
    """Bytes, or `8G`."""


class EntryArguments(RunArguments, total=False):
    """What to run."""

    entry: AnyPath
    """`FILE.py:NAME`: a module class, an instance or a function."""
    inputs: AnyPath
    init: AnyPath


class CheckArguments(EntryArguments, total=False):
    """Everything that `check` and `fix` take."""

    static: bool
    """Execute nothing."""
    trace: bool
    """Require an entry."""
    unsafe_fixes: bool
    """Take fixes, too, that narrow what is accepted or need a promise."""
    suggest: bool
    """Work out fixes (the default)."""
    assume_compiled: bool
    exclude: Listed
    extend_exclude: Listed
    force_exclude: bool
    respect_gitignore: bool
    baseline: AnyPath
    """Findings that it knows are left out."""
    write_baseline: AnyPath
    cache: bool
    jobs: int


def check(paths: Paths, *, progress: Progress | None = None, **arguments: Unpack[CheckArguments]) -> Report:
    """Find data-dependent errors under `paths`, as `ddelint check` does; writes nothing.

    The report holds what each fix would change (`report.diffs`, `report.rewritten`). Files that could not be read are
    named in `report.errors`. `progress` hears what is being done. Raises DdelintError.
    """
    return _checked(paths, {}, arguments, progress)


def fix(paths: Paths, *, progress: Progress | None = None, **arguments: Unpack[CheckArguments]) -> Report:
    """Find, and write the safe fixes to disk (with `unsafe_fixes=True` the others, too), as `ddelint check --fix` does.

    `report.fixed` is what was fixed, `report.remaining` what was not, `report.diffs` what was written.
    Raises DdelintError.
    """
    return _checked(paths, {"fix": True}, arguments, progress)


def verify(
    paths: Paths,
    *,
    bench: bool = False,
    against: AnyPath | None = None,
    unsafe_fixes: bool = False,
    progress: Progress | None = None,
    **arguments: Unpack[EntryArguments],
) -> VerifyReport:
    """Compare eager with export, compile and the GPU, as `ddelint verify` does; changes nothing.

    `bench` measures the original and what `fix` would make of it; `against` (a file, or a git revision) is the version
    that counts as the original. Raises DdelintError.
    """
    from ddelint.commands.options import check_options
    from ddelint.commands.verify import verify as command
    from ddelint.pipeline import run_verify

    listed = _listed(paths)
    own = {"bench": bench, "against": against, "unsafe_fixes": unsafe_fixes}
    given = _given(command, listed, {**own, **arguments})
    options = _said(lambda: check_options(listed, {**given, "trace": True}))
    return run_verify(listed, options, progress or Silence(), bench=bench, against=given["against"])


def explain(
    error: str | PathLike[str] | BaseException, paths: Paths = (), **arguments: Unpack[CodeArguments]
) -> Report:
    """Explain an error, as `ddelint explain` does; executes nothing.

    `error` is a text, an exception, or a path (not a str) of a log or of a TORCH_TRACE folder. `paths` say whose code
    counts as ours. Raises DdelintError.
    """
    from ddelint.cli import explain as command
    from ddelint.commands.options import codes_of, config_of
    from ddelint.explain.explain import explain_text, run_explain
    from ddelint.settings import config

    listed = _listed(paths)
    given = _given(command, (), arguments)
    there = [path for path in listed if os.path.exists(path)]
    found = config_of(there, given["config_file"], given["isolated"])
    options = config.resolve(found, codes_of(given))
    if isinstance(error, PathLike):
        return run_explain(os.fspath(error), listed, options)
    text = "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else error
    return explain_text(text, listed, options)


def capture(
    paths: Paths | None = None,
    *,
    modules: Listed = (),
    unsafe_fixes: bool = False,
    progress: Progress | None = None,
    **arguments: Unpack[RunArguments],
) -> Capturing:
    """A context manager that checks what is compiled or exported inside it, in this very process.

    For notebooks and scripts::

        with ddelint.capture() as captured:
            torch.compile(model)(x)
        captured

    Programs run in eager inside the block; at its end each is traced, explained and fixed as `ddelint run` does, in
    forks of this process. Nothing is written. `captured.report` holds what was found. `paths` (default: the working
    directory, and the notebook's cells) say whose code counts as ours; `modules` are globs of module class names that
    are checked, too, when they are called. Raises DdelintError.
    """
    from ddelint.capturing import Capturing

    listed = _listed(paths if paths is not None else os.curdir)
    options = run_options(listed, {**arguments, "unsafe_fixes": unsafe_fixes})
    return Capturing(listed, _words(modules), options, progress or Silence())


def run_options(paths: Paths, arguments: Mapping[str, Any]) -> CheckOptions:
    """What RunArguments (and `unsafe_fixes`) come to over the configuration of `paths`. Raises DdelintError."""
    from ddelint.cli import run as command
    from ddelint.commands.options import check_options

    given = _given(command, ("-",), arguments)
    return _said(lambda: check_options(_listed(paths), given))


def _checked(paths: Paths, own: Mapping[str, Any], arguments: Mapping[str, Any], progress: Progress | None) -> Report:
    from ddelint.cli import check as command
    from ddelint.commands.options import check_options
    from ddelint.pipeline import run_check

    listed = _listed(paths)
    unknown = sorted(arguments.keys() - CheckArguments.__annotations__.keys())
    if unknown:
        raise UsageError(f"there is no keyword `{unknown[0]}` here")
    given = _given(command, listed, {**own, **arguments})
    return run_check(listed, _said(lambda: check_options(listed, given)), progress or Silence())


# ---------------------------------------------------------------------------- keywords as the command line's words


def _listed(paths: Paths) -> tuple[str, ...]:
    if isinstance(paths, (str, PathLike)):
        paths = (paths,)
    listed = tuple(os.fspath(path) for path in paths)
    if "-" in listed:
        raise UsageError("`-` (standard input) is no path here: give the name of a file or folder")
    return listed


def _words(value: Any) -> tuple[str, ...]:
    if isinstance(value, (str, PathLike)):
        return tuple(part.strip() for part in os.fspath(value).split(",") if part.strip())
    return tuple(os.fspath(one) for one in value)


def _given(command: click.Command, paths: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the command's own parser makes of the arguments. Raises UsageError in its words."""
    words: list[str] = []
    for key, value in arguments.items():
        option = f"--{key.replace('_', '-')}"
        match value:
            case None:
                continue
            case True:
                words += [] if key in _SILENT else [option]
            case False:
                words += [_NEGATED[key]] if key in _NEGATED else []
            case str() | int() | float() | Path() | PathLike():
                words.append(f"{option}={value}")
            case _ if key == "unbacked":
                words.append(f"{option}={','.join(_words(value))}")
            case _:
                words += [f"{option}={word}" for word in _words(value)]
    context = _said(lambda: command.make_context(command.name, [*words, "--", *paths]))
    # what is not given is as the configuration says; what is given as False is not
    off = [key for key, value in arguments.items() if value is False and key in context.params.keys() - _NEGATED.keys()]
    return {**context.params, **dict.fromkeys(off, False)}


def _said(work: Callable[[], Result]) -> Result:
    """What `work` gives; the command line's complaint as an exception."""
    import click

    from ddelint.commands.mistakes import line_of

    try:
        return work()
    except click.ClickException as error:
        raise UsageError(line_of(error)) from None
