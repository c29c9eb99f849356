"""The pytest plugin: `pytest --ddelint` checks each collected file; `assert_traceable` pins that a program compiles.

Every pytest run in an environment with ddelint imports this, so it imports nothing that is not needed at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ddelint.report.model import Report
    from ddelint.settings.options import CheckOptions

MARKER = "ddelint"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--ddelint`."""
    group = parser.getgroup("ddelint", "data-dependent errors of PyTorch code")
    group.addoption(
        "--ddelint",
        action="store_true",
        help="Check each collected .py file with ddelint's static pass (`-m ddelint`: nothing else).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker of the items; a configuration that cannot be read is reported once, before anything is collected."""
    config.addinivalue_line("markers", f"{MARKER}: a file that ddelint's static pass looks at (pytest --ddelint)")
    if config.getoption("--ddelint"):
        from ddelint.errors import DdelintError

        try:
            _options(config.rootpath)
        except DdelintError as error:
            raise pytest.UsageError(f"ddelint: {error}") from None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """One item for each Python file that the configuration does not exclude."""
    if not parent.config.getoption("--ddelint") or file_path.suffix != ".py":
        return None
    collected: pytest.Collector = CheckedFile.from_parent(parent, path=file_path)
    return collected


class CheckedFile(pytest.File):
    """A file to be checked."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its one item; none where the configuration excludes the file."""
        from ddelint.errors import DdelintError
        from ddelint.settings.discovery import python_files

        try:
            wanted = bool(python_files([str(self.path)], _options(self.path.parent)).files)
        except DdelintError:
            wanted = True  # the item says what is wrong
        if wanted:
            yield CheckedItem.from_parent(self, name="ddelint")


class FindingsLeft(Exception):
    """What the static pass has found in a file."""

    def __init__(self, report: Report) -> None:
        super().__init__(repr(report))
        self.report = report


class CheckedItem(pytest.Item):
    """Fails with the findings of its file."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.add_marker(MARKER)

    def runtest(self) -> None:
        """Run the static pass; nothing of the file is executed."""
        from ddelint.pipeline import run_check
        from ddelint.report.model import Silence

        report = run_check([str(self.path)], _options(self.path.parent), Silence())
        if report.remaining or report.errors:
            raise FindingsLeft(report)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The findings as `ddelint check` prints them; one line where ddelint could not work."""
        from ddelint.errors import DdelintError
        from ddelint.report import console
        from ddelint.report.style import Style

        error = excinfo.value
        if isinstance(error, FindingsLeft):
            how = Style(color=self.config.get_terminal_writer().hasmarkup)
            lines = [*console.render_report(error.report, how, unsafe_fixes=False), *error.report.errors]
            return "\n".join(lines).rstrip()
        if isinstance(error, DdelintError):
            return f"ddelint: error: {error}"
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """What the headline of a failure says."""
        return self.path, None, f"ddelint: {self.path.name}"


@cache
def _options(folder: Path) -> CheckOptions:
    """What the configuration says for the files of a folder. Raises ConfigError."""
    from ddelint.settings import config
    from ddelint.settings.options import Mode

    return config.resolve(config.discover(folder), {"mode": Mode.STATIC, "force_exclude": True, "jobs": 1})


@pytest.fixture
def assert_traceable(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`assert_traceable(fn, *args, unbacked="x.0", target="compile")`: the call compiles, on every path, guardless.

    `fn` (a function, a module, a method) is traced under fake tensors, every question that data decides answered both
    ways, and goes through the targets (default: the configuration's, else export and compile), with the dimensions
    `unbacked` (`NAME.DIM,…`, or `all`) never specialized. The test fails with the findings, as `ddelint check` prints
    them. Other keywords: `kwargs` of the call, `samples` (input sets compared with eager, default 8), `seed`,
    `timeout`, `memory`, `device`, `backend` of torch.compile (default `eager`: no code is generated), and `fixes=True`
    to have a failure propose what fixes it. All of it happens in forks of the test's process.

    `spec` (a ShapesSpec, `dynamic_shapes` of export, or `FILE.py:NAME`): the call compiles as one graph under it, which
    takes sizes drawn from within it; with `exact=True` it must allow all that the program takes. `fn` may also be
    `FILE.py:NAME`, from the test's folder, with `inputs` and `init` as of `ddelint check`.
    """

    def require(
        fn: Callable[..., Any] | str,
        *args: Any,
        kwargs: Mapping[str, Any] | None = None,
        unbacked: str | Sequence[str] | None = None,
        target: str | Sequence[str] | None = None,
        samples: int = 8,
        backend: str = "eager",
        fixes: bool = False,
        spec: Any = None,
        exact: bool = False,
        inputs: str | None = None,
        init: str | None = None,
        **given: Any,
    ) -> None:
        __tracebackhide__ = True
        from ddelint.api import run_options
        from ddelint.errors import DdelintError
        from ddelint.pipeline.opening import Call
        from ddelint.settings.options import EntryOption
        from ddelint.traceability import NotTraceable, Sizes, require_traceable

        here = request.path.parent
        root = str(request.config.rootpath)
        failure: Exception | None = None
        try:
            options = run_options(root, {"unbacked": unbacked, "target": target, "samples": samples, **given})
            if spec is None and exact:
                raise DdelintError("exact is about a spec: give one")
            if spec is not None and unbacked is not None:
                raise DdelintError("unbacked and spec say the same: give one of them")
            sizes = None if spec is None else Sizes(_from(here, spec), exact)
            program: Call | EntryOption = (
                EntryOption("", _from(here, fn), _from(here, inputs), _from(here, init))
                if isinstance(fn, str)
                else Call(fn, args, kwargs or {})
            )
            require_traceable(program, [root], options, backend=backend, fixes=fixes, sizes=sizes)
        except (NotTraceable, DdelintError) as error:
            failure = error.with_traceback(None)  # how ddelint got there says nothing of the test
        if failure is not None:
            raise failure from None

    return require


def _from(folder: Path, named: Any) -> Any:
    """`FILE.py:NAME` from a folder; anything else as it is."""
    from ddelint.pipeline.entries import split_name

    return str(folder / named) if isinstance(named, str) and split_name(named)[0] is not None else named
