"""`completion`: what a shell needs to complete commands, options, files and rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from ddelint.commands.output import emit

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_DDELINT_COMPLETE"
"""The environment variable by which a shell's script asks for completions; click reads it."""


@click.command(short_help="Print what a shell needs to complete commands and rules.")
@click.argument("shell", metavar="SHELL", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands, options and rules in SHELL.

    \b
    For good, put one of these lines into the shell's start-up file:
      bash, ~/.bashrc                     source <(ddelint completion bash)
      zsh,  ~/.zshrc                      source <(ddelint completion zsh)
      fish, ~/.config/fish/config.fish    ddelint completion fish | source
    """
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None, shell
    context = click.get_current_context()
    emit(kind(context.find_root().command, {}, "ddelint", VARIABLE).source().rstrip() + "\n", None)


def rule_codes(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Rules whose code or name begins with what was typed, behind the last comma of a list."""
    from click.shell_completion import CompletionItem

    from ddelint.knowledge import catalog

    done, comma, word = incomplete.rpartition(",")
    return [
        CompletionItem(done + comma + text, help=rule.name)
        for code, rule in catalog.rules().items()
        for text in (code, rule.name)
        if (text.lower().startswith(word.lower()) if word else text == code)
    ]
