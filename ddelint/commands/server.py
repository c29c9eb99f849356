"""`server`: the language server over standard input and output."""

from __future__ import annotations

import click


@click.command(short_help="Serve an editor (language server over stdio).")
def server() -> None:
    """Show findings in an editor while code is written, and fix them there (Language Server Protocol, over stdio)."""
    from importlib.util import find_spec

    if find_spec("pygls") is None:
        raise click.UsageError("the language server needs pygls: pip install 'ddelint[server]'")
    from ddelint.server.language_server import serve

    serve()
