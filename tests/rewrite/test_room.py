"""How rewrite/ is built: moves match `ast` and yield nodes, writing/ renders them, and nobody else knows about text."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ddelint.rewrite

ROOM = Path(ddelint.rewrite.__file__).parent
PACKAGE = ROOM.parent
MOST_LINES, MOST_LINES_A_MOVE = 450, 135
BUILDING = ("expr", "lines")
"""Methods of the writer whose first argument is a template."""
PLACES = ("col_offset", "end_col_offset", "end_lineno", "newline", "indentation", "line_start")
"""Attributes that only somebody who handles text would read."""


def files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOM / folder).rglob("*.py"))]


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def problems(text: str) -> Iterator[str]:
    """What in a module builds source as text, or handles places in it."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="Edit" | "Span" as name)):
                yield f"{node.lineno}: {name}(…)"
            case ast.Call(func=ast.Attribute(attr=method), args=[template, *_]) if method in BUILDING:
                if isinstance(template, (ast.JoinedStr, ast.BinOp)) or ".format" in ast.unparse(template):
                    yield f"{node.lineno}: a template that is put together"
            case ast.Attribute(attr=name) if name in PLACES:
                yield f"{node.lineno}: .{name}"
            case ast.Constant(value=str() as value) if value in ("\n", "\r\n", "    "):
                yield f"{node.lineno}: {value!r}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _writes_code(node.func):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            if any(_is_code(inner) for each in arguments for inner in ast.walk(each)):
                yield f"{node.lineno}: an f-string that is written"


def _is_code(node: ast.AST) -> bool:
    """Whether an f-string puts together more than a name."""
    return isinstance(node, ast.JoinedStr) and not all(
        re.fullmatch(r"[\w.]*", str(part.value)) for part in node.values if isinstance(part, ast.Constant)
    )


def _writes_code(node: ast.Attribute) -> bool:
    """Whether a method is one of the writer's, that for the text of a string literal aside."""
    return node.attr != "string" and ast.unparse(node.value).rpartition(".")[2] == "write"


@pytest.mark.parametrize("path", files("moves", "parts"), ids=lambda path: path.stem)
def test_moves_build_nodes_not_text(path: Path) -> None:
    assert list(problems(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "line",
    [
        "Edit(span, text)",
        "Span(name, 1, 1, 1, 1)",
        "write.expr(f'{a} + {b}')",
        "context.write.expr('{} ' + sign + ' {}', a, b)",
        "self.write.lines('{}'.format(a))",
        "context.write.of(f'{name}.item()')",
        "context.write.expr('{}', f'not {name}')",
        "source.indentation(node)",
        "text + '\\n'",
    ],
)
def test_the_test_above_can_fail(line: str) -> None:
    assert list(problems(line))


def test_only_writing_and_parts_know_libcst() -> None:
    allowed = (ROOM / "writing", ROOM / "parts")
    wrong = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if any(name.partition(".")[0] == "libcst" for name in imported(path))
        and not any(path.is_relative_to(folder) for folder in allowed)
        and path != ROOM / "writing"
    ]
    typed_only = {"rewrite/candidate.py"}
    assert set(wrong) <= typed_only


def test_no_move_imports_another_and_no_part_a_move() -> None:
    wrong = [
        f"{path.name} imports {name}"
        for path in files("moves", "parts", "reading", "writing", "proving")
        for name in imported(path)
        if name.startswith("ddelint.rewrite.moves") and path.name != "__init__.py"
    ]
    assert not wrong


def test_reading_writes_nothing() -> None:
    wrong = [
        f"{path.name} imports {name}"
        for path in files("reading")
        for name in imported(path)
        if name.startswith(("ddelint.rewrite.writing", "ddelint.rewrite.parts", "ddelint.rewrite.search", "libcst"))
    ]
    assert not wrong


def test_no_file_is_long_and_moves_are_small_on_the_average() -> None:
    lengths = {path.relative_to(ROOM): len(path.read_text("utf-8").splitlines()) for path in ROOM.rglob("*.py")}
    assert {str(path): length for path, length in lengths.items() if length > MOST_LINES} == {}
    moves = [length for path, length in lengths.items() if path.parts[0] == "moves"]
    assert sum(moves) / len(moves) <= MOST_LINES_A_MOVE


def loads_libcst(code: str) -> bool:
    program = f"{code}\nimport sys\nprint('libcst' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1] == "True"


MOVES = "from ddelint.rewrite.moves import load_moves\nload_moves()"


def test_the_moves_are_loaded_without_libcst() -> None:
    assert not loads_libcst(MOVES)
    assert loads_libcst(f"{MOVES}\nimport ddelint.rewrite.writing.rendering")


def static_check(path: Path) -> str:
    return (
        "from ddelint.cli import main\ntry:\n"
        f"    main(['check', '--static', '--no-cache', '--exit-zero', {str(path)!r}], prog_name='ddelint')\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code"
    )


PROGRAM = (
    "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x, t):\n        {body}\n        return x\n"
)


@pytest.mark.parametrize(
    ("body", "loaded"),
    [
        ("if x.sum() > 0:\n            x = x + 1", False),
        ("for i in range(t.max().item()):\n            x = x + i", False),
        ("if x.any():\n            return t", False),
        ("return x * int(t.sum())", True),
    ],
)
def test_a_static_run_loads_libcst_only_to_write_a_fix(body: str, loaded: bool, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(PROGRAM.format(body=body))
    assert loads_libcst(static_check(path)) is loaded
