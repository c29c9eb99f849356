"""What tests of more than one room need."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ddelint.trace.session import Worker


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """One worker for all tests: torch is imported once. Sessions are opened and closed by the tests."""
    with Worker() as shared:
        yield shared
