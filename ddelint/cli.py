"""Commands and options; no logic. Whatever is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from ddelint.options import CACHE_FOLDER, DEVICES, FORMATS, CheckOptions, EntryOption, Mode, Reference
from ddelint.version import VERSION

if TYPE_CHECKING:
    from ddelint.config import Config
    from ddelint.protocol import ScriptSpec
    from ddelint.report.model import Report, VerifyReport
    from ddelint.report.progress import ClosingProgress
    from ddelint.report.style import Style

FOUND_NOTHING, FOUND_SOMETHING, COULD_NOT_WORK = 0, 1, 2
STDIN = "-"
_EXPECTED = {"ConfigError", "DiscoveryError", "CatalogError", "PipelineError", "ExplainError"}
"""Errors of the user's making, by name: their modules are not loaded unless they are needed."""
_ABOUT_OUTPUT = {
    "--fix", "--unsafe-fixes", "--diff", "--exit-zero", "--statistics", "--no-cache", "-q", "--quiet", "-v", "-vv",
    "--verbose",
}  # fmt: skip
_ABOUT_OUTPUT_WITH_VALUE = {"--color", "--output-format", "-o", "--output-file", "--save-inputs"}
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
Command = TypeVar("Command", bound=Callable[..., Any])


class Commands(click.Group):
    """The command group: `check` where no command is named; every error one line and exit code 2."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `check` before arguments that name no command."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help", "-V", "--version"}:
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **kwargs: Any) -> NoReturn:
        """Run and exit with 0, 1 or 2; a traceback of ours is shown with `-v` or DDELINT_DEBUG only."""
        words = list(args) if args is not None else sys.argv[1:]
        try:
            result = super().main(words, *rest, **{**kwargs, "standalone_mode": False})
            sys.stdout.flush()
            sys.exit(result if isinstance(result, int) else FOUND_NOTHING)
        except BrokenPipeError:  # the reader has seen enough
            _abandon_stdout()
            sys.exit(FOUND_SOMETHING)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
        except click.ClickException as error:
            _complain(error.format_message())
        except (click.Abort, KeyboardInterrupt):
            _complain("interrupted")
        except Exception as error:  # the promise to the user: one line, and exit code 2
            expected = type(error).__name__ in _EXPECTED
            asked = not expected and not {"-v", "-vv", "--verbose"}.isdisjoint(words)
            if os.environ.get("DDELINT_DEBUG") or asked:
                traceback.print_exc()
            if expected:
                _complain(str(error))
            else:
                _complain(f"{type(error).__name__}: {error} (a bug in ddelint; DDELINT_DEBUG=1 shows where)")
        sys.exit(COULD_NOT_WORK)


def _complain(message: str) -> None:
    text = " ".join(line.strip() for line in message.strip().splitlines() if line.strip())
    click.echo(f"ddelint: error: {text}", err=True)


def _abandon_stdout() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Size(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases only
    """Bytes: `500M`, `8G`, `8589934592`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", value.strip().lower())
        if match is None or float(match[1]) <= 0:
            self.fail(f"`{value}` is not a size such as 500M or 8G", param, ctx)
        return int(float(match[1]) * _SIZES[match[2]])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="`ddelint PATH…` is short for `ddelint check PATH…`.",
    no_args_is_help=True,
)
@click.version_option(VERSION, "-V", "--version", prog_name="ddelint", message="%(prog)s %(version)s")
def main() -> None:
    """Find, explain and fix data-dependent errors in PyTorch code."""


def _comma_separated(
    ctx: click.Context, param: click.Parameter, values: Sequence[str] | None
) -> tuple[str, ...] | None:
    """A repeatable option whose values may also be joined by commas; None where it was not given."""
    if not values:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def _options(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


run_options = _options(
    click.option(
        "--target", "target", multiple=True, callback=_comma_separated, metavar="export,strict,compile",
        help="What must work afterwards.  [default: export,compile]",
    ),
    click.option("--unbacked", metavar="NAME.DIM,…", help="Input dimensions to treat as unbacked; or `all`, `none`."),
    click.option("--backed", is_flag=True, default=None,
                 help="Tell also which lines guard on input sizes and burn numbers in."),
    click.option("--graph-breaks/--no-graph-breaks", default=None,
                 help="With `--target compile`: what no rewrite keeps may leave the graph."),
    click.option("--cpp", is_flag=True, default=None,
                 help="Show the C++ functions between a call and a question (costs half a second)."),
    click.option("--samples", type=click.IntRange(min=1), metavar="N",
                 help="Input sets that verification draws.  [default: 64]"),
    click.option("--seed", type=click.IntRange(min=0), metavar="N",
                 help="Where the input sets start from.  [default: 0]"),
    click.option("--device", type=click.Choice(DEVICES), help="Where compiled output is verified.  [default: auto]"),
    click.option("--python", metavar="PATH", help="The interpreter whose torch does the tracing.  [default: this one]"),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
                 help="For one entry.  [default: 300]"),
    click.option("--memory", type=Size(), metavar="SIZE", help="What tracing may take.  [default: 8G]"),
)  # fmt: skip
entry_options = _options(
    click.option("--entry", metavar="FILE.py:NAME", help="What to run: a module class, an instance or a function."),
    click.option("--inputs", metavar="FILE.py:NAME", help="What gives its arguments: a callable, a tuple, or what "
                 "`run --save-inputs` wrote (FILE.safetensors)."),
    click.option("--init", metavar="FILE.py:NAME", help="Arguments for the class's constructor."),
    run_options,
)  # fmt: skip
config_options = _options(
    click.option("--config", "config_file", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                 help="Take the configuration from this file."),
    click.option("--isolated", is_flag=True, help="Ignore configuration files."),
)  # fmt: skip
code_options = _options(
    click.option("--select", multiple=True, callback=_comma_separated, metavar="CODES",
                 help="Rules to report; prefixes count (DDE1)."),
    click.option("--ignore", multiple=True, callback=_comma_separated, metavar="CODES", help="Rules not to report."),
    click.option("--extend-select", multiple=True, callback=_comma_separated, metavar="CODES",
                 help="Rules to report on top."),
)  # fmt: skip
selection_options = _options(
    code_options,
    click.option("--assume-compiled", is_flag=True, default=None,
                 help="Look at every function, not only at those that something compiles."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out, instead of the default exclusions."),
    click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Leave out, too."),
    click.option("--force-exclude", is_flag=True, default=None, help="Leave out files given by name, too."),
    click.option("--respect-gitignore/--no-respect-gitignore", default=None,
                 help="Skip what git ignores.  [default: yes]"),
)  # fmt: skip
output_options = _options(
    click.option("-o", "--output-file", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Write the report there."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 although something was found."),
    click.option("-q", "--quiet", is_flag=True, help="Print findings and nothing else."),
    click.option("-v", "--verbose", count=True, help="Print more: refused fixes, whole stacks, what is being done."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
)  # fmt: skip


@main.command()
@click.argument("paths", nargs=-1, metavar="PATH…")
@click.option("--fix", is_flag=True, help="Write the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Take fixes, too, that narrow what is accepted or need a promise.")
@click.option("--diff", is_flag=True, help="Print what --fix would change; write nothing.")
@click.option("--static", "static", is_flag=True, help="Execute nothing: the static pass only.")
@click.option("--trace", "trace", is_flag=True, help="Require an entry to trace.")
@entry_options
@selection_options
@config_options
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@click.option("-j", "--jobs", type=click.IntRange(min=0), metavar="N", help="Processes at a time; 0: one a core.")
@click.option("--stdin-filename", metavar="FILE", help="The name of what is read from standard input (PATH `-`).")
@output_options
def check(paths: tuple[str, ...], **given: Any) -> int:
    """Find data-dependent errors under PATH…; with --fix, mend them."""
    if not paths:
        raise click.UsageError("no path given: ddelint check PATH…")
    options = _check_options(paths, given)
    from ddelint.pipeline import run_check

    with _progress(options) as progress:
        report = run_check(paths, options, progress)
    return _give(report, options, given, _command(paths))


@main.command(context_settings={"allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, metavar="[ARGS]…", type=click.UNPROCESSED)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is a module's name, as in `python -m`.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Files and folders to blame and mend.  [default: the script's folder; with -m, the working directory]",
)
@click.option(
    "--capture-modules",
    "patterns",
    multiple=True,
    callback=_comma_separated,
    metavar="PATTERN",
    help="Check modules, too, whose class name (`pkg.model.Router`, `Router`) or path in their model matches.",
)
@click.option(
    "--save-inputs",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the captured arguments there; `check --inputs FILE.safetensors` reads them.",
)
@click.option("--fix", is_flag=True, help="Write the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="Take fixes, too, that narrow what is accepted or need a promise.")
@click.option("--diff", is_flag=True, help="Print what --fix would change; write nothing.")
@run_options
@selection_options
@config_options
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache.")
@output_options
def run(
    script: str,
    arguments: tuple[str, ...],
    module: bool,
    paths: tuple[str, ...],
    patterns: tuple[str, ...] | None,
    save_inputs: str | None,
    **given: Any,
) -> int:
    """Run SCRIPT with ARGS; check what it compiles, exports or calls, with the arguments it is called with."""
    if not module and not os.path.exists(script):
        raise click.UsageError(f"no such script: {script}")
    if not paths:
        paths = (".",) if module else (script,) if os.path.isdir(script) else (os.path.dirname(script) or ".",)
    options = _check_options(paths, given)
    from ddelint.pipeline import run_script
    from ddelint.protocol import ScriptSpec

    spec = ScriptSpec(script, module, arguments, patterns or ())
    with _progress(options) as progress:
        report = run_script(spec, paths, options, progress, save_inputs)
    return _give(report, options, given, *_run_command(spec))


@main.command()
@click.argument("paths", nargs=-1, metavar="PATH…")
@entry_options
@config_options
@click.option("--bench", is_flag=True, help="Measure, too: the original and what --fix makes of it, compiled or not.")
@click.option(
    "--against",
    metavar="FILE|REV",
    help="The original: another file, or PATH at a git revision; PATH is then the fixed one.  [default: PATH as it is]",
)
@click.option("--unsafe-fixes", is_flag=True, help="With --bench: measure what unsafe fixes make of it, too.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
@output_options
def verify(paths: tuple[str, ...], bench: bool, against: str | None, **given: Any) -> int:
    """Compare eager with export, compile and the GPU; change nothing. With --bench, measure."""
    if not paths:
        raise click.UsageError("no path given: ddelint verify PATH --entry NAME")
    options = _check_options(paths, {**given, "trace": True})
    from ddelint.pipeline import run_verify
    from ddelint.report import verification
    from ddelint.report.formats import joined

    with _progress(options) as progress:
        report = run_verify(paths, options, progress, bench=bench, against=against)
    _say(report, options)
    as_json = given["output_format"] == "json"
    shown_too = bench and not as_json and given["output_file"] is not None  # the table is for eyes, the file for later
    if as_json or shown_too:
        _emit(verification.render_json(report), given["output_file"])
    if not as_json:
        output = None if shown_too else given["output_file"]
        _emit(joined(verification.render_text(report, _style({**given, "output_file": output}))), output)
    for error in report.errors:
        _complain(error)
    if report.errors:
        return COULD_NOT_WORK
    passed = all(v.passed for v in report.verifications)
    return FOUND_NOTHING if passed or given["exit_zero"] else FOUND_SOMETHING


@main.command()
@click.argument("source", required=False, default=STDIN, metavar="[FILE | FOLDER | -]")
@click.option(
    "--path",
    "paths",
    multiple=True,
    type=click.Path(),
    metavar="PATH",
    help="Whose code counts as ours, and where it lies: a file, a folder, or a package's name.",
)
@code_options
@config_options
@click.option("--output-format", type=click.Choice(FORMATS), default="full", show_default=True)
@click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them.")
@output_options
def explain(source: str, paths: tuple[str, ...], **given: Any) -> int:
    """Explain a pasted error, a TORCH_LOGS file or a TORCH_TRACE folder; execute nothing."""
    if source == STDIN and sys.stdin.isatty():
        click.echo("paste the error, then end the input (Ctrl-D)", err=True)
    from ddelint import config
    from ddelint.explain.explain import run_explain
    from ddelint.report import formats

    found = _config([path for path in paths if os.path.exists(path)], given["config_file"], given["isolated"])
    options = config.resolve(found, {**_codes(given), "quiet": given["quiet"]})
    report = run_explain(source, paths, options)
    _say(report, options)
    quiet = given["quiet"] or not report.diagnostics
    how = formats.Rendering(
        _style(given), given["output_format"], "ddelint explain", statistics=given["statistics"], quiet=quiet
    )
    _emit(formats.render(report, how), given["output_file"])
    return FOUND_SOMETHING if report.diagnostics and not given["exit_zero"] else FOUND_NOTHING


@main.command()
@click.argument("code", required=False)
@click.option("--all", "every", is_flag=True, help="Show all rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def rule(code: str | None, every: bool, output_format: str, color: str) -> None:
    """Show one rule (its CODE or name), or list all."""
    if (code is None) != every:
        raise click.UsageError("give a rule's code or --all")
    from ddelint import config
    from ddelint.report import rules

    if code is not None:
        chosen = config.known_rule(code)
        text = rules.render_json([chosen], one=True) if output_format == "json" else None
        if text is None:
            text = rules.render_page(chosen, _style({"color": color, "output_file": None, "verbose": 0}))
        _emit(text, None)
        return
    from ddelint import catalog

    everything = list(catalog.rules().values())
    if output_format == "json":
        _emit(rules.render_json(everything), None)
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        _emit(rules.render_list(everything, width), None)


@main.command(name="config")
@click.argument("path", default=".", type=click.Path(exists=True))
@config_options
def show_config(path: str, config_file: str | None, isolated: bool) -> None:
    """Print the configuration that holds for PATH, as TOML."""
    from ddelint import config

    found = _config([path], config_file, isolated)
    _emit(config.to_toml(config.resolve(found, {}), found.path), None)


@main.command()
@click.argument("path", default=".", type=click.Path(exists=True))
@config_options
def clean(path: str, config_file: str | None, isolated: bool) -> None:
    """Drop the cache."""
    from ddelint import discovery

    folder = _config([path], config_file, isolated).root / CACHE_FOLDER
    if discovery.clean(folder):
        click.echo(f"removed {folder}", err=True)
    else:
        click.echo(f"no cache at {folder}", err=True)


def _config(paths: Sequence[str], config_file: str | None, isolated: bool) -> Config:
    """The configuration that holds for what all `paths` have in common."""
    from ddelint import config

    if config_file is not None:
        return config.load(Path(config_file))
    folders = [Path(path).absolute() for path in paths if path != STDIN] or [Path.cwd()]
    common = Path(os.path.commonpath([str(path if path.is_dir() else path.parent) for path in folders]))
    return config.Config(None, Path.cwd()) if isolated else config.discover(common)


def _check_options(paths: Sequence[str], given: dict[str, Any]) -> CheckOptions:
    """The call's options over its configuration. Raises ConfigError or UsageError where they make no sense."""
    from ddelint import config

    if given.get("static") and given.get("trace"):
        raise click.UsageError("--static and --trace exclude each other")
    if given.get("static") and (given.get("entry") or given.get("inputs") or given.get("init")):
        raise click.UsageError("--static executes nothing: it takes no --entry, --inputs or --init")
    from_stdin = STDIN in paths
    if from_stdin and len(paths) > 1:
        raise click.UsageError("`-` (standard input) is the only PATH where it is given")
    if given.get("stdin_filename") and not from_stdin:
        raise click.UsageError("--stdin-filename needs the PATH `-`")
    for path in paths:
        if path != STDIN and not os.path.exists(path):
            raise click.UsageError(f"no such file or folder: {path}")
    output = given["output_file"]
    if output is not None and not Path(output).absolute().parent.is_dir():
        raise click.UsageError(f"cannot write {output}: no such folder")
    anchor = [given["stdin_filename"] or "."] if from_stdin else paths
    found = _config(anchor, given["config_file"], given["isolated"])
    references = {name: _reference(name, given.get(name)) for name in ("entry", "inputs", "init")}
    entry = EntryOption(entry=references["entry"], inputs=references["inputs"], init=references["init"])
    jobs = given.get("jobs")
    overrides: dict[str, Any] = {
        "mode": Mode.STATIC if given.get("static") else Mode.TRACE if given.get("trace") else Mode.DEFAULT,
        "fix": given.get("fix"),
        "unsafe_fixes": given.get("unsafe_fixes"),
        "diff": given.get("diff"),
        "entry": entry if any(references.values()) else None,
        "targets": config.targets(given["target"], "--target") if given["target"] is not None else None,
        "unbacked": config.unbacked(given["unbacked"], "--unbacked") if given["unbacked"] is not None else None,
        "backed": given["backed"],
        "graph_breaks": given.get("graph_breaks"),
        "cpp": given.get("cpp"),
        "samples": given["samples"],
        "seed": given["seed"],
        "device": given["device"],
        "python": given["python"],
        "timeout": given["timeout"],
        "memory": given["memory"],
        **_codes(given),
        "assume_compiled": given.get("assume_compiled"),
        "exclude": given.get("exclude") or None,
        "force_exclude": given.get("force_exclude"),
        "respect_gitignore": given.get("respect_gitignore"),
        "cache": False if given.get("no_cache") else None,
        "jobs": (jobs or os.cpu_count() or 1) if jobs is not None else None,
        "stdin": sys.stdin.buffer.read() if from_stdin else None,
        "stdin_filename": (given["stdin_filename"] or STDIN) if from_stdin else None,
        "verbose": given["verbose"],
        "quiet": given["quiet"],
    }
    return config.resolve(found, overrides, tuple(given.get("extend_exclude") or ()))


def _codes(given: dict[str, Any]) -> dict[str, tuple[str, ...] | None]:
    """The rules that the call names; None for an option that was not given. Raises ConfigError."""
    from ddelint import config

    return {
        name: config.code_prefixes(given[name], f"--{name.replace('_', '-')}") if given.get(name) else None
        for name in ("select", "ignore", "extend_select")
    }


def _reference(option: str, text: str | None) -> str | None:
    """FILE.py:NAME with FILE absolute. Raises ConfigError or UsageError where there is no such file."""
    if text is None:
        return None
    from ddelint import config

    absolute = config.absolute_reference(text, f"--{option}", Path.cwd())
    filename = Reference.parse(absolute).filename
    if filename is not None and not os.path.isfile(filename):
        raise click.UsageError(f"--{option}: no such file: {Reference.parse(text).filename}")
    return absolute


def _command(paths: Sequence[str]) -> str:
    """The call as typed, without the options that only say what to do with the result."""
    kept = _about_input(sys.argv[1:])
    if not set(paths) <= set(kept):  # called from Python, not from a shell
        kept = list(paths)
    if kept[:1] != ["check"]:
        kept = ["check", *kept]
    return shlex.join(["ddelint", *kept])


def _run_command(script: ScriptSpec) -> tuple[str, str]:
    """The call of `run` as typed up to the script, without options about the result; and the script's own words."""
    tail = [script.target, *script.arguments]
    words = sys.argv[1:]
    head = words[: -len(tail)] if words[-len(tail) :] == tail else ["run"]
    kept = [word for word in _about_input(head) if word not in {"-m", "--module"}]
    return shlex.join(["ddelint", *kept]), shlex.join([*(["-m"] if script.module else []), *tail])


def _about_input(words: Sequence[str]) -> list[str]:
    """The words without the options that only say what to do with the result."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in _ABOUT_OUTPUT_WITH_VALUE:
            next(remaining, None)
        elif word not in _ABOUT_OUTPUT and word.split("=")[0] not in _ABOUT_OUTPUT_WITH_VALUE:
            kept.append(word)
    return kept


def _give(report: Report, options: CheckOptions, given: dict[str, Any], command: str, arguments: str = "") -> int:
    """Print the report (or the diff, or the new source of standard input); gives the exit code."""
    from ddelint.report import console, formats

    _say(report, options)
    how = formats.Rendering(
        _style(given),
        given["output_format"],
        command,
        options.unsafe_fixes,
        given["statistics"],
        options.quiet,
        arguments,
    )
    text = formats.render_diff(report, how.style, options.unsafe_fixes) if options.diff else formats.render(report, how)
    if options.stdin is not None and options.fix and not options.diff:
        _write_bytes(_fixed_stdin(report, options.stdin))
        click.echo(text, err=True, nl=False)
    else:
        _emit(text, given["output_file"])
    if options.diff and not options.quiet:
        click.echo(console.diff_summary(report, options.unsafe_fixes), err=True)
    for error in report.errors:
        _complain(error)
    if report.errors:
        return COULD_NOT_WORK
    found = bool(report.diffs) if options.diff else bool(report.remaining)
    return FOUND_SOMETHING if found and not given["exit_zero"] else FOUND_NOTHING


def _say(report: Report | VerifyReport, options: CheckOptions) -> None:
    """Notes and warnings, to standard error."""
    for note in () if options.quiet else report.notes:
        click.echo(note, err=True)
    for warning in report.warnings:
        click.echo(f"ddelint: warning: {warning}", err=True)


def _fixed_stdin(report: Report, data: bytes) -> bytes:
    """What was read, rewritten where there was something to mend, in its own encoding."""
    from ddelint.source import SourceFile

    for name, text in report.rewritten.items():
        return SourceFile.from_bytes(name, data).encode(text)
    return data


def _style(given: dict[str, Any]) -> Style:
    from ddelint.report.style import for_stream

    return for_stream(None if given["output_file"] else sys.stdout, given["color"], bool(given["verbose"]))


def _emit(text: str, filename: str | None) -> None:
    """Write the report to standard output, or to a file as a whole."""
    if filename is None:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
        return
    from ddelint.files import write_atomically

    try:
        write_atomically(Path(filename), text.encode())
    except OSError as error:
        raise click.UsageError(f"cannot write {filename}: {error.strerror}") from error


def _write_bytes(data: bytes) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _progress(options: CheckOptions) -> ClosingProgress:
    from ddelint.report.progress import progress

    return progress(options.quiet, options.verbose)
