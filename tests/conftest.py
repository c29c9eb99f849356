"""What tests of more than one room need."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import pytest

from ddelint.trace.worker_process import Worker

SMALL = "not slow"
"""What the options in pyproject.toml choose."""


def pytest_configure(config: pytest.Config) -> None:
    """The small size is for whoever names nothing, or a folder: a test or a file that is named runs whole."""
    chosen = any(word.startswith("-m") for word in config.invocation_params.args)
    if config.option.markexpr == SMALL and not chosen and all(".py" in path for path in config.args):
        config.option.markexpr = ""


@pytest.fixture(scope="session")
def worker() -> Iterator[Worker]:
    """One worker for all tests: torch is imported once. Sessions are opened and closed by the tests."""
    with Worker() as shared:
        yield shared


@pytest.fixture(autouse=True)
def torch_is_as_it_was() -> Iterator[None]:
    """No test leaves torch in a state in which those after it fail: without it, they would be blamed."""
    yield
    shapes = sys.modules.get("torch.fx.experimental.symbolic_shapes")
    assert shapes is None or not vars(shapes.TLS).get("suppress_guards"), "checks of sizes are ignored from here on"


@pytest.fixture
def expect(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the one of that name in `snapshots` beside the test; what differs is left as `.actual`.

    `python scripts/accept_snapshots.py` takes such files over.
    """
    folder = request.path.parent / "snapshots"

    def check(name: str, text: str) -> None:
        stored, actual = folder / f"{name}.txt", folder / f"{name}.actual"
        expected = stored.read_text("utf-8") if stored.exists() else None
        if text != expected:
            actual.write_text(text, "utf-8")
        assert text == expected, f"{stored.name} differs: look at {actual.name}, then scripts/accept_snapshots.py"

    return check
