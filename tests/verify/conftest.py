"""Small programs as entries, built in this process."""

from __future__ import annotations

import pytest
from loaded_programs import Program, options, program

from ddelint.trace import overlay

__all__ = ["Program", "options", "program"]


@pytest.fixture(scope="module", autouse=True)
def objects_that_are_there_already() -> None:
    """Leave them out of each look for functions, as a worker does before it forks: in this process they are many."""
    overlay.remember()
