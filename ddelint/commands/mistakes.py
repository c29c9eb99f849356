"""A mistake in a call, said in one line as a colleague would: what is wrong, and what was probably meant."""

from __future__ import annotations

import os

import click

from ddelint.settings.config import suggestion

NEAR_PATHS = 200
"""How many names of a folder are compared with a path that does not exist."""


def line_of(error: click.ClickException) -> str:
    """The line for an error that click found while it read the call."""
    match error:
        case click.NoSuchOption():
            return _no_such_option(error)
        case click.MissingParameter(param=click.Parameter() as missing, ctx=click.Context() as context):
            return f"{missing.make_metavar(context)} is missing: {_usage(context)}"
        case click.BadParameter(param=click.Parameter() as parameter):
            return f"{_name(parameter)}: {_bad_value(error, parameter)}"
        case click.BadOptionUsage():
            return f"{error.option_name} needs a value{_more(error.ctx)}"
        case click.UsageError(ctx=click.Context() as context) if error.message.startswith("Got unexpected extra"):
            extra = error.message.partition("(")[2].rstrip(")")
            return f"`{extra}` is one argument too many: {_usage(context)}"
    return error.format_message()


def refused(error: OSError) -> str:
    """The line for what the system would not do, wherever that was: a full disk, a folder that is gone."""
    try:
        os.getcwd()
    except OSError:
        return "the working directory is not there any more"
    why = error.strerror or str(error)
    return f"{os.fsdecode(error.filename)}: {why}" if isinstance(error.filename, str | bytes) else why


def no_such_path(path: str, what: str = "file or folder") -> str:
    """The line for a PATH that does not exist; it may be a misspelt command, which comes first in the call, too."""
    import difflib  # slow to load

    commands = _commands()
    near = difflib.get_close_matches(path, commands, n=1, cutoff=0.7)
    if near:
        return f"no such {what}: {path} (did you mean the command `{near[0]}`?)"
    folder, name = os.path.split(path.rstrip(os.sep))
    try:
        os.stat(path)
    except PermissionError as error:
        return f"cannot read {path}: {error.strerror}"
    except OSError:
        pass  # it is not there
    try:
        names = sorted(os.listdir(folder or "."))[:NEAR_PATHS]
    except OSError:
        return f"no such {what}: {path}"
    beside = [os.path.join(folder, other) for other in names]
    return f"no such {what}: {path}{suggestion(os.path.join(folder, name), beside)}"


def _commands() -> list[str]:
    context = click.get_current_context(silent=True)
    root = context.find_root().command if context is not None else None
    return list(root.commands) if isinstance(root, click.Group) else []


def _no_such_option(error: click.NoSuchOption) -> str:
    known = []
    if error.ctx is not None:
        known = [name for p in error.ctx.command.get_params(error.ctx) for name in (*p.opts, *p.secondary_opts)]
    return f"there is no option `{error.option_name}`{suggestion(error.option_name, known)}{_more(error.ctx)}"


def _bad_value(error: click.BadParameter, parameter: click.Parameter) -> str:
    kind = parameter.type
    if isinstance(kind, click.Choice):
        word = error.message.split("'")[1] if "'" in error.message else ""
        choices = [str(choice) for choice in kind.choices]
        return f"`{word}` is none of {', '.join(choices)}{suggestion(word, choices)}"
    message = error.message.rstrip(".")
    if isinstance(kind, click.IntRange | click.FloatRange):
        word = message.split("'")[1] if "'" in message else message.split()[0]
        least = "more than" if kind.min_open else "at least"
        number = "a whole number" if isinstance(kind, click.IntRange) else "a number"
        return f"`{word}` is not {number} of {least} {kind.min}"
    return message[:1].lower() + message[1:]


def _name(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return (parameter.metavar or parameter.human_readable_name).strip("[]…")


def _usage(context: click.Context) -> str:
    return " ".join([context.command_path, *context.command.collect_usage_pieces(context)])


def _more(context: click.Context | None) -> str:
    return f"; `{context.command_path} --help` lists what there is" if context is not None else ""
