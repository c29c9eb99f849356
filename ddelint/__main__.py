"""`python -m ddelint`, and the `ddelint` command."""

from __future__ import annotations

from ddelint.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    main(prog_name="ddelint")
