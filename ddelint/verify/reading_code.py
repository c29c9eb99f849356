"""Code of a program that reads by `Readings`: made of its text, and put into its live functions for a run."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from types import CodeType

from ddelint.sources.source import SourceError, SourceFile
from ddelint.trace import overlay
from ddelint.verify.reads import ARGUMENT, GIVEN, GLOBAL, READ, Readings, in_effect
from ddelint.verify.recording import RECORD, Position, pairs_of, position_of, swapped
from ddelint.verify.traced_path import plain_conditionals

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Arguments = Mapping[str, frozenset[str]]
_Calls = Mapping[str, Sequence[tuple[ast.Call, frozenset[str]]]]
_BY_THEIR_FRAME = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec"))
"""What gives something else where another function calls it."""
_COMPUTED = (ast.Call, ast.Compare, ast.Await, ast.Yield, ast.YieldFrom)


@contextlib.contextmanager
def read_by(
    readings: Readings,
    filenames: Sequence[str],
    recorded: Mapping[str, ast.Module],
    tested: Mapping[str, Collection[Position]],
) -> Iterator[None]:
    """Within, what the live functions of these files read goes through `readings`, whichever text of them is loaded.

    `recorded`: trees of the texts on disk whose code notes decisions; where that code is what is live, it goes on to.
    `tested`: where in these texts the tests of decisions stand, and what they rest on.
    """
    codes: dict[CodeType, CodeType] = {}
    for filename in filenames:
        trees = [_parsed(filename, overlay.text_of(filename))]
        trees += [recorded[filename]] if filename in recorded else []
        for tree in trees:
            codes |= _codes_of(filename, tree, frozenset(tested.get(filename, ())))
    # torch.cond compiles its arms on each call, and no compiler goes through what reads
    with in_effect(readings), swapped(filenames, codes), plain_conditionals():
        yield


def is_readable(filename: str, tested: Collection[Position]) -> bool:
    """Whether the text of a file that is in effect can be made to read by `Readings`."""
    tree = _parsed(filename, overlay.text_of(filename))
    return bool(tree.body) and (
        not any(True for _ in _outermost(tree)) or bool(_codes_of(filename, tree, frozenset(tested)))
    )


@functools.lru_cache(maxsize=32)
def _parsed(filename: str, text: str) -> ast.Module:
    """The tree of a text; of nothing where it cannot be one."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        return ast.parse(text, filename)
    return ast.Module([], [])


@functools.lru_cache(maxsize=32)
def _arguments_on_disk(filename: str) -> _Arguments:
    """Those of the original, whichever text is in effect: a rewrite that gives one a value reads it all the same."""
    with contextlib.suppress(OSError, SourceError):
        return arguments_of(_parsed(filename, SourceFile.read(Path(filename)).text))
    return {}


@functools.lru_cache(maxsize=32)
def _codes_of(filename: str, tree: ast.Module, tested: frozenset[Position]) -> dict[CodeType, CodeType]:
    """Code → code that reads by `Readings`, for each function of a text that is parsed; known by the tree itself."""
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        plain = compile(tree, filename, "exec", dont_inherit=True)
        made = with_readings(copy.deepcopy(tree), _arguments_on_disk(filename), tested)
        return dict(pairs_of(plain, compile(made, filename, "exec", dont_inherit=True)))
    return {}


def with_readings(tree: ast.Module, arguments: _Arguments, tested: Collection[Position] = ()) -> ast.Module:
    """The tree with each reading of a function an expression that goes through `Readings`; it is changed.

    `arguments`: what is read of these, see `arguments_of`.
    """
    tree.body = [_Reading(tree, arguments, tested).visit(statement) for statement in tree.body]  # type: ignore[misc]
    return ast.fix_missing_locations(tree)


def arguments_of(tree: ast.Module) -> _Arguments:
    """For each outermost function of a file (`pooled`, `Model.forward`) the arguments, its own and those of functions
    within, that keep their value and that no call in the file gives something computed."""
    calls = _calls_by_name(tree)
    return {
        name: frozenset(_arguments(function)) - frozenset(_stored(function)) - _computed_for(calls, function)
        for name, function in _outermost(tree)
    }


class _Reading(ast.NodeTransformer):
    """`owner.name` becomes `READ.attribute(rank, owner, "name")`; so do items, arguments, globals, constants that
    are returned, what a call gives, and whether a text is in something."""

    def __init__(self, tree: ast.Module, arguments: _Arguments, tested: Collection[Position]) -> None:
        self._read_arguments = arguments
        self._globals = frozenset(itertools.chain(*map(_stored_by, tree.body)))
        self._tested = tested
        self._function: _Function | None = None
        self._named = ""
        self._classes: list[str] = []
        self._stored: frozenset[str] = frozenset()
        self._named_arguments: frozenset[str] = frozenset()
        self._arguments: frozenset[str] = frozenset()
        """Those of functions within that are read."""
        self._own: frozenset[str] = frozenset()
        """The function's own that are read: as it begins, and in functions within."""
        self._depth = 0
        self._rank = 2
        self._is_tested = False

    def visit(self, node: ast.AST) -> ast.AST:
        """Of what a test reads the rank is the lowest."""
        before = self._is_tested
        self._is_tested = before or (isinstance(node, ast.expr) and position_of(node) in self._tested)
        visited: ast.AST = super().visit(node)
        self._is_tested = before
        return visited

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """What stands in the body of a class is read when it is made."""
        self._classes.append(node.name)
        node.body = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
        self._classes.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function; one within another has the names of both."""
        return self._visited(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Alike."""
        return self._visited(node)

    def _visited(self, node: _Function) -> ast.AST:
        if self._function is not None:
            self._depth += 1
            node.body = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
            self._depth -= 1
            return node
        self._function, self._named = node, ".".join((*self._classes[-1:], node.name))
        self._stored = frozenset(_stored(node))
        self._named_arguments = frozenset(_arguments(node))
        self._arguments = self._read_arguments.get(self._named, frozenset())
        inside = itertools.chain(*(ast.walk(statement) for statement in node.body))
        tests = [inner for inner in inside if isinstance(inner, ast.expr) and position_of(inner) in self._tested]
        self._rank = 1 if tests else 2
        own = [argument.arg for argument in _own_arguments(node) if argument.arg in self._arguments]
        self._arguments, self._own = self._arguments - set(own), frozenset(own)
        body: list[ast.stmt] = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
        asked = {inner.id for test in tests for inner in ast.walk(test) if isinstance(inner, ast.Name)}
        beginning = next(
            (n for n, s in enumerate(body) if not isinstance(s, ast.Global) and not _is_text(s)), len(body)
        )
        node.body = [*body[:beginning], *(self._entering(node, name, name in asked) for name in own), *body[beginning:]]
        self._function, self._stored, self._arguments, self._rank = None, frozenset(), frozenset(), 2
        return node

    def _entering(self, function: _Function, name: str, is_tested: bool) -> ast.stmt:
        """An argument is read as its function begins: what is done with it later may be another one's doing."""
        self._is_tested = is_tested
        value = self._name(ARGUMENT + self._named, name, ast.copy_location(ast.Name(name, ast.Load()), function))
        self._is_tested = False
        return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), function)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A function within."""
        self._depth += 1
        node.body = self.visit(node.body)  # type: ignore[assignment]
        self._depth -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An annotation is no reading."""
        node.target = self.visit(node.target)  # type: ignore[assignment]
        node.value = self.visit(node.value) if node.value is not None else None  # type: ignore[assignment]
        return node

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """What a pattern names is no expression: it stays as it stands."""
        node.guard = self.visit(node.guard) if node.guard is not None else None  # type: ignore[assignment]
        node.body = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """A constant that is all a function gives is a setting: what a subclass says otherwise."""
        match node.value:
            case ast.Constant(value=value) as constant if value is not None and self._is_all(node):
                node.value = self._name(GIVEN + self._named, "", constant)
                return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """An argument, or a name that the function does not bind."""
        if self._function is None or not isinstance(node.ctx, ast.Load) or node.id in self._stored:
            return node
        if node.id in self._arguments or (self._depth and node.id in self._own):  # a closure outlasts its call
            return self._name(ARGUMENT + self._named, node.id, node)
        return node if node.id in self._named_arguments else self._name(GLOBAL, node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`owner.name`; what a class hides under its own name (`__name`) is spelled as it is kept."""
        node.value = self._owner(node.value)
        if self._function is None or not isinstance(node.ctx, ast.Load):
            return node
        return self._call("attribute", node, node.value, ast.Constant(self._mangled(node.attr)))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`owner[key]`; of slices nothing is one value."""
        written = ast.unparse(node.value)
        node.value = self._owner(node.value)
        is_slice = any(
            isinstance(inner, (ast.Slice, ast.Starred)) for inner in (node.slice, *ast.iter_child_nodes(node.slice))
        )
        node.slice = self.visit(node.slice)  # type: ignore[assignment]
        if self._function is None or not isinstance(node.ctx, ast.Load) or is_slice:
            return node
        return self._call("item", node, ast.Constant(written), node.value, node.slice)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """What is called for its effect alone gives nothing that is read."""
        if isinstance(node.value, ast.Call):
            node.value = self._called(node.value, False)
            return node
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`"text" in owner`, and its opposite."""
        match node:
            case ast.Compare(ast.Constant(value=str()) as text, [(ast.In() | ast.NotIn()) as operator], [owner]) if (
                self._function is not None
            ):
                is_in = self._call("contains", node, text, self.visit(owner))  # type: ignore[arg-type]
                return ast.copy_location(ast.UnaryOp(ast.Not(), is_in), node) if type(operator) is ast.NotIn else is_in
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`getattr(owner, name, default)`, `owner.get(…)`, and what else gives something."""
        return self._called(node, True)

    def _called(self, node: ast.Call, is_read: bool) -> ast.Call:
        node.args = [self.visit(argument) for argument in node.args]  # type: ignore[misc]
        node.keywords = [self.visit(keyword) for keyword in node.keywords]  # type: ignore[misc]
        match node.func:
            case ast.Name(id="getattr") if self._is_read("getattr") and len(node.args) > 1 and not node.keywords:
                return self._call("attribute", node, *node.args)
            case ast.Attribute(value=owner, attr="get") if self._function is not None:
                return self._with_keywords(self._call("get", node, self._owner(owner), *node.args), node)
            case ast.Attribute(value=owner):
                node.func.value = self._owner(owner)
            case ast.Name(id=name):
                is_read = is_read and name not in _BY_THEIR_FRAME and name != RECORD
            case function:
                node.func = self.visit(function)  # type: ignore[assignment]
        if not is_read or self._function is None:
            return node
        return self._with_keywords(self._call("called", node, node.func, *node.args), node)

    def _with_keywords(self, made: ast.Call, of: ast.Call) -> ast.Call:
        made.keywords = of.keywords
        return made

    def _is_all(self, statement: ast.Return) -> bool:
        """Whether a statement is all that the function does which is gone through."""
        body = self._function.body if self._function is not None else []
        return body[-1:] == [statement] and all(map(_is_text, body[:-1]))

    def _is_read(self, name: str) -> bool:
        """Whether a name is neither one of the function that is gone through, if any is, nor one of its file."""
        is_local = name in self._stored or name in self._named_arguments or name in self._globals
        return self._function is not None and not is_local

    def _owner(self, node: ast.expr) -> ast.expr:
        """What something is read of: a name is no reading of its own there."""
        return node if isinstance(node, ast.Name) else self.visit(node)  # type: ignore[return-value]

    def _name(self, holder: str, name: str, node: ast.expr) -> ast.Call:
        return self._call("name", node, ast.Constant(holder), ast.Constant(name), node)

    def _call(self, method: str, at: ast.expr, *arguments: ast.expr) -> ast.Call:
        function = ast.Attribute(ast.Name(READ, ast.Load()), method, ast.Load())
        rank = ast.Constant(0 if self._is_tested else self._rank)
        return ast.copy_location(ast.Call(function, [rank, *arguments], []), at)

    def _mangled(self, name: str) -> str:
        owner = self._classes[-1].lstrip("_") if self._classes else ""
        is_hidden = owner and name.startswith("__") and not name.endswith("__")
        return f"_{owner}{name}" if is_hidden else name


def _is_text(statement: ast.stmt) -> bool:
    """Whether it is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _own_arguments(function: _Function) -> Iterator[ast.arg]:
    """Those that are not gathered (`*rest`, `**options`)."""
    yield from (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)


def _arguments(function: _Function) -> Iterator[str]:
    """The names of its arguments, and of those of functions within."""
    return (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))


def _stored(function: _Function) -> Iterator[str]:
    """The names that a function, or one within, gives a value, its arguments as they come left out."""
    return itertools.chain(*map(_stored_by, ast.walk(function)))


def _stored_by(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
            yield name
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.alias(name=name, asname=other):
            yield other or name.partition(".")[0]
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.MatchMapping(rest=str(name)):
            yield name


def _computed_for(calls: _Calls, function: _Function) -> frozenset[str]:
    """The arguments that some call of the file gives something computed: data, which is no setting."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    found: set[str] = set()
    for call, computed in calls.get(function.name, ()):
        given = [*zip(names, call.args), *((keyword.arg or "", keyword.value) for keyword in call.keywords)]
        found |= {name for name, value in given if _is_computed(value, computed)}
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            found |= set(names)
    return frozenset(found)


def _calls_by_name(tree: ast.Module) -> _Calls:
    """What is called by a name, or by an attribute, in the functions of a file, with the names of the outermost
    function around each that are given something computed."""
    found: dict[str, list[tuple[ast.Call, frozenset[str]]]] = {}
    for _, function in _outermost(tree):
        computed = frozenset(_computed_in(function))
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)):
                    found.setdefault(called, []).append((node, computed))
    return found


def _outermost(node: ast.AST, within: str = "") -> Iterator[tuple[str, _Function]]:
    """The functions that stand in no other, by their names with that of the class around (`Model.forward`)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield f"{within}{child.name}", child
        else:
            yield from _outermost(child, f"{child.name}." if isinstance(child, ast.ClassDef) else within)


def _computed_in(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=targets, value=value) if _is_computed(value):
                yield from (n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if _is_computed(value):
                yield name
            case ast.NamedExpr(target=ast.Name(id=name)) | ast.AugAssign(target=ast.Name(id=name)):
                yield name
            case ast.For(target=target) | ast.comprehension(target=target):
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def _is_computed(value: ast.expr, names: Collection[str] = ()) -> bool:
    return any(
        isinstance(node, _COMPUTED) or (isinstance(node, ast.Name) and node.id in names) for node in ast.walk(value)
    )
