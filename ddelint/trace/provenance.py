"""Where a question comes from: the Python stack, mapped to exact expressions of the source.

CPython keeps a column range for each instruction. Most ranges are the range of one `ast` node; those of jumps are not
(a jump for `m` in `n > 4 and m` carries the range of `n > 4`), so for a jump the instruction before it, which made the
tested value, is what counts.
"""

from __future__ import annotations

import ast
import dis
import importlib.util
import os
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

from ddelint.nouns.diagnostics import Frame, Span
from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace import torch_internals

_PACKAGE = os.path.realpath(os.path.dirname(os.path.dirname(__file__))) + os.sep
_SYMPY = os.path.realpath(importlib.util.find_spec("sympy").submodule_search_locations[0]) + os.sep  # type: ignore
_STANDARD = tuple(
    os.path.realpath(path) + os.sep for name in ("stdlib", "platstdlib") if (path := sysconfig.get_paths().get(name))
)
_SITE_PACKAGES = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_MACHINERY = tuple(
    torch_internals.TORCH_FOLDER + path.replace("/", os.sep)
    for path in (
        "__init__.py",
        "overrides.py",
        "_ops.py",
        "_jit_internal.py",
        "_export/",
        "_dispatch/",
        "_dynamo/",
        "_guards.py",
        "_subclasses/",
        "_higher_order_ops/",
        "_library/",
        "fx/",
        "nn/modules/module.py",
        "utils/_contextlib.py",
        "utils/_python_dispatch.py",
        "utils/_sympy/",
        "utils/_stats.py",
        "_prims_common/wrappers.py",
        "_compile.py",
    )
)
"""Torch's plumbing: frames in these files say nothing about what the user called."""
_MOST_FRAMES = 40
_PASSIVE = frozenset(("CACHE", "COPY", "EXTENDED_ARG", "NOP", "RESUME", "SWAP", "TO_BOOL", "NOT_TAKEN", "PUSH_NULL"))


@cache
def real(filename: str) -> str:
    """The file's real path; names of generated code (`<string>`) stay as they are."""
    return filename if filename.startswith("<") else os.path.realpath(filename)


@cache
def is_torch(filename: str) -> bool:
    """Whether code belongs to torch itself or to sympy under it."""
    return real(filename).startswith((torch_internals.TORCH_FOLDER, _SYMPY))


@cache
def is_plumbing(filename: str) -> bool:
    """Code that nobody blames: ours, torch's, the standard library's, and generated code."""
    path = real(filename)
    if path.startswith(("<", _PACKAGE)) or is_torch(filename):
        return True
    return path.startswith(_STANDARD) and not any(part in path for part in _SITE_PACKAGES)


class Paths:
    """The files and folders whose code is ours to blame."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._files = {os.path.realpath(path) for path in paths}
        self._folders = tuple(path + os.sep for path in self._files)
        self._known: dict[str, bool] = {}

    def __contains__(self, filename: object) -> bool:
        assert isinstance(filename, str)
        known = self._known.get(filename)
        if known is None:
            path = real(filename)
            known = self._known[filename] = path in self._files or path.startswith(self._folders)
        return known


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One frame of a stack, stopped at one instruction."""

    code: CodeType
    instruction: int
    """Byte offset of the instruction (`f_lasti`)."""
    frame: FrameType

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The same for the same instruction of the same source, even where the code object was made anew."""
        return (self.code.co_filename, self.code.co_qualname, self.code.co_firstlineno, self.instruction)


def live_stack(until: CodeType) -> list[Place]:
    """The running stack, outermost first, from below the innermost frame of `until` on; our own frames left out."""
    places: list[Place] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not until:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            places.append(Place(frame.f_code, _settled(frame.f_code, frame.f_lasti), frame))
        frame = frame.f_back
    places.reverse()
    return places


def raised_stack(error: BaseException, root: BaseException, until: CodeType) -> list[Place]:
    """The stack at which `root` was raised, outermost first; `root` is `error` itself or one of its causes.

    A cause's traceback starts where the cause was caught, so the frames above that come from `error`'s.
    """
    places = _traceback(root.__traceback__)
    if root is not error and places:
        outer = _traceback(error.__traceback__)
        at = next((i for i, place in enumerate(outer) if place.frame is places[0].frame), len(outer))
        places = outer[:at] + places
    start = max((i + 1 for i, place in enumerate(places) if place.code is until), default=0)
    return [place for place in places[start:] if not place.code.co_filename.startswith(_PACKAGE)]


def _traceback(entry: TracebackType | None) -> list[Place]:
    places = []
    while entry is not None:
        code = entry.tb_frame.f_code
        places.append(Place(code, _settled(code, entry.tb_lasti), entry.tb_frame))
        entry = entry.tb_next
    return places


class Sources:
    """Source text by filename, as the running code was loaded: an overlay's text where its loader gives one."""

    def __init__(self) -> None:
        self._files: dict[str, IndexedSource | None] = {}

    def named(self, filename: str) -> IndexedSource | None:
        """The source of a file whose code is not at hand."""
        if filename not in self._files:
            modules = list(sys.modules.values())
            found = next((m for m in modules if getattr(m, "__file__", None) == filename), None)
            self._files[filename] = _load(filename, vars(found) if found is not None else {})
        return self._files[filename]

    def get(self, code: CodeType, module_globals: Mapping[str, Any]) -> IndexedSource | None:
        """The source of `code`; None where it has none or does not parse."""
        filename = code.co_filename
        if filename not in self._files:
            self._files[filename] = _load(filename, module_globals)
        return self._files[filename]


class IndexedSource(SourceFile):
    """A source file whose nodes are found by position without a walk."""

    @cached_property
    def by_position(self) -> dict[tuple[int, int, int, int], ast.expr | ast.stmt]:
        """(row, byte column, end row, end byte column) → the outermost expression there, else the statement."""
        found: dict[tuple[int, int, int, int], ast.expr | ast.stmt] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.expr, ast.stmt)):
                position = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
                if position not in found or (isinstance(node, ast.expr) and isinstance(found[position], ast.stmt)):
                    found[position] = node
        return found

    @cached_property
    def functions(self) -> dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
        """(name, first row as code objects count it: the first decorator's) → the function."""
        found: dict[tuple[str, int], ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                found[node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])] = node
            elif isinstance(node, ast.Lambda):
                found["<lambda>", node.lineno] = node
        return found


def _load(filename: str, module_globals: Mapping[str, Any]) -> IndexedSource | None:
    if filename.startswith("<"):
        return None
    text = None
    loader: Any = getattr(module_globals.get("__spec__"), "loader", None) or module_globals.get("__loader__")
    if real(str(module_globals.get("__file__", ""))) == real(filename) and hasattr(loader, "get_source"):
        try:
            text = loader.get_source(module_globals.get("__name__"))
        except (ImportError, OSError, SyntaxError):
            text = None
    try:
        if text is None:
            read = SourceFile.read(Path(filename))
            source = IndexedSource(real(filename), read.text, read.encoding)
        else:
            source = IndexedSource(real(filename), text)
        source.tree  # noqa: B018 - parse now: a file that does not parse has no places in it
    except (SourceError, OSError):
        return None
    return source


@dataclass(frozen=True, slots=True)
class Expression:
    """The expression behind one instruction."""

    span: Span
    node: ast.expr | ast.stmt | None
    source: IndexedSource | None

    @property
    def text(self) -> str:
        """The expression as written, on one line; "" where there is no source."""
        return " ".join(self.source.segment(self.node).split()) if self.source and self.node else ""


def expression_at(place: Place, sources: Sources) -> Expression:
    """What stands at `place`: the asking operand for a jump, the iterable for a loop, the value that is unpacked."""
    source = sources.get(place.code, place.frame.f_globals)
    filename = real(place.code.co_filename)
    offset, name = _telling_instruction(place.code, place.instruction)
    position = _positions(place.code)[offset // 2] if offset >= 0 else (None, None, None, None)
    row, end_row, column, end_column = position
    if row is None or end_row is None or column is None or end_column is None:
        row = row or place.frame.f_lineno or 1
        return _whole_line(filename, row, source)
    if source is None:
        return Expression(Span(filename, row, column + 1, end_row, end_column + 1), None, None)
    node = source.by_position.get((row, column, end_row, end_column))
    if node is None:
        span = Span(filename, row, source.column(row, column), end_row, source.column(end_row, end_column))
        node = source.at(span)
        if node is None:
            return Expression(span, None, source)
    node = _asking(node, name, source)
    return Expression(source.span(node), node, source)


def expression_named(summary: traceback.FrameSummary, sources: Sources) -> Expression:
    """What stands where a frame summary points."""
    filename, row = real(summary.filename), summary.lineno or 1
    source = sources.named(summary.filename)
    end_row, column, end_column = summary.end_lineno, summary.colno, summary.end_colno
    if source is None or end_row is None or column is None or end_column is None:
        return _whole_line(filename, row, source)
    node = source.at(Span(filename, row, column + 1, end_row, end_column + 1))
    if node is None:
        return _whole_line(filename, row, source)
    node = _asking(node, "POP_JUMP", source)
    return Expression(source.span(node), node, source)


def _asking(node: ast.expr | ast.stmt, instruction: str, source: SourceFile) -> ast.expr | ast.stmt:
    """The part of `node` that an instruction with the range of the whole of `node` is about."""
    match node:
        case ast.If(test=part) | ast.While(test=part) | ast.Assert(test=part) | ast.IfExp(test=part):
            return part if isinstance(node, ast.stmt) or instruction.startswith("POP_JUMP") else node
        case ast.For(iter=part) | ast.AsyncFor(iter=part):
            return part
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp() if instruction in (
            "GET_ITER",
            "FOR_ITER",
            "CALL",
        ):
            return node.generators[0].iter
        case ast.Expr(value=part):
            return part
        case ast.Return(value=ast.expr() as part):
            return part
    if instruction.startswith("UNPACK") and isinstance(node, (ast.Tuple, ast.List)):
        parent = source.parents.get(node)
        match parent:
            case ast.Assign(value=part) | ast.For(iter=part) | ast.comprehension(iter=part):
                return part
    return node


def _whole_line(filename: str, row: int, source: IndexedSource | None) -> Expression:
    """Without column ranges (python -X no_debug_ranges) a line is all there is."""
    if source is None or not 0 < row <= len(source.lines):
        return Expression(Span(filename, row, 1, row, 2), None, None)
    line = source.lines[row - 1].rstrip("\r\n")
    span = Span(filename, row, len(line) - len(line.lstrip()) + 1, row, len(line) + 1)
    statement = next((n for n in ast.walk(source.tree) if isinstance(n, ast.stmt) and n.lineno == row), None)
    if statement is None:
        return Expression(span, None, source)
    node = _asking(statement, "", source)
    return Expression(source.span(node), node, source)


@cache
def _positions(code: CodeType) -> list[tuple[int | None, int | None, int | None, int | None]]:
    return list(code.co_positions())


@cache
def _instructions(code: CodeType) -> list[tuple[int, str]]:
    return [(i.offset, i.opname) for i in dis.get_instructions(code)]


@cache
def _settled(code: CodeType, offset: int) -> int:
    """The offset by which a call is known: a call that CPython 3.11 has specialized runs in the PRECALL before it."""
    if dis.opname[code.co_code[offset]] != "PRECALL":
        return offset
    return next(start for start, name in _instructions(code) if start > offset and name == "CALL")


def instruction_name(place: Place) -> str:
    """The name of the instruction at `place` (`CALL`, `RAISE_VARARGS`)."""
    return next((name for offset, name in _instructions(place.code) if offset == place.instruction), "")


def _telling_instruction(code: CodeType, offset: int) -> tuple[int, str]:
    """The instruction whose range says what is asked: for a conditional jump, the one that made the tested value."""
    instructions = _instructions(code)
    at = next((i for i, (start, _) in enumerate(instructions) if start == offset), None)
    if at is None:
        return offset, ""
    name = instructions[at][1]
    if "JUMP" in name or name == "TO_BOOL":
        before = next((i for i in range(at - 1, -1, -1) if instructions[i][1] not in _PASSIVE), None)
        if before is not None and "JUMP" not in instructions[before][1]:
            return instructions[before][0], instructions[before][1]
    return offset, name


@dataclass(frozen=True, slots=True)
class Blame:
    """A stack, read: who is blamed, who stands outside, what inside torch was entered."""

    stack: tuple[Place, ...]
    blamed: int
    """Index of the deepest frame under the paths; of the deepest frame of anybody's code, where there is none."""
    inside: bool
    """Whether the blamed frame lies under the paths."""
    last_user: int
    """Index of the deepest frame that isn't plumbing (equals `blamed` where nobody stands in between)."""
    torch_frame: int | None
    """Index of the first torch function entered after `last_user`, its plumbing passed over."""

    @property
    def place(self) -> Place:
        """The blamed frame."""
        return self.stack[self.blamed]

    @property
    def direct(self) -> bool:
        """Whether the blamed expression itself asks, with no library or torch function in between."""
        return self.blamed == self.last_user and self.torch_frame is None

    @property
    def key(self) -> tuple[tuple[str, str, int, int], ...]:
        """Distinguishes the questions of one blamed expression: the way from it to torch's symbols."""
        return tuple(self._key())

    def _key(self) -> Iterator[tuple[str, str, int, int]]:
        for place in self.stack[self.blamed :]:
            if real(place.code.co_filename).startswith(_SYMBOL_FILES):
                return
            yield place.key


_SYMBOL_FILES = (
    torch_internals.TORCH_FOLDER + os.path.join("fx", "experimental"),
    torch_internals.TORCH_FOLDER + "__init__.py",
    _SYMPY,
)


def blame(stack: Sequence[Place], paths: Paths) -> Blame | None:
    """Who is to be blamed for a question at the end of `stack`; None for a stack without anybody's code.

    A size that a fake kernel makes is the operator's: its call is blamed.
    """
    stack = torch_internals.before_fake_kernel(stack)
    inside = next((i for i in range(len(stack) - 1, -1, -1) if stack[i].code.co_filename in paths), None)
    anybody = next((i for i in range(len(stack) - 1, -1, -1) if not is_plumbing(stack[i].code.co_filename)), None)
    if inside is None and anybody is None:
        return None
    last = max(i for i in (inside, anybody) if i is not None)
    blamed = inside if inside is not None else last
    entered = next(
        (
            i
            for i in range(last + 1, len(stack))
            if is_torch(name := stack[i].code.co_filename) and not real(name).startswith((*_MACHINERY, _SYMPY))
        ),
        None,
    )
    return Blame(tuple(stack), blamed, inside is not None, last, entered)


def frames_of(
    who: Blame,
    paths: Paths,
    sources: Sources,
    carriers: Callable[[Place], tuple[tuple[str, str], ...]] = lambda place: (),
) -> tuple[Frame, ...]:
    """The frames to show, outermost first: everybody's code, and the first torch function entered at the end.

    `carriers` gives the locals of a frame that are worth telling.
    """
    shown = [i for i, place in enumerate(who.stack[: who.last_user + 1]) if _is_shown(place, paths)]
    shown = shown[-_MOST_FRAMES:]
    if who.torch_frame is not None:
        shown.append(who.torch_frame)
    frames = []
    for i in shown:
        place = who.stack[i]
        inside = place.code.co_filename in paths
        if i == who.torch_frame:  # torch's files are large: no syntax tree for a line that is only named
            row = _positions(place.code)[place.instruction // 2][0] or place.frame.f_lineno
            span = Span(real(place.code.co_filename), row, 1, row, 2)
        else:
            span = expression_at(place, sources).span
        frames.append(Frame(span, place.code.co_qualname, inside, carriers(place) if inside else ()))
    return tuple(frames)


def _is_shown(place: Place, paths: Paths) -> bool:
    return place.code.co_filename in paths or not is_plumbing(place.code.co_filename)


def function_of(place: Place, sources: Sources) -> ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | None:
    """The function's node in the source, where there is one."""
    source = sources.get(place.code, place.frame.f_globals)
    return None if source is None else source.functions.get((place.code.co_name, place.code.co_firstlineno))


def called_by(expression: Expression, place: Place) -> str:
    """The dotted public name of the torch function or Tensor method that the expression calls, or "".

    `torch.chunk` for `torch.chunk(x, n)`, `torch.Tensor.permute` for `x.permute(order)`.
    """
    node = expression.node
    if not isinstance(node, ast.Call):
        return ""
    parts: list[str] = []
    callee: ast.expr = node.func
    while isinstance(callee, ast.Attribute):
        parts.append(callee.attr)
        callee = callee.value
    if isinstance(callee, ast.Name):
        owner = place.frame.f_locals.get(callee.id, place.frame.f_globals.get(callee.id))
        dotted = _dotted(owner, parts[::-1])
        if dotted:
            return dotted
    if parts and not isinstance(callee, ast.Name):
        return _method(parts[0])
    return ""


def _dotted(owner: Any, names: list[str]) -> str:
    import torch

    value = owner
    for i, name in enumerate(names):
        if isinstance(value, torch.Tensor):
            return _method(name) if i == len(names) - 1 else ""
        value = vars(value).get(name) if isinstance(value, (type, type(torch))) else None
        if value is None:
            return _method(names[-1]) if not isinstance(owner, type(torch)) else ""
    if isinstance(value, torch.nn.Module) or value is None or not callable(value):
        return ""
    module = getattr(value, "__module__", None) or ""
    name = getattr(value, "__name__", "")
    if isinstance(owner, type(torch)) and names and (owner.__name__ + ".").startswith("torch."):
        return f"{owner.__name__}.{'.'.join(names)}"
    return f"{module}.{name}" if (module + ".").startswith("torch.") and name else ""


def _method(name: str) -> str:
    import torch

    return f"torch.Tensor.{name}" if name in dir(torch.Tensor) else ""
