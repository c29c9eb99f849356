"""What runs only where people look on is compiled by nobody; what runs where they don't is."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

TEXT = """
import logging
import torch

logger = logging.getLogger(__name__)

class Solver(torch.nn.Module):
    def __init__(self, verbose, debug_mode, config, loud=True):
        super().__init__()
        self.verbose = verbose
        self.debug_mode = debug_mode
        self.config = config
        self.rounds = config.rounds

    def forward(self, x: torch.Tensor, verbose=None, debug: bool = False):
        for step in range(self.rounds):
            {test}
                print(f"{{step}}: {{int((x > 0).sum())}}")
                if (x > 0).any():
                    print("some")
            x = x + 1
        return x
"""


@pytest.mark.parametrize(
    "test",
    [
        "if self.verbose:",
        "if self.verbose and step % 5 == 0:",
        "if step % 5 == 0 and self.config.verbose:",
        "if self.config.solver.verbosity > 1:",
        "if self.debug_mode:",
        "if verbose:",
        "if debug:",
        "if logger.isEnabledFor(logging.DEBUG):",
    ],
)
def test_what_is_shown_to_people_on_request(tmp_path: Path, test: str) -> None:
    assert rows(tmp_path, {"solver.py": TEXT.format(test=test)}) == []


@pytest.mark.parametrize(
    "test",
    [
        "if not self.verbose:",
        "if self.rounds:",
        "if self.config.verbose or step % 5 == 0:",
        "if self.config.verbosity == 0:",
        "if self.verbose is None:",
        "if True:",
    ],
)
def test_what_others_run_too(tmp_path: Path, test: str) -> None:
    assert [row for _, row in rows(tmp_path, {"solver.py": TEXT.format(test=test)})] == [18, 19]


@pytest.mark.parametrize(
    ("test", "off", "on"),
    [
        ("if verbose:", "x: torch.Tensor, verbose=None", "x: torch.Tensor, verbose=True"),
        ("if verbose > 0:", "x: torch.Tensor, verbose=None", "x: torch.Tensor, *, verbose=1"),
        ("if self.verbose:", "verbose, debug_mode, config,", "config, debug_mode=False, verbose=True,"),
    ],
)
def test_a_switch_that_is_on(tmp_path: Path, test: str, off: str, on: str) -> None:
    text = TEXT.format(test=test).replace(off, on)
    assert [row for _, row in rows(tmp_path, {"solver.py": text})] == [18, 19]


@pytest.mark.parametrize("more", ["x = x + 1", "return x", "self.rows = x", "x[0] = 1", "break"])
def test_what_is_not_only_shown(tmp_path: Path, more: str) -> None:
    text = TEXT.format(test="if self.verbose:").replace("            x = x + 1\n", f"                {more}\n")
    assert [row for _, row in rows(tmp_path, {"solver.py": text})] == [18, 19]


@pytest.mark.parametrize(
    ("test", "found"), [("if (x > 0).any() and self.verbose:", 1), ("if self.verbose and x.any():", 0)]
)
def test_what_is_asked_before_the_switch(tmp_path: Path, test: str, found: int) -> None:
    text = TEXT.format(test=test)
    assert [row for _, row in rows(tmp_path, {"solver.py": text})] == [17] * found


@pytest.mark.parametrize(("value", "found"), [("True", [18, 19]), ("os.environ.get('LOUD')", []), ("False", [])])
def test_a_switch_of_the_module(tmp_path: Path, value: str, found: list[int]) -> None:
    text = TEXT.format(test="if VERBOSE:").replace("import logging", f"import os; VERBOSE = {value}; import logging")
    assert [row for _, row in rows(tmp_path, {"solver.py": text})] == found


@pytest.mark.parametrize("switch", ["debug = (x > 0).any()", "debug = x.sum().item()"])
def test_a_switch_that_depends_on_data(tmp_path: Path, switch: str) -> None:
    text = TEXT.format(test=f"{switch}\n            if debug:")
    assert [row for _, row in rows(tmp_path, {"solver.py": text})][:1] == [18]


@pytest.mark.parametrize(
    "test",
    [
        "if verbose is True:",
        "if verbose == 1:",
        "if bool(self.verbose):",
        "if 0 < self.config.verbosity:",
        "if logger.isEnabledFor(logging.INFO):",
        "if logger.isEnabledFor(10):",
    ],
)
def test_other_spellings_of_a_request(tmp_path: Path, test: str) -> None:
    assert rows(tmp_path, {"solver.py": TEXT.format(test=test)}) == []


@pytest.mark.parametrize(
    "test",
    [
        "if __debug__:",
        "if __debug__ and step > 2:",
        "if logger.isEnabledFor(logging.WARNING):",
        "if logger.isEnabledFor(logging.ERROR) and step > 2:",
        "if logger.isEnabledFor(30):",
        "if verbose >= 0:",
        "if -1 < verbose:",
        "if verbose == 0:",
    ],
)
def test_what_is_asked_for_unless_somebody_says_otherwise(tmp_path: Path, test: str) -> None:
    text = TEXT.format(test=test).replace("verbose=None", "verbose=0")
    assert [row for _, row in rows(tmp_path, {"solver.py": text})] == [18, 19]


DEFAULTS = """
import os
import torch

LOUD, RATE = 1, 2
VERBOSE: bool = True
{head}

class Base(torch.nn.Module):
    def __init__(self, verbose={verbose}, loud=True, quiet=False, level=1):
        super().__init__()
        {made}

class Solver(Base):
    {level}

    def forward(self, x{parameter}):
        {test}
            x.sum() if (x > 0).any() else x
        return x
"""


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"made": "self.verbose = verbose", "verbose": "True"}, 1),
        ({"made": "self.verbose = verbose", "verbose": "False"}, 0),
        ({"made": "self.verbose = loud"}, 1),
        ({"made": "self.verbose = not quiet"}, 1),
        ({"made": "self.verbose: bool = not loud"}, 0),
        ({"made": "self.verbose = level > 0"}, 1),
        ({"made": "self.verbose = level > 1"}, 0),
        ({"made": "self.verbose = self.loud = loud"}, 1),
        ({"made": "self.verbose = int(os.environ.get('LOUD', '0'))"}, 0),
        ({"made": "self.verbose = verbose", "verbose": "VERBOSE"}, 1),
        ({"made": "self.verbose = self.verbose"}, 0),
        ({"level": "verbose = True"}, 1),
        ({"level": "verbose = False"}, 0),
        ({"test": "if verbose:", "parameter": ", verbose=VERBOSE"}, 1),
        ({"test": "if verbose > 1:", "parameter": ", verbose=1"}, 0),
        ({"test": "if verbose > 1:", "parameter": ", verbose=2"}, 1),
        ({"test": "if self.config.verbose:", "head": "class Config:\n    verbose: bool = True"}, 1),
        ({"test": "if self.config.verbose:", "head": "class Config:\n    verbose: bool = False"}, 0),
        ({"test": "if verbose:", "head": "verbose = debug = None\ndebug = verbose"}, 0),
    ],
)
def test_what_a_switch_is_by_default(tmp_path: Path, changes: dict[str, str], found: int) -> None:
    parts = {"head": "", "made": "pass", "level": "", "parameter": "", "test": "if self.verbose:", "verbose": "None"}
    assert len(rows(tmp_path, {"solver.py": DEFAULTS.format(**parts | changes)})) == found


def test_a_switch_that_a_caller_hands_on(tmp_path: Path) -> None:
    text = """
import torch

class Solver(torch.nn.Module):
    def forward(self, x, verbose={default}):
        self.show(x, verbose)
        return x

    def show(self, x, verbose):
        if verbose:
            int((x > 0).sum())
"""
    assert rows(tmp_path, {"solver.py": text.format(default="True")}) == [("solver.py", 11)]
    assert rows(tmp_path, {"solver.py": text.format(default="False")}) == []


SHOWING = """
import torch

class Model(torch.nn.Module):
    def __init__(self, verbose):
        super().__init__()
        self.verbose = verbose

    def show(self, x, verbose=None):
        {first}
        {then}

    def forward(self, x: torch.Tensor, verbose=None, other=None):
        self.show(x)
        {shown}
        return x
"""
SOME = 'print("some" if x.any() else "none")'


@pytest.mark.parametrize(
    ("shown", "found"),
    [
        (f"verbose and {SOME}", []),
        (f"len(x) > 3 and self.verbose and {SOME}", []),
        (f"x.all() and verbose and {SOME}", [15]),
        (f"verbose or {SOME}", [15]),
        (f"other and {SOME}", [15]),
        (f"not verbose and {SOME}", [15]),
        (f"verbose = verbose and {SOME}", [15]),
    ],
)
def test_an_expression_that_shows(tmp_path: Path, shown: str, found: list[int]) -> None:
    text = SHOWING.format(first="pass", then="pass", shown=shown)
    assert sorted({row for _, row in rows(tmp_path, {"a.py": text})}) == found


@pytest.mark.parametrize(
    ("first", "then", "found"),
    [
        ("if not self.verbose: return", SOME, []),
        ("if not verbose:\n            return None", SOME, []),
        ("if not other: return", SOME, [11]),
        ("if self.verbose: return", SOME, [11]),
        ("if not self.verbose: return", f"{SOME}; return x", [11]),
        ("if not self.verbose: return", f"{SOME}; self.seen = x", [11]),
        ("if not self.verbose: return x", SOME, [11]),
    ],
)
def test_what_is_left_unless_people_look_on(tmp_path: Path, first: str, then: str, found: list[int]) -> None:
    text = SHOWING.format(first=first, then=then, shown="pass")
    assert sorted({row for _, row in rows(tmp_path, {"a.py": text})}) == ([12] if "\n" in first and found else found)
