"""What a rewrite does not change stays as it is, byte for byte, in every way that a file may be written."""

from __future__ import annotations

import ast
import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import libcst as cst
import pytest

from ddelint.rewrite.writing.rendering import rendered
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.rewrite.writing.writer import Writer
from ddelint.sources.source import SourceFile

FILES, STATEMENTS = 20, 12
"""How many files of installed packages are drawn, and how many statements of each."""


def installed(seed: int) -> list[Path]:
    """Files of the standard library and of installed packages, drawn by a seed."""
    folders = [Path(json.__file__).parent.parent, *(Path(p) for p in sys.path if p.endswith("site-packages"))]
    skipped = ("lib2to3", "test", "tests", "__pycache__", "site-packages")
    found = sorted(
        path
        for folder in folders
        for name in ("json", "email", "asyncio", "unittest", "http", "libcst", "sympy/core", "torch/nn/modules",
                     "torch/_dynamo", "rich", "click", "hypothesis", "networkx/algorithms", "_pytest", "jinja2")
        for path in (folder / name).rglob("*.py")
        if not set(path.relative_to(folder).parts) & set(skipped)
    )  # fmt: skip
    return random.Random(seed).sample(found, min(FILES, len(found)))


def statements(source: SourceFile) -> Iterator[ast.stmt]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_statements_of_installed_packages_are_put_back(seed: int) -> None:
    differing, done = [], 0
    for path in installed(seed):
        source = SourceFile.read(path)
        found = list(statements(source))
        for statement in random.Random(seed).sample(found, min(STATEMENTS, len(found))):
            write = Writer(source)
            candidate = rendered(source, "same", Rewrite("", {statement: write.block([statement])}))
            done += 1
            if candidate is not None:  # a rewrite that changes nothing is none
                differing.append((str(path), statement.lineno, [edit.content for edit in candidate.edits]))
    assert done > 100
    assert not differing


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5])
def test_expressions_of_installed_packages_are_put_back(seed: int) -> None:
    differing, done = [], 0
    for path in installed(seed):
        source = SourceFile.read(path)
        write = Writer(source)
        found = [node for node in ast.walk(source.tree) if isinstance(node, ast.expr)]
        for node in random.Random(seed).sample(found, min(4 * STATEMENTS, len(found))):
            if isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del)):
                continue
            if isinstance(node, ast.FormattedValue) or any(isinstance(n, ast.Slice) for n in getattr(node, "elts", ())):
                continue  # no expression of its own
            candidate = rendered(source, "same", Rewrite("", {node: write.of(node)}))
            done += 1
            if candidate is not None and ast.dump(ast.parse(source.apply(candidate.edits))) != ast.dump(source.tree):
                differing.append((str(path), node.lineno, source.segment(node)))
    assert done > 300
    assert not differing


LAYOUTS = {
    "plain": (
        "import torch\n\n\ndef f(x):\n    a = 1  # one\n    if x.sum() > 0:  # two\n        y = x\n"
        "    # three\n    return y\n"
    ),
    "tabs": "def f(x):\n\tif x.sum() > 0:\n\t\ty = (x +\n\t\t\t1)\n\treturn y\n",
    "two spaces": "def f(x):\n  if x.sum() > 0:\n    y = x\n  return y\n",
    "mixed": "def f(x):\n\tif x.sum() > 0:\n\t    y = x\n\treturn y\n",
    "form feed": "a = 1\n\x0c\ndef f(x):\n    if x.sum() > 0:\n        y = x\n    return y\n",
    "continued": (
        "def f(x):\n    if x.sum() > 0 and \\\n            x.max() > 1:\n        y = x + \\\n            1\n"
        "    return y\n"
    ),
    "comments everywhere": (
        "def f(x):  # 0\n    # 1\n    if (  # 2\n        x.sum()  # 3\n        # 4\n        > 0  # 5\n    ):  # 6\n"
        "        # 7\n        y = [  # 8\n            x,  # 9\n            # 10\n        ]  # 11\n        # 12\n"
        "    # 13\n    return y  # 14\n"
    ),
    "formatted strings": (
        "def f(x):\n    if x.sum() > 0:\n        y = f'{x.sum()} {x!r:>{3}}'\n    return f'''\n  {y}\n'''\n"
    ),
    "elif": (
        "def f(x):\n    if x > 0:\n        y = 1\n    elif x.sum() > 0:  # b\n        y = 2\n    else:  # c\n"
        "        y = 3\n    return y\n"
    ),
    "decorators": (
        "class A:\n    @property\n    # why\n    @torch.no_grad()\n    def f(self):\n        if self.x.sum() > 0:\n"
        "            return 1\n"
    ),
    "trailing commas": (
        "def f(x):\n    if x.sum() > 0:\n        y = g(\n            x,\n            2,\n        )\n    return y\n"
    ),
    "yielded": (
        "def f(x):\n    if x.sum() > 0:\n        yield g(\n            x\n        )\n"
        "    yield from h(\n        x\n    )\n"
    ),
    "no last newline": "def f(x):\n    if x.sum() > 0:\n        y = 1\n    return y",
    "strings": "def f(x):\n    if x.sum() > 0:\n        y = '''a\n  b\n'''\n    return y, \"a\" 'b'\n",
    "not ascii": "def f(größe):\n    if größe.sum() > 0:  # naïve — ü\n        größe = '中文'\n    return größe\n",
}
ENDINGS = {"LF": "\n", "CRLF": "\r\n", "CR": "\r"}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_bytes_outside_of_what_changes(layout: str, ending: str) -> None:
    """Each statement gets a line before it: all else stays, in each layout and with each line end."""
    source = SourceFile("model.py", LAYOUTS[layout].replace("\n", ENDINGS[ending]))
    write, done = Writer(source), 0
    for statement in ast.walk(source.tree):
        if not isinstance(statement, ast.stmt) or write.is_elif(statement):
            continue
        candidate = rendered(source, "before", Rewrite("", {statement: [*write.lines("marked = 1"), statement]}))
        assert candidate is not None
        after = source.apply(candidate.edits)
        line = source.indentation(statement) + "marked = 1" + source.newline
        if statement in source.tree.body and isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            line += 2 * source.newline
        assert after.replace(line, "", 1) == source.text
        done += 1
    assert done > 2


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_blocks_move_deeper(layout: str, ending: str) -> None:
    """Each statement goes into both arms of an `if`: the same tree as if somebody had typed it, or it is refused."""
    source = SourceFile("model.py", LAYOUTS[layout].replace("\n", ENDINGS[ending]))
    write, done = Writer(source), 0
    for statement in ast.walk(source.tree):
        if not isinstance(statement, (ast.Assign, ast.Return, ast.If)):
            continue
        lines = write.beside([statement], [statement])
        candidate = rendered(source, "beside", Rewrite("", {statement: lines}))
        if candidate is None:
            assert layout in ("form feed", "mixed")
            continue
        after = source.apply(candidate.edits)
        assert ast.unparse(ast.parse(after)).count(ast.unparse(statement).splitlines()[0].removeprefix("el")) >= 2
        assert {line[len(line.rstrip("\r\n")) :] for line in SourceFile("m.py", after).lines} <= {source.newline, ""}
        done += 1
    assert done or layout in ("form feed", "mixed")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "utf-8"])
def test_encodings(encoding: str) -> None:
    cookie = "" if encoding == "utf-8-sig" else f"# -*- coding: {encoding} -*-\n"
    data = f"{cookie}x = 'ü'\nif y.sum() > 0:\n    z = 'é'\n".encode(encoding)
    source = SourceFile.from_bytes("model.py", data)
    (statement,) = (node for node in source.tree.body if isinstance(node, ast.If))
    candidate = rendered(source, "test", Rewrite("", {statement.test: cst.Name("ready")}))
    assert candidate is not None
    assert source.encode(source.apply(candidate.edits)) == data.replace(b"y.sum() > 0", b"ready")


REFUSED = {
    "one line": ("if x: y = 1\n", ast.Assign),
    "semicolon": ("a = 1; b = 2\n", ast.Assign),
    "behind a colon": ("class A: pass\n", ast.Pass),
}


@pytest.mark.parametrize("name", REFUSED)
def test_statements_that_share_their_lines_are_refused(name: str) -> None:
    text, kind = REFUSED[name]
    source = SourceFile("model.py", text)
    statement = next(node for node in ast.walk(source.tree) if isinstance(node, kind))
    assert rendered(source, "gone", Rewrite("", {statement: []})) is None
    assert rendered(source, "more", Rewrite("", {statement: [statement, *Writer(source).lines("z = 3")]})) is None


def test_a_comment_that_would_be_lost_goes_above_and_inside_an_expression_refuses() -> None:
    source = SourceFile("model.py", "y = f(\n    a,  # first\n    b,\n)  # whole\n")
    (statement,) = source.tree.body
    write = Writer(source)
    candidate = rendered(source, "test", Rewrite("", {statement: write.lines("y = 1")}))
    assert candidate is not None
    assert source.apply(candidate.edits) == "# first\ny = 1  # whole\n"
    assert isinstance(statement, ast.Assign)
    assert rendered(source, "test", Rewrite("", {statement.value: write.expr("g()")})) is None


LONG = f"check({'x' * 100}, why)"
BROKEN = f"check(  {{}}\n    {'x' * 100},\n    why,\n)\n"
PROSE = f"# {'why ' * 30}".strip()


@pytest.mark.parametrize(
    ("comment", "more", "built", "expected"),
    [
        ("# why", "", "check(x)", "check(x)  # why\n"),
        ("# why", "    # deeper\n", "check(x)", "# why\n# deeper\ncheck(x)\n"),
        ("# noqa", "    # deeper\n", "check(x)", "# deeper\ncheck(x)  # noqa\n"),
        ("# type: ignore[x]", "", LONG, BROKEN.format("# type: ignore[x]")),
        ("# pragma: no cover", "", LONG, BROKEN.format("# pragma: no cover")),
        (PROSE, "", "check(x)", f"{PROSE}\ncheck(x)\n"),
        ("# noqa", "", '"""\n"""', '# noqa\n"""\n    """\n'),
    ],
)
def test_the_comment_of_a_header_stays_with_its_line(comment: str, more: str, built: str, expected: str) -> None:
    source = SourceFile("model.py", f"if bad:  {comment}\n{more}    fail()\n")
    candidate = rendered(source, "test", Rewrite("", {source.tree.body[0]: Writer(source).lines(built)}))
    assert candidate is not None
    assert source.apply(candidate.edits) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("y = f'{x.sum()} and more'\n", "y = f'{total} and more'\n"),
        ("y = f'{x} {x.sum()} {y.sum()}'\n", "y = f'{x} {total} {y.sum()}'\n"),
        ("y = f'é {x.sum():>{w}}' 'and' f\"{w}\"\n", "y = f'é {total:>{w}}' 'and' f\"{w}\"\n"),
    ],
)
def test_inside_a_formatted_string(text: str, expected: str) -> None:
    source = SourceFile("model.py", text)
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Call))
    candidate = rendered(source, "test", Rewrite("", {node: cst.Name("total")}))
    assert candidate is not None
    assert source.apply(candidate.edits) == expected
