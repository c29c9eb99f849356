"""Small programs as entries, built in this process."""

from __future__ import annotations

from loaded_programs import Program, options, program

__all__ = ["Program", "options", "program"]
