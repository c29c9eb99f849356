"""Commands and options; no logic. Whatever is heavy is imported by the command that needs it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import click

from ddelint.commands.completion import VARIABLE, completion, rule_codes
from ddelint.commands.endings import ended_by_signals
from ddelint.commands.help import SectionedCommand
from ddelint.commands.init import init
from ddelint.commands.mistakes import line_of, no_such_path, refused
from ddelint.commands.options import (
    STDIN,
    check_options,
    code_options,
    codes_of,
    comma_separated,
    config_of,
    config_options,
    entry_options,
    fix_options,
    format_options,
    output_options,
    process_options,
    run_options,
    selection_options,
)
from ddelint.commands.output import (
    COULD_NOT_WORK,
    FOUND_NOTHING,
    FOUND_SOMETHING,
    command_line,
    complain,
    emit,
    give,
    progress_of,
    run_command_line,
    say,
    style_of,
    write_reports,
)
from ddelint.commands.server import server
from ddelint.commands.shapes import shapes
from ddelint.commands.test_rules import test_rules
from ddelint.commands.verify import verify
from ddelint.errors import DdelintError
from ddelint.report.visible import visible
from ddelint.settings.options import CACHE_FOLDER
from ddelint.system import streams
from ddelint.version import VERSION

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


START = """\b
To start:
  ddelint model.py                  what is wrong (`ddelint PATH…` is `ddelint check PATH…`)
  ddelint model.py --diff           what --fix would change, each change verified
  ddelint run train.py --steps 1    the same for what a script compiles or exports
  ddelint rule DDE102               why a rule is there, and what to write instead
"""


class Commands(click.Group):
    """The command group: `check` where no command is named; every error one line and exit code 2."""

    command_class = SectionedCommand

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order in which people meet them."""
        return list(self.commands)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands; where none begins like this, files, which `check` takes."""
        return super().shell_complete(ctx, incomplete) or click.Path().shell_complete(
            ctx, ctx.command.params[0], incomplete
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `check` before arguments that name no command."""
        if args and args[0] not in self.commands and args[0] not in {"-h", "--help", "-V", "--version"}:
            args = ["check", *args]
        return super().parse_args(ctx, args)

    def main(self, args: Sequence[str] | None = None, *rest: Any, **kwargs: Any) -> NoReturn:
        """Run and exit with 0, 1 or 2; a traceback of ours is shown with `-v` or DDELINT_DEBUG only."""
        words = list(args) if args is not None else sys.argv[1:]
        try:
            with ended_by_signals():
                result = super().main(words, *rest, **{**kwargs, "standalone_mode": False, "complete_var": VARIABLE})
            sys.stdout.flush()
            sys.exit(result if isinstance(result, int) else FOUND_NOTHING)
        except BrokenPipeError:  # the reader has seen enough
            streams.abandon(1)
            sys.exit(FOUND_SOMETHING)
        except click.exceptions.NoArgsIsHelpError as error:
            click.echo(error.format_message(), err=True)
        except click.ClickException as error:
            complain(line_of(error))
        except (click.Abort, KeyboardInterrupt):
            complain("interrupted")
        except Exception as error:  # the promise to the user: one line, and exit code 2
            expected = isinstance(error, DdelintError)
            asked = not expected and not {"-v", "-vv", "--verbose"}.isdisjoint(words)
            if os.environ.get("DDELINT_DEBUG") or asked:
                import traceback  # hardly ever needed, and slow to load

                traceback.print_exc()
            if expected:
                complain(str(error))
            elif isinstance(error, OSError):
                complain(refused(error))
            else:
                complain(f"{type(error).__name__}: {error} (a bug in ddelint; DDELINT_DEBUG=1 shows where)")
        sys.exit(COULD_NOT_WORK)


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=START,
    no_args_is_help=True,
)
@click.version_option(VERSION, "-V", "--version", prog_name="ddelint", message="%(prog)s %(version)s")
def main() -> None:
    """Find, explain and fix data-dependent errors in PyTorch code."""


@main.command()
@click.argument("paths", nargs=-1, metavar="PATH…", type=click.Path(readable=False))
@fix_options
@click.option("--static", "static", is_flag=True, help="Execute nothing: the static pass only.")
@click.option("--trace", "trace", is_flag=True, help="Require an entry to trace.")
@entry_options
@selection_options
@config_options
@format_options
@process_options
@click.option("--stdin-filename", metavar="FILE", help="The name of what is read from standard input (PATH `-`).")
@output_options
def check(paths: tuple[str, ...], **given: Any) -> int:
    """Find data-dependent errors under PATH…; --fix fixes them."""
    if not paths:
        raise click.UsageError("no path given: ddelint check PATH…")
    options = check_options(paths, given)
    from ddelint.pipeline import run_check

    with progress_of(options) as progress:
        report = run_check(paths, options, progress)
    return give(report, options, given, command_line(paths))


@main.command(
    context_settings={"allow_interspersed_args": False}, short_help="Check what a script compiles, exports or calls."
)
@click.argument("script", metavar="SCRIPT")
@click.argument("arguments", nargs=-1, metavar="[ARGS]…", type=click.UNPROCESSED)
@click.option("-m", "--module", is_flag=True, help="SCRIPT is a module's name, as in `python -m`.")
@click.option(
    "--path",
    "paths",
    multiple=True,
    metavar="PATH",
    help="Files and folders to report and fix.  [default: the script's folder; with -m, the working directory]",
)
@click.option(
    "--capture-modules",
    "patterns",
    multiple=True,
    callback=comma_separated,
    metavar="PATTERN",
    help="Check modules, too, whose class name (`pkg.model.Router`, `Router`) or path in their model matches.",
)
@click.option(
    "--save-inputs",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the captured arguments there; `check --inputs FILE.safetensors` reads them.",
)
@click.option(
    "--shapes",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write the sizes of every captured call there; `shapes --stream FILE` reads them.",
)
@fix_options
@run_options
@selection_options
@config_options
@format_options
@process_options
@output_options
def run(
    script: str,
    arguments: tuple[str, ...],
    module: bool,
    paths: tuple[str, ...],
    patterns: tuple[str, ...] | None,
    save_inputs: str | None,
    shapes: str | None,
    **given: Any,
) -> int:
    """Run SCRIPT with ARGS; check what it compiles, exports or calls, with the arguments it is called with."""
    if not module and not os.path.exists(script):
        raise click.UsageError(no_such_path(script, "script"))
    if not paths:
        paths = (".",) if module else (script,) if os.path.isdir(script) else (os.path.dirname(script) or ".",)
    options = check_options(paths, given)
    from ddelint.nouns.protocol import ScriptSpec
    from ddelint.pipeline import run_script

    spec = ScriptSpec(script, module, arguments, patterns or ())
    with progress_of(options) as progress:
        report = run_script(spec, paths, options, progress, save_inputs, shapes)
    return give(report, options, given, *run_command_line(spec))


@main.command(short_help="Explain a pasted error or a log; execute nothing.")
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
@format_options
@output_options
def explain(source: str, paths: tuple[str, ...], **given: Any) -> int:
    """Explain a pasted error, a TORCH_LOGS file or a TORCH_TRACE folder; execute nothing."""
    if source == STDIN and sys.stdin.isatty():
        click.echo("paste the error, then end the input (Ctrl-D)", err=True)
    from ddelint.explain.explain import run_explain
    from ddelint.report import formats
    from ddelint.settings import config

    found = config_of([path for path in paths if os.path.exists(path)], given["config_file"], given["isolated"])
    options = config.resolve(found, {**codes_of(given), "quiet": given["quiet"]})
    report = run_explain(source, paths, options)
    say(report, options)
    quiet = given["quiet"] or not report.diagnostics
    how = formats.Rendering(style_of(given), command="ddelint explain", statistics=given["statistics"], quiet=quiet)
    write_reports(report, how, given)
    return FOUND_SOMETHING if report.diagnostics and not given["exit_zero"] else FOUND_NOTHING


@main.command()
@click.argument("code", required=False, shell_complete=rule_codes)
@click.option("--all", "every", is_flag=True, help="Show all rules.")
@click.option("--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def rule(code: str | None, every: bool, output_format: str, color: str) -> None:
    """Show one rule (its CODE or name), or list all."""
    if (code is None) != every:
        raise click.UsageError("give a rule's code or --all")
    from ddelint.report import rules
    from ddelint.settings import config

    config_of((), None, False)  # rules that the configuration adds are shown, too
    if code is not None:
        chosen = config.known_rule(code)
        text = rules.render_json([chosen], one=True) if output_format == "json" else None
        if text is None:
            text = rules.render_page(chosen, style_of({"color": color, "output_file": None, "verbose": 0}))
        emit(text, None)
        return
    from ddelint.knowledge import catalog

    everything = list(catalog.rules().values())
    if output_format == "json":
        emit(rules.render_json(everything), None)
    else:
        import shutil  # slow to load

        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        emit(rules.render_list(everything, width), None)


@main.command(name="config")
@click.argument("path", default=".", type=click.Path(exists=True))
@config_options
def show_config(path: str, config_file: str | None, isolated: bool) -> None:
    """Print the configuration that holds for PATH, as TOML."""
    from ddelint.settings import config

    found = config_of([path], config_file, isolated)
    emit(config.to_toml(config.resolve(found, {}), found.path, found.extends), None)


@main.command()
@click.argument("path", default=".", type=click.Path(exists=True))
@config_options
def clean(path: str, config_file: str | None, isolated: bool) -> None:
    """Drop the cache."""
    from ddelint.knowledge import cache

    folder = config_of([path], config_file, isolated).root / CACHE_FOLDER
    cleaned = cache.clean(folder)
    if cleaned.problem:
        raise click.UsageError(f"the cache is not removed: {cleaned.problem}")
    if cleaned.left:
        left = visible(", ".join(cleaned.left))
        click.echo(f"emptied {folder}; these are not the cache's, and stay: {left}", err=True)
    else:
        click.echo(f"removed {folder}" if cleaned.removed else f"no cache at {folder}", err=True)


@main.command()
def start() -> None:
    """Keep torch loaded from one traced call to the next, for ten minutes."""
    from ddelint.trace import lasting

    if not lasting.start():
        raise click.UsageError("there is no folder that only you can open, for the socket of what stays loaded")
    click.echo("from now on a traced call leaves torch loaded for ten minutes; `ddelint stop` ends that", err=True)


@main.command()
def stop() -> None:
    """End what `ddelint start` began."""
    from ddelint.trace import lasting

    ended = lasting.stop()
    click.echo("stopped" if ended else "nothing was loaded", err=True)


main.add_command(init)
main.add_command(verify)
main.add_command(shapes)
main.add_command(server)
main.add_command(test_rules)
main.add_command(completion)
