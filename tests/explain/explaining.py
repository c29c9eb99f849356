"""What the tests of explain share."""

from __future__ import annotations

from pathlib import Path

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "explain"
PROJECT = FIXTURES / "project"
"""The programs that the texts tell of."""
