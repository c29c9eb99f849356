"""What users import from ddelint, and what that costs."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ddelint
from ddelint.entry_api import Entry


def test_entry_is_re_exported() -> None:
    assert ddelint.Entry is Entry
    assert "Entry" in ddelint.__all__


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = ddelint.nothing_here


def test_importing_it_loads_nothing_heavy() -> None:
    code = (
        "import sys, ddelint; ddelint.Entry(print, ()); print({'torch', 'sympy', 'libcst', 'rich'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
