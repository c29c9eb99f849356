"""Where the rule files lie. Apart from the rules, as a call that finds nothing needs none of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ddelint.errors import DdelintError


class CatalogError(DdelintError):
    """A rule file that doesn't say what it must; the message names the file and the key."""


@cache
def rules_folder() -> Path:
    """Where the rule files lie: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "rules", package.parent / "rules"):
        if (folder / "DDE001.toml").is_file():
            return folder
    raise CatalogError(f"no rules found beside {package}: the installation is incomplete")
