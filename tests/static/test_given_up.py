"""What cannot be read to its end is said, and what merely looks deep is read: chains, tables, long tests."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source
from ddelint.static.walk import walker

HEAD = "import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x, y, ids):\n"
TAIL = "        if x.any():\n            x = x + 1\n        return x\n"
SECOND = """

class Second(torch.nn.Module):
    def forward(self, x):
        n = x.sum().item()
        if n > 3:
            x = x + 1
        return x
"""
MEMORY = 1_500 << 20
"""Bytes of address space in which the command line must do."""


def program(*lines: str, tail: str = TAIL) -> str:
    """A module whose `forward` has these lines before a test, and another module."""
    return HEAD + "".join(f"        {line}\n" for line in lines) + tail + SECOND


def check(text: str) -> list[Diagnostic]:
    return check_source(SourceFile("model.py", text))


def asked(text: str) -> list[str]:
    """What the findings underline."""
    return [found.expression for found in check(text)]


def arms(number: int, test: str = "x[{0}] > 0", body: str = "y = {0}") -> list[str]:
    """The lines of an `if` with so many arms."""
    lines = []
    for arm in range(number):
        lines += [f"{'el' if arm else ''}if {test.format(arm)}:", f"    {body.format(arm)}"]
    return lines


def loops(depth: int, body: str, number: int) -> list[str]:
    """The lines of so many loops in one another around so many statements."""
    lines = [f"{'    ' * level}for i{level} in y:" for level in range(depth)]
    return [*lines, *[f"{'    ' * depth}{body}"] * number]


CHAINS = {
    "sum": "y = " + " + ".join(["x"] * 700),
    "long sum": "y = " + " + ".join(["x"] * 5_000),
    "mixed": "y = x" + "".join(f" {'+-*/'[i % 4]} {i + 1}" for i in range(2_000)),
    "texts": "y = " + " + ".join(["str(ids)"] * 2_000),
    "literals": "y = " + " + ".join(['"a"'] * 5_000),
    "masks": "y = " + " | ".join(f"(ids == {i})" for i in range(1_500)),
    "added to": "y += " + " + ".join(["x"] * 1_500),
    "calls": "y = x" + ".relu().abs()" * 1_000,
    "calls with arguments": "y = x" + ".clamp(0).add(1)" * 1_000,
    "builder": "y = ids.builder" + ".add(x)" * 2_000,
    "attributes": "y = self" + ".a" * 2_000,
    "subscripts": "y = x" + "[0]" * 2_000,
    "signs": "y = " + "- " * 1_500 + "x",
    "negations": "y = " + "not " * 1_500 + "ids.known",
    "conditional": "y = " + "".join(f"{i} if ids.kind == {i} else " for i in range(1_500)) + "0",
    "comparisons": "y = " + " < ".join(f"a{i}" for i in range(5_000)),
    "list": "y = [" + ", ".join(f"x[{i}]" for i in range(5_000)) + "]",
    "dict": "y = {" + ", ".join(f"{i}: x[{i}]" for i in range(5_000)) + "}",
    "brackets": "y = " + "[" * 150 + "x" + "]" * 150,
}


@pytest.mark.parametrize("line", CHAINS.values(), ids=CHAINS)
def test_what_is_merely_long_is_read(line: str) -> None:
    assert asked(program(line)) == ["x.any()", "n > 3"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [219, 700, 2_000])
@pytest.mark.parametrize("end", [[], ["else:", "    y = 0"]], ids=["open", "closed"])
def test_each_arm_of_a_long_elif_is_asked(number: int, end: list[str]) -> None:
    assert asked(program(*arms(number), *end)) == [*(f"x[{i}] > 0" for i in range(number)), "x.any()", "n > 3"]


def test_what_the_arms_bind_is_known_behind_them() -> None:
    lines = [*arms(300, "self.kind == {0}", "m = {0}"), "else:", "    m = ids.max().item()"]
    assert "m > 7" in asked(program(*lines, "if m > 7:", "    x = x * 2"))


def test_a_switch_still_tells_what_was_bound_under_it() -> None:
    lines = ("if self.training:", "    z = x", "elif self.other:", "    z = ids", "else:", "    z = None")
    later = ("if self.training:", "    y = y + 1 if z is None else y")
    assert asked(program(*lines, *later)) == ["x.any()", "n > 3"]


def test_the_last_of_many_conditional_expressions_is_evaluated() -> None:
    chain = "".join(f"{i} if ids.kind == {i} else " for i in range(1_000))
    assert "x.sum().item() > 2" in asked(program(f"y = {chain}(1 if x.sum().item() > 2 else 0)"))


DEEP = {
    "powers": "y = " + " ** ".join(["x"] * 900),
    "more powers": "y = " + " ** ".join(["x"] * 2_500),
}


@pytest.mark.parametrize("line", DEEP.values(), ids=DEEP)
def test_what_nests_too_deep_is_said_at_the_function(line: str) -> None:
    said, other = check(program(line))
    assert (said.code, said.span.row, said.origin, said.expression) == ("DDE004", 5, ("static",), "forward")
    assert "`forward` in row 6, which nests too deep" in said.message
    assert other.expression == "n > 3"


def test_how_deep_is_read_depends_on_nobody_else() -> None:
    """Inductor raises the recursion limit of a process, and a caller may stand deep in its own functions."""

    def from_below(levels: int) -> list[str]:
        return from_below(levels - 1) if levels else [found.code for found in check(text)]

    text = program(DEEP["powers"])
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(5_000)
        assert from_below(0) == from_below(500) == ["DDE004", "DDE101"]
        assert sys.getrecursionlimit() == 5_000
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize("line", ["y = " + "- " * 9_000 + "x", "y = " + " ** ".join(["x"] * 9_000)], ids=["-", "**"])
def test_what_python_cannot_parse_costs_its_function_only(line: str) -> None:
    said, other = check(program(line))
    assert (said.code, said.span.row, other.expression) == ("DDE004", 5, "n > 3")
    assert "nests too deep to be parsed" in said.message


def test_a_function_that_takes_all_its_steps_leaves_the_others_theirs() -> None:
    said, other = check(program(*loops(3, "y = (x * 2 + 1).relu().sum() + x[0]", 3_000)))
    assert (said.code, said.span.row, other.expression) == ("DDE004", 5, "n > 3")
    assert f"after {walker.MOST_STEPS:,} steps, what stands behind row 3008" in said.message


def test_each_function_is_said_once_when_the_files_steps_are_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walker, "MOST_STEPS", 300)
    monkeypatch.setattr(walker, "MOST_STEPS_IN_A_FILE", 500)
    methods = "".join(
        f"\n\nclass M{number}(torch.nn.Module):\n    def forward(self, x):\n"
        + "        x = x + 1\n" * 200
        + "        if x.any():\n            x = x + 1\n        return x\n"
        for number in range(3)
    )
    first, second, third = check("import torch\n" + methods)
    assert {found.code for found in (first, second, third)} == {"DDE004"}
    assert "after 300 steps" in first.message
    assert "after 1" in second.message
    assert "was not looked at" in third.message


def test_a_class_that_could_not_be_read_is_not_taken_for_an_empty_one() -> None:
    deep = " ** ".join(["2"] * 900)
    text = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n"
        f"    def __init__(self):\n        self.layers = [1]\n        self.power = {deep}\n\n"
        "    def forward(self, x):\n        return x if self.power > x.sum() else x\n\n"
        "    @torch.compile\n    def other(self, x):\n        return x if self.power > x.sum() else x\n"
    )
    assert [(found.code, found.expression) for found in check(text) if found.code == "DDE004"] == [
        ("DDE004", "forward"),
        ("DDE004", "other"),
    ]


def test_a_long_way_of_calls_is_followed_to_its_end() -> None:
    helpers = "".join(f"\n\ndef helper{i}(x):\n    return helper{i + 1}(x)\n" for i in range(40))
    end = "\n\ndef helper40(x):\n    if x.any():\n        return x\n    return x\n"
    assert [found.span.row for found in check(program("y = helper0(x)") + helpers + end)] == [7, 15, 181]


def test_a_function_that_got_numbers_first_is_read_for_a_tensor() -> None:
    lines = [f"scaled({number})" for number in range(8)]
    text = program(*lines, "y = scaled(x)") + (
        "\n\ndef scaled(x):\n    if isinstance(x, torch.Tensor) and x.sum() > 3:\n        return x\n    return x\n"
    )
    assert "x.sum() > 3" in asked(text)


def test_a_comment_on_the_functions_line_silences_it() -> None:
    text = program(DEEP["powers"]).replace("ids):", "ids):  # ddelint: ignore[DDE004]", 1)
    from ddelint.settings import suppressions

    source = SourceFile("model.py", text)
    assert [found.expression for found in suppressions.apply(source, check(text))] == ["n > 3"]


def test_the_cache_keeps_what_was_given_up(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text(program(DEEP["powers"]))
    options = CheckOptions(mode=Mode.STATIC, cache_folder=str(tmp_path / "cache"))
    reports = [run_check([str(tmp_path)], options, Silence()) for _ in range(2)]
    assert [[found.code for found in report.diagnostics] for report in reports] == [["DDE004", "DDE101"]] * 2
    assert reports[0].diagnostics == reports[1].diagnostics


def run(folder: Path, text: str, *more: str) -> subprocess.CompletedProcess[str]:
    """`ddelint check --static` of a file, in so much memory."""
    (folder / "model.py").write_text(text)
    code = (
        f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))\n"
        "from ddelint.cli import main\nmain()"
    )
    command = [sys.executable, "-c", code, "check", "--static", "--no-cache", *more, "model.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_command_line_says_it_and_fails(tmp_path: Path) -> None:
    only = program(DEEP["powers"]).removesuffix(SECOND)
    done = run(tmp_path, only)
    assert (done.returncode, done.stderr) == (1, "")
    assert "model.py:5:5 DDE004 budget-exhausted" in done.stdout
    assert run(tmp_path, only, "--ignore", "DDE004").stdout == "All checks passed!\n"


MANY = {
    "attributes": "if " + " and ".join(f"self.a{i}" for i in range(20_000)) + ":\n            y = x",
    "none": "if " + " or ".join(f"self.a{i} is None" for i in range(20_000)) + ":\n            y = x",
    "value": "y = " + " and ".join(f"self.a{i}" for i in range(20_000)),
    "list": "y = [" + ", ".join(f"x[{i}]" for i in range(20_000)) + "]",
    "statements": "\n        ".join(f"y{i} = x + {i}" for i in range(20_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("line", MANY.values(), ids=MANY)
def test_twenty_thousand_of_anything_need_little_memory(tmp_path: Path, line: str) -> None:
    done = run(tmp_path, program(line), "--output-format", "json")
    assert (done.returncode, done.stderr) == (1, "")
    assert [found["expression"] for found in json.loads(done.stdout)] == ["x.any()", "n > 3"]


@pytest.mark.slow
def test_as_many_questions_are_all_asked_in_little_memory(tmp_path: Path) -> None:
    tests = " and ".join(f"m != {i}" for i in range(1, 6_001))
    done = run(tmp_path, program("m = ids.sum().item()", f"if {tests}:", "    y = x"), "--output-format", "json")
    assert done.returncode == 1, done.stderr
    assert len(json.loads(done.stdout)) == 6_002
