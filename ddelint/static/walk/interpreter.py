"""Abstract interpretation of functions over `ast`: what each expression may be, and where a value is demanded."""

from __future__ import annotations

import ast

from ddelint.static.domain.definitions import FunctionNode, Root
from ddelint.static.domain.state import Frame, State
from ddelint.static.domain.values import Function, Instance, Value
from ddelint.static.program.regions import FileIndex
from ddelint.static.walk import (
    arguments,
    arithmetic,
    arms,
    branching,
    calls,
    comparing,
    displays,
    functions,
    loops,
    matching,
    names,
    objects,
    statements,
    subscripts,
    walker,
)
from ddelint.static.walk.following import Following
from ddelint.static.walk.walker import Handlers, Walker

HANDLERS = Handlers(
    expressions={
        ast.BoolOp: branching.boolean,
        ast.Compare: comparing.compare,
        ast.Constant: displays.constant,
        ast.Dict: displays.dict_display,
        ast.DictComp: displays.comprehension,
        ast.GeneratorExp: displays.comprehension,
        ast.IfExp: arms.conditional,
        ast.JoinedStr: displays.formatted,
        ast.Lambda: statements.lambda_expression,
        ast.List: displays.display,
        ast.ListComp: displays.comprehension,
        ast.Name: names.name,
        ast.NamedExpr: displays.named_expression,
        ast.Set: displays.display,
        ast.SetComp: displays.comprehension,
        ast.Slice: subscripts.slice_expression,
        ast.Starred: displays.starred,
        ast.Tuple: displays.display,
        ast.Yield: displays.yielded,
        ast.YieldFrom: displays.yielded,
    },
    links={
        ast.Attribute: objects.attribute,
        ast.Await: lambda walker, node, value, state: value,
        ast.BinOp: arithmetic.binary_expression,
        ast.Call: calls.call,
        ast.Subscript: subscripts.subscript,
        ast.UnaryOp: arithmetic.unary_expression,
    },
    statements={
        ast.AnnAssign: statements.annotated_assign,
        ast.Assert: statements.assert_statement,
        ast.Assign: statements.assign,
        ast.AsyncFor: loops.for_loop,
        ast.AsyncFunctionDef: statements.define,
        ast.AsyncWith: statements.with_statement,
        ast.AugAssign: statements.augmented,
        ast.Break: statements.break_statement,
        ast.ClassDef: lambda walker, node, state: state,
        ast.Continue: statements.continue_statement,
        ast.Delete: statements.delete,
        ast.Expr: statements.expression_statement,
        ast.For: loops.for_loop,
        ast.FunctionDef: statements.define,
        ast.If: arms.if_statement,
        ast.Match: matching.match_statement,
        ast.Raise: lambda walker, node, state: None,
        ast.Return: statements.return_statement,
        ast.Try: statements.try_statement,
        ast.While: loops.while_loop,
        ast.With: statements.with_statement,
        **({ast.TryStar: statements.try_statement} if hasattr(ast, "TryStar") else {}),
    },
)
"""The parts of the walk, by the kind of node."""


class Interpreter(Walker):
    """Interprets the functions of one file."""

    def __init__(self, index: FileIndex) -> None:
        super().__init__(index, HANDLERS)
        self.granted = 0
        """The number of steps that the root was given."""

    def run(self, root: Root) -> None:
        """Interpret a function from its first line, its parameters being what their declaration says.

        Raises BudgetError, and RecursionError where it nests too deep; what was found until then is in `events`.
        """
        bound: Value | None = None
        if root.owner is not None and isinstance(root.node, FunctionNode) and _takes_self(root.node):
            bound = Instance(root.owner)
        function = Function(root.node, bound, None, root.owner)
        self._begin(root.node)
        state = State()
        given, named = arguments.of_entry(self, root, state)
        functions.invoke(self, function, given, named, state, root.node)

    def run_late(self, function: Function, entry: State) -> None:
        """Interpret a function whose calls led too deep. Raises as `run` does."""
        self._begin(function.node)
        self.execute(function.node, function.owner, entry)

    def returned(
        self,
        function: Function,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.Call,
        steps: int,
    ) -> Value:
        """What a call from another file returns; nothing is recorded. Raises as `run` does."""
        self._begin_quietly(function.node, node, steps)
        return functions.invoke(self, function, arguments, keywords, State(), node)

    def usually_returned(self, function: Function, steps: int) -> list[Value]:
        """What it returns at each of its ends, given what its parameters are declared to be; none: they do not say."""
        self._begin_quietly(function.node, function.node, steps)
        excluded = isinstance(function.node, FunctionNode) and self.index.excluded(function.node)
        names = None if excluded else functions.usual_parameters(self, function)
        return [] if names is None else self.ends(function.node, function.owner, State(names))[0]

    def _begin_quietly(self, definition: FunctionNode | ast.Lambda, caller: ast.AST, steps: int) -> None:
        self._begin(definition)
        self.following = Following()
        self.limit = self.steps + steps
        self.quiet = 1
        self.frames.append(Frame(caller, None))

    def _begin(self, node: FunctionNode | ast.Lambda) -> None:
        self.frames, self.scopes, self.quiet = [], [], 0
        self.row = node.lineno
        self.limit = min(self.steps + walker.MOST_STEPS, walker.MOST_STEPS_IN_A_FILE)
        self.granted = max(self.limit - self.steps, 0)


def _takes_self(node: FunctionNode) -> bool:
    names = {d.id for d in node.decorator_list if isinstance(d, ast.Name)}
    return not names & {"staticmethod", "classmethod"} and bool(node.args.args or node.args.posonlyargs)
