"""What stands in for a tensor while compiling, in branches that are for compiling or for eager alone."""

from __future__ import annotations

import textwrap

import pytest

from ddelint.rewrite.writing.compiling import settled

STAND_IN = "torch.cat([x, more]) if torch.compiler.is_compiling() else x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            f"""
            if torch.compiler.is_compiling():
                filled = {STAND_IN}
                y = torch.where(c, filled[0], z)
            elif len(x):
                filled = {STAND_IN}
                y = filled[0]
            """,
            """
            if torch.compiler.is_compiling():
                filled = torch.cat([x, more])
                y = torch.where(c, filled[0], z)
            elif len(x):
                y = x[0]
            """,
        ),
        (
            f"""
            if not torch.compiler.is_compiling() and len(x):
                filled = {STAND_IN}
                y = filled[0]
            else:
                filled = {STAND_IN}
            """,
            f"""
            if not torch.compiler.is_compiling() and len(x):
                y = x[0]
            else:
                filled = {STAND_IN}
            """,
        ),
        (
            f"""
            if torch.compiler.is_compiling() or len(x):
                y = ({STAND_IN})[0]
            else:
                other = {STAND_IN}
                y = other[0]
            """,
            f"""
            if torch.compiler.is_compiling() or len(x):
                y = ({STAND_IN})[0]
            else:
                other = x
                y = other[0]
            """,
        ),
        (f"filled = {STAND_IN}\ny = filled[0]\n", f"filled = {STAND_IN}\ny = filled[0]\n"),
    ],
    ids=["both", "eager", "either", "anywhere"],
)
def test_each_branch_has_the_side_that_it_takes(text: str, expected: str) -> None:
    assert settled(textwrap.dedent(text), {"x": "filled"}) == textwrap.dedent(expected)


@pytest.mark.parametrize("indent", ["    ", "  "])
def test_what_stood_in_brackets_stands_as_far_in_as_its_statement(indent: str) -> None:
    text = (
        "if torch.compiler.is_compiling():\n"
        "    x = (\n        torch.cat(\n            [x, more],\n        )[: torch.sym_max(n, 1)]\n"
        "        if torch.compiler.is_compiling()\n        else x\n    )\n    y = x.max()\n"
    )
    nearer = (
        "if torch.compiler.is_compiling():\n"
        "    x = torch.cat(\n        [x, more],\n    )[: torch.sym_max(n, 1)]\n    y = x.max()\n"
    )
    assert settled(text.replace("    ", indent), {"x": "x"}) == nearer.replace("    ", indent)
