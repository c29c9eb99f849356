"""Which rule a question falls under: one decision for both passes.

It rests on three things only: where the question stands (`Site`), what kind of value it is about, and what was
demanded of that value. Operators are known by what rules/operators.toml says of them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.nouns.diagnostics import Span, Symbol
from ddelint.sources.comparing import MIRRORED
from ddelint.sources.parsing import TOO_DEEP, parse
from ddelint.sources.sites import Block, Role, Site, classify

VALUE_KINDS = ("tensor", "size", "number", "bool", "input")
"""tensor: a tensor itself; size: a dimension of one; number, bool: read from a tensor's data; input: the size of an
input that is treated as unbacked."""

_TESTS = frozenset((Role.IF_TEST, Role.WHILE_TEST, Role.ASSERT_TEST, Role.TERNARY_TEST, Role.COMPREHENSION_TEST))
_BY_BLOCK = {Block.RAISES: "DDE103", Block.WARNS: "DDE110"}
_EMPTINESS: frozenset[tuple[type[ast.cmpop], int]] = frozenset(
    ((ast.Eq, 0), (ast.NotEq, 0), (ast.Gt, 0), (ast.LtE, 0), (ast.Lt, 1), (ast.GtE, 1))
)


def rule_for(
    site: Site,
    value_kind: str,
    *,
    question: str = "truth",
    operator: str = "",
    symbols: Sequence[Symbol] = (),
    inputs: int = 1,
) -> str:
    """The code of the rule that `site` falls under.

    `value_kind` is one of VALUE_KINDS: what the undecidable expression is about. `question` and `operator` are as in
    diagnostics.Question; `symbols` (optional) set a count of a mask apart from other numbers; `inputs` is how many
    input sizes a guard is about. Raises ValueError for
    an unknown value kind.
    """
    if value_kind not in VALUE_KINDS:
        raise ValueError(f"unknown value kind: {value_kind}")
    if site.role is Role.ITERATED:
        return "DDE203"
    if question == "guarded":
        return guard_rule(site, operator, inputs)
    if question == "integer":
        return _integer_rule(site, value_kind, operator)
    if question == "operator" and site.role not in _TESTS:
        return _operator_rule(site, operator)
    if question == "failure":
        return _failure_rule(site)
    return _truth_rule(site, value_kind, symbols, operator)


def reported_span(site: Site, code: str) -> Span:
    """What a diagnostic of `code` underlines: the whole test where the whole statement is to be rewritten."""
    whole = code in {"DDE103", "DDE104", "DDE110"}
    return site.source.span(site.decision if whole and site.decision is not None else site.node)


def is_emptiness_test(node: ast.AST) -> bool:
    """Whether `node` only asks if something is zero: `n == 0`, `0 < n`, `n >= 1`, `n` itself, `not n`."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return is_emptiness_test(operand)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            kind = type(operator)
            if isinstance(left, ast.Constant):
                left, right, kind = right, left, MIRRORED.get(kind, kind)
            if isinstance(left, ast.BinOp) and not isinstance(left.op, (ast.Add, ast.Mult)):
                return False  # n % 2 == 0 is no test for emptiness
            return isinstance(right, ast.Constant) and type(right.value) is int and (kind, right.value) in _EMPTINESS
        case ast.Compare() | ast.BoolOp():
            return False
    return isinstance(node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.NamedExpr))


def _is_one_test(node: ast.AST) -> bool:
    """Whether `node` only asks if something is one: `n == 1`, `n > 1`, `n <= 1`."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            kind = type(operator)
            if isinstance(left, ast.Constant):
                left, right, kind = right, left, MIRRORED.get(kind, kind)
            return (
                isinstance(right, ast.Constant)
                and type(right.value) is int
                and (kind, right.value)
                in ((ast.Eq, 1), (ast.NotEq, 1), (ast.Gt, 1), (ast.LtE, 1), (ast.Lt, 2), (ast.GtE, 2))
            )
    return False


def check_call(site: Site) -> ast.Call | None:
    """The `torch._check…` call in whose condition the site stands, where there is one."""
    child: ast.AST = site.node
    if _is_check(child):
        return child  # type: ignore[return-value]
    for parent in site.source.ancestors(site.node):
        if isinstance(parent, (ast.stmt, ast.Lambda)):
            return None
        if _is_check(parent) and isinstance(parent, ast.Call) and child in parent.args[:1]:
            return parent
        child = parent
    return None


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and terminal_name(node.func) in operators().checks


def _truth_rule(site: Site, value_kind: str, symbols: Sequence[Symbol], operator: str) -> str:
    if site.role is Role.ASSERT_TEST:
        return "DDE104"
    if site.role is Role.IF_TEST and site.block in _BY_BLOCK and _guards_nothing_else(site):
        return _BY_BLOCK[site.block]
    if value_kind != "tensor" and check_call(site) is not None:
        return "DDE107"
    if site.role is Role.WHILE_TEST:
        return "DDE106"
    if value_kind == "tensor":
        return "DDE105"
    if _asks_for_layout(site.node, operator):
        return "DDE403"
    if value_kind == "input":
        return "DDE402" if is_emptiness_test(site.node) or _is_one_test(site.node) else "DDE401"
    if _is_python_reduction(site.node):
        return "DDE108"
    if isinstance(site.node, ast.Call) and site.role not in _TESTS and site.role is not Role.BOOLEAN_OPERAND:
        # the operator itself asks: about a count that must be static, or for a fact about its sizes
        return "DDE206" if terminal_name(site.node.func) in operators().static_arguments else "DDE304"
    counts = value_kind == "size" or (value_kind == "number" and _is_count(symbols))
    if counts and is_emptiness_test(site.node):
        return "DDE102"
    return "DDE101"


def guard_rule(site: Site, operator: str, inputs: int) -> str:
    """A size with an example value decided: in a test of the user's, or inside of what was called."""
    if _asks_for_layout(site.node, operator):
        return "DDE403"
    if site.role not in _TESTS:
        return "DDE405" if inputs > 1 else "DDE401"
    return "DDE402" if is_emptiness_test(site.node) or _is_one_test(site.node) else "DDE401"


def _asks_for_layout(node: ast.AST, operator: str) -> bool:
    called = {terminal_name(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
    return bool((called | {operator.rpartition(".")[2]}) & operators().layout_questions)


def _guards_nothing_else(site: Site) -> bool:
    """A block that only warns may have an `else` that computes: then the test decides more than the warning."""
    if site.block is not Block.WARNS or not isinstance(site.statement, ast.If) or not site.statement.orelse:
        return True
    return classify(site.statement.orelse) is Block.WARNS


def _is_python_reduction(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in operators().python_reductions
        case ast.Compare(ops=[ast.In() | ast.NotIn()]):
            return True
    return False


def _is_count(symbols: Sequence[Symbol]) -> bool:
    """Whether the number counts something (a mask's sum), so that zero means: nothing selected."""
    for symbol in symbols:
        try:
            tree = parse(symbol.expression, symbol.name)
        except (SyntaxError, ValueError, *TOO_DEEP):
            continue
        calls = {terminal_name(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        if calls & operators().counting:
            return True
    return False


def _integer_rule(site: Site, value_kind: str, operator: str) -> str:
    node = site.node
    if operator.rpartition(".")[2] in operators().regions["constexpr"]:
        return "DDE209"
    if isinstance(node, ast.Call):
        name = terminal_name(node.func)
        builtin = isinstance(node.func, ast.Name)
        if builtin and (code := operators().python_builtins.get(name)):
            return code
        if name in operators().static_arguments:
            return "DDE206"
    if operator and operator.split(".")[-1] in operators().static_arguments:
        return "DDE206"
    if site.role is Role.FORMATTED:
        return "DDE208"
    if isinstance(node, ast.Subscript) or site.role is Role.INDEX:
        return "DDE204" if value_kind == "tensor" else "DDE202"
    if value_kind == "tensor":
        return "DDE204"
    return "DDE206"


def _operator_rule(site: Site, operator: str) -> str:
    """An operator that has no data-independent answer: a question of its own, or a count that must be static."""
    parts = set(operator.split("."))
    node = site.node
    if isinstance(node, ast.Call):
        parts.add(terminal_name(node.func))
    if parts & operators().questions:
        return "DDE101"
    if parts & operators().tensor_offsets:
        return "DDE303"
    return "DDE206"


def _failure_rule(site: Site) -> str:
    """An exception behind which a data-dependent value stands: a count to unpack, or a symbol as a key."""
    if site.role is Role.UNPACKED or isinstance(site.statement, (ast.For, ast.AsyncFor)):
        return "DDE206"
    match site.statement:
        case ast.Assign(targets=[ast.Tuple() | ast.List()]):
            return "DDE206"
    return "DDE208"
