"""Code of a program that reads by `Readings`: made of its text, and put into its live functions for a run."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import CodeType

from ddelint.trace import overlay
from ddelint.verify.reads import ARGUMENT, GIVEN, GLOBAL, READ, Readings, in_effect
from ddelint.verify.recording import RECORD, Position, pairs_of, position_of, swapped

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_BY_THEIR_FRAME = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec"))
"""What gives something else where another function calls it."""
_COMPUTED = (ast.Call, ast.Compare, ast.Await, ast.Yield, ast.YieldFrom)


@contextlib.contextmanager
def read_by(
    readings: Readings, filenames: Sequence[str], recorded: Mapping[str, ast.Module], tested: Collection[Position]
) -> Iterator[None]:
    """Within, what the live functions of these files read goes through `readings`, whichever text of them is loaded.

    `recorded`: trees of the texts on disk whose code notes decisions; where that code is what is live, it goes on to.
    `tested`: where in these texts the tests of decisions stand, and what they rest on.
    """
    codes: dict[CodeType, CodeType] = {}
    for filename in filenames:
        trees = [
            _parsed(filename, overlay.text_of(filename)),
            *(recorded[name] for name in recorded if name == filename),
        ]
        for tree in trees:
            codes |= _codes_of(filename, tree, frozenset(tested))
    with in_effect(readings), swapped(filenames, codes):
        yield


@functools.lru_cache(maxsize=32)
def _parsed(filename: str, text: str) -> ast.Module:
    """The tree of a text; of nothing where it cannot be one."""
    with contextlib.suppress(SyntaxError, ValueError):
        return ast.parse(text, filename)
    return ast.Module([], [])


@functools.lru_cache(maxsize=32)
def _codes_of(filename: str, tree: ast.Module, tested: frozenset[Position]) -> dict[CodeType, CodeType]:
    """Code → code that reads by `Readings`, for each function of a text that is parsed; known by the tree itself."""
    with contextlib.suppress(SyntaxError, ValueError):
        plain = compile(tree, filename, "exec", dont_inherit=True)
        reading = compile(with_readings(copy.deepcopy(tree), tested), filename, "exec", dont_inherit=True)
        return dict(pairs_of(plain, reading))
    return {}


def with_readings(tree: ast.Module, tested: Collection[Position] = ()) -> ast.Module:
    """The tree with each reading of a function an expression that goes through `Readings`; it is changed."""
    tree.body = [_Reading(tree, tested).visit(statement) for statement in tree.body]  # type: ignore[misc]
    return ast.fix_missing_locations(tree)


class _Reading(ast.NodeTransformer):
    """`owner.name` becomes `READ.attribute(rank, owner, "name")`; so do items, arguments, globals, constants that
    are returned, what a call gives, and whether a text is in something."""

    def __init__(self, tree: ast.Module, tested: Collection[Position]) -> None:
        self._tree = tree
        self._tested = tested
        self._function: _Function | None = None
        self._named = ""
        self._classes: list[str] = []
        self._stored: frozenset[str] = frozenset()
        self._arguments: frozenset[str] = frozenset()
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
            node.body = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
            return node
        self._function, self._named = node, ".".join((*self._classes[-1:], node.name))
        self._stored = frozenset(_stored(node))
        self._arguments = frozenset(_arguments(node)) - self._stored - _computed_for(self._tree, node)
        inside = itertools.chain(*(ast.walk(statement) for statement in node.body))
        has_test = any(isinstance(inner, ast.expr) and position_of(inner) in self._tested for inner in inside)
        self._rank = 1 if has_test else 2
        node.body = [self.visit(statement) for statement in node.body]  # type: ignore[misc]
        self._function, self._stored, self._arguments, self._rank = None, frozenset(), frozenset(), 2
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """An annotation is no reading."""
        node.target = self.visit(node.target)  # type: ignore[assignment]
        node.value = self.visit(node.value) if node.value is not None else None  # type: ignore[assignment]
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """A constant that is returned is a setting said by a function: what is overridden by a subclass."""
        if self._function is not None and isinstance(node.value, ast.Constant) and node.value.value is not None:
            node.value = self._name(GIVEN + self._named, "", node.value)
            return node
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """An argument, or a name that the function does not bind."""
        if self._function is None or not isinstance(node.ctx, ast.Load) or node.id in self._stored:
            return node
        if node.id in self._arguments:
            return self._name(ARGUMENT + self._named, node.id, node)
        return node if node.id in _arguments(self._function) else self._name(GLOBAL, node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`owner.name`; what a class hides under its own name (`__name`) is spelled as it is kept."""
        node.value = self._owner(node.value)
        if self._function is None or not isinstance(node.ctx, ast.Load):
            return node
        return self._call("attribute", node, node.value, ast.Constant(self._mangled(node.attr)))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`owner[key]`; of slices nothing is one value."""
        node.value = self._owner(node.value)
        is_slice = any(
            isinstance(inner, (ast.Slice, ast.Starred)) for inner in (node.slice, *ast.iter_child_nodes(node.slice))
        )
        node.slice = self.visit(node.slice)  # type: ignore[assignment]
        if self._function is None or not isinstance(node.ctx, ast.Load) or is_slice:
            return node
        return self._call("item", node, node.value, node.slice)

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

    def _is_read(self, name: str) -> bool:
        """Whether a name is no local one of the function that is gone through, if any is."""
        return self._function is not None and name not in self._stored and name not in _arguments(self._function)

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


def _arguments(function: _Function) -> Iterator[str]:
    """The names of its arguments, and of those of functions within."""
    return (node.arg for node in ast.walk(function) if isinstance(node, ast.arg))


def _stored(function: _Function) -> Iterator[str]:
    """The names that a function, or one within, gives a value, its arguments as they come left out."""
    for node in ast.walk(function):
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


def _computed_for(tree: ast.Module, function: _Function) -> frozenset[str]:
    """The arguments that some call of the file gives something computed: data, which is no setting."""
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if names[:1] in (["self"], ["cls"]) else names
    found: set[str] = set()
    for call, computed in _calls_of(tree, function.name):
        given = [*zip(names, call.args), *((keyword.arg or "", keyword.value) for keyword in call.keywords)]
        found |= {name for name, value in given if _is_computed(value, computed)}
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            found |= set(names)
    return frozenset(found)


def _calls_of(tree: ast.Module, name: str) -> Iterator[tuple[ast.Call, frozenset[str]]]:
    """Calls of what is named so, each with the names around it that are given something computed."""
    for function in ast.walk(tree):
        if not isinstance(function, _SCOPES[:2]):
            continue
        computed = None
        for node in ast.walk(function):
            match node:
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called)) if called == name:
                    computed = frozenset(_computed_in(function)) if computed is None else computed
                    yield node, computed


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
