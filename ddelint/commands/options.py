"""The options that commands share, and what a call's options come to over its configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ddelint.commands.completion import rule_codes
from ddelint.commands.destinations import FormatType, files_of, flattened
from ddelint.commands.mistakes import no_such_path
from ddelint.settings.options import DEVICES, FORMATS, CheckOptions, EntryOption, Mode, Reference
from ddelint.system.files import LARGE
from ddelint.system.streams import read_input

if TYPE_CHECKING:
    from ddelint.settings.config import Config

STDIN = "-"
_SIZES = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
Command = TypeVar("Command", bound=Callable[..., Any])


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


def comma_separated(ctx: click.Context, param: click.Parameter, values: Sequence[str] | None) -> tuple[str, ...] | None:
    """A repeatable option whose values may also be joined by commas; None where it was not given."""
    if not values:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def options_of(*decorators: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


run_options = options_of(
    click.option(
        "--target", "target", multiple=True, callback=comma_separated, metavar="export,strict,compile",
        help="What must work afterwards.  [default: export,compile]",
    ),
    click.option("--unbacked", metavar="NAME.DIM,…", help="Input dimensions to treat as unbacked; or `all`, `none`."),
    click.option("--guards", is_flag=True, default=None,
                 help="Also report which lines guard on input sizes, and which numbers are specialized."),
    click.option("--backed", "guards_as_before", is_flag=True, default=None, hidden=True),  # its name until 0.2
    click.option("--graph-breaks/--no-graph-breaks", default=None,
                 help="With `--target compile`: what no rewrite keeps may leave the graph."),
    click.option("--cpp", is_flag=True, default=None,
                 help="Show the C++ functions between a call and a question (costs half a second)."),
    click.option("--samples", type=click.IntRange(min=1), metavar="N",
                 help="Input sets that verification draws.  [default: 64]"),
    click.option("--seed", type=click.IntRange(min=0), metavar="N",
                 help="Where the input sets start from.  [default: 0]"),
    click.option("--device", type=click.Choice(DEVICES), help="Where compiled output is verified.  [default: auto]"),
    click.option("--gpu", metavar="GPU", help="Assemble and interpret its code without a device (sm_90, H100, …)."),
    click.option("--python", metavar="PATH", help="The interpreter whose torch does the tracing.  [default: this one]"),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
                 help="For one entry, from its loading to its fixes.  [default: 300]"),
    click.option("--memory", type=Size(), metavar="SIZE", help="What tracing may take.  [default: 8G]"),
)  # fmt: skip
entry_options = options_of(
    click.option("--entry", metavar="FILE.py:NAME", help="What to run: a module class, an instance or a function."),
    click.option("--inputs", metavar="FILE.py:NAME", help="What gives its arguments: a callable, a tuple, or what "
                 "`run --save-inputs` wrote (FILE.safetensors)."),
    click.option("--init", metavar="FILE.py:NAME", help="Arguments for the class's constructor."),
    run_options,
)  # fmt: skip
config_options = options_of(
    click.option("--config", "config_file", type=click.Path(exists=True, dir_okay=False), metavar="FILE",
                 help="Take the configuration from this file."),
    click.option("--isolated", is_flag=True, help="Ignore configuration files."),
)  # fmt: skip
code_options = options_of(
    click.option("--select", multiple=True, callback=comma_separated, shell_complete=rule_codes, metavar="CODES",
                 help="Rules to report; prefixes count (DDE1)."),
    click.option("--ignore", multiple=True, callback=comma_separated, shell_complete=rule_codes, metavar="CODES",
                 help="Rules not to report."),
    click.option("--extend-select", multiple=True, callback=comma_separated, shell_complete=rule_codes, metavar="CODES",
                 help="Rules to report on top."),
)  # fmt: skip
selection_options = options_of(
    code_options,
    click.option("--assume-compiled", is_flag=True, default=None,
                 help="Look at every function, not only at those that something compiles."),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="Leave out, instead of the default exclusions."),
    click.option("--extend-exclude", multiple=True, metavar="PATTERN", help="Leave out, too."),
    click.option("--force-exclude", is_flag=True, default=None, help="Leave out files given by name, too."),
    click.option("--respect-gitignore/--no-respect-gitignore", default=None,
                 help="Skip what git ignores.  [default: yes]"),
    click.option("--diff-base", metavar="REV",
                 help="Only findings on lines changed since this git revision; `origin/main...`: since HEAD left it."),
    click.option("--baseline", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Hide findings recorded in FILE; report stale entries."),
    click.option("--write-baseline", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Make all that is found known to FILE."),
)  # fmt: skip
format_options = options_of(
    click.option("--output-format", type=FormatType(), multiple=True, callback=flattened, metavar="FORMAT[:FILE]",
                 help=f"One of {', '.join(FORMATS)}; with `:FILE`, written there on top of what is printed. May be "
                 "given several times.  [default: full]"),
    click.option("--statistics", is_flag=True, help="Count findings by rule instead of listing them."),
)  # fmt: skip
fix_options = options_of(
    click.option("--fix", is_flag=True, help="Write the safe fixes."),
    click.option("--unsafe-fixes", is_flag=True,
                 help="Take fixes, too, that narrow what is accepted or need a promise."),
    click.option("--diff", is_flag=True, help="Print what --fix would change; write nothing."),
    click.option("--no-suggest", is_flag=True, help="Find and explain only; work out no fixes."),
    click.option("--timings", is_flag=True, help="Say on standard error where the time of traced runs went."),
    click.option("--patch", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Write there what --fix changes (without it: would change), for `git apply`."),
)  # fmt: skip
process_options = options_of(
    click.option("--no-cache", is_flag=True, help="Neither read nor write the cache."),
    click.option("-j", "--jobs", type=click.IntRange(min=0), metavar="N", help="Processes at a time; 0: one a core."),
)  # fmt: skip
output_options = options_of(
    click.option("-o", "--output-file", type=click.Path(dir_okay=False), metavar="FILE",
                 help="Write the report there."),
    click.option("--exit-zero", is_flag=True, help="Exit with 0 although something was found."),
    click.option("-q", "--quiet", is_flag=True, help="Print findings and nothing else."),
    click.option("-v", "--verbose", count=True, help="Print more: refused fixes, whole stacks, what is being done."),
    click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True),
)  # fmt: skip


def config_of(paths: Sequence[str], config_file: str | None, isolated: bool) -> Config:
    """The configuration that holds for what all `paths` have in common."""
    from ddelint.settings import config

    if config_file is not None:
        return config.load(Path(config_file))
    if isolated:
        return config.Config(None, Path.cwd())
    return config.of_paths([path for path in paths if path != STDIN] or ["."])


def check_options(paths: Sequence[str], given: dict[str, Any]) -> CheckOptions:
    """The call's options over its configuration. Raises ConfigError or UsageError where they make no sense."""
    from ddelint.settings import config
    from ddelint.settings.layers import with_layers

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
            raise click.UsageError(no_such_path(path))
    if given["python"]:
        _check_interpreter(given["python"])
    formats = given.get("output_format")
    asked = [destination.output_format for destination in formats] if isinstance(formats, tuple) else []
    if "github-review" in asked and not given.get("diff_base"):
        raise click.UsageError("github-review suggests changes of changed lines: it needs --diff-base REV")
    if given.get("no_suggest") and (given.get("fix") or given.get("diff") or given.get("patch")):
        raise click.UsageError("--no-suggest works out no fixes: it takes no --fix, --diff or --patch")
    files_of(given)
    anchor = [given["stdin_filename"] or "."] if from_stdin else paths
    found = config_of(anchor, given["config_file"], given["isolated"])
    references = {name: _reference(name, given.get(name)) for name in ("entry", "inputs", "init")}
    entry = EntryOption(entry=references["entry"], inputs=references["inputs"], init=references["init"])
    jobs = given.get("jobs")
    overrides: dict[str, Any] = {
        "mode": Mode.STATIC if given.get("static") else Mode.TRACE if given.get("trace") else Mode.DEFAULT,
        "fix": given.get("fix"),
        "unsafe_fixes": given.get("unsafe_fixes"),
        "diff": given.get("diff"),
        "patch": True if given.get("patch") else None,
        "suggest": False if given.get("no_suggest") else None,
        "timings": given.get("timings") or None,
        "diff_base": given.get("diff_base"),
        "entry": entry if any(references.values()) else None,
        "targets": config.targets(given["target"], "--target") if given["target"] is not None else None,
        "unbacked": config.unbacked(given["unbacked"], "--unbacked") if given["unbacked"] is not None else None,
        "guards": given["guards"] or given["guards_as_before"],
        "graph_breaks": given.get("graph_breaks"),
        "cpp": given.get("cpp"),
        "samples": given["samples"],
        "seed": given["seed"],
        "device": given["device"],
        "gpu": config.gpu(given["gpu"], "--gpu") if given.get("gpu") is not None else None,
        "python": given["python"],
        "timeout": given["timeout"],
        "memory": given["memory"],
        **codes_of(given),
        "assume_compiled": given.get("assume_compiled"),
        "exclude": given.get("exclude") or None,
        "force_exclude": given.get("force_exclude"),
        "respect_gitignore": given.get("respect_gitignore"),
        **{name: os.path.abspath(given[name]) for name in ("baseline", "write_baseline") if given.get(name)},
        "cache": False if given.get("no_cache") else None,
        "lasting": False if given["isolated"] else None,
        "jobs": (jobs or os.cpu_count() or 1) if jobs is not None else None,
        "stdin": read_input(LARGE) if from_stdin else None,
        "stdin_filename": (given["stdin_filename"] or STDIN) if from_stdin else None,
        "verbose": given["verbose"],
        "quiet": given["quiet"],
    }
    pinned = given["config_file"] is not None or given["isolated"]
    return with_layers(found, overrides, tuple(given.get("extend_exclude") or ()), pinned)


def codes_of(given: dict[str, Any]) -> dict[str, tuple[str, ...] | None]:
    """The rules that the call names; None for an option that was not given. Raises ConfigError."""
    from ddelint.settings import config

    return {
        name: config.code_prefixes(given[name], f"--{name.replace('_', '-')}") if given.get(name) else None
        for name in ("select", "ignore", "extend_select")
    }


def _check_interpreter(python: str) -> None:
    import shutil  # slow to load

    if shutil.which(python) is None:
        raise click.UsageError(f"--python: there is no interpreter {python}")


def _reference(option: str, text: str | None) -> str | None:
    """FILE.py:NAME with FILE absolute. Raises ConfigError or UsageError where there is no such file."""
    if text is None:
        return None
    from ddelint.settings import config

    absolute = config.absolute_reference(text, f"--{option}", Path.cwd())
    filename = Reference.parse(absolute).filename
    if filename is not None and not os.path.isfile(filename):
        raise click.UsageError(f"--{option}: no such file: {Reference.parse(text).filename}")
    return absolute
