"""A Python list cannot be indexed by a symbol; a stacked tensor can."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.diagnostics import Claim, TypeFact
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, is_pure, text_of, torch_name
from ddelint.rewrite.kinds import Kinds, definition
from ddelint.rewrite.proposals import is_tensor, number_kind, offer, origins
from ddelint.source import SourceFile

_COST = "every element is computed or stacked, not only the one that is chosen"
_MODULES = frozenset(("ModuleList", "Sequential"))
_TENSOR_LISTS = frozenset(("ParameterList", "BufferList"))


@move("stack_and_index")
def stack_and_index(context: Context) -> Iterator[Candidate]:
    """`table[i]` → `torch.stack(table)[i]`; numbers become a tensor; modules all run and their outputs are stacked."""
    source = context.site.source
    kinds = Kinds(context)
    for node in origins(context, 1):
        match node:
            case ast.Subscript(value=table, slice=index, ctx=ast.Load()):
                if isinstance(index, (ast.Slice, ast.Tuple, ast.Constant)) or not is_pure(node):
                    continue
                if is_tensor(kinds, table) or not _from_data(kinds, index):
                    continue
                parent = source.parents.get(node)
                if isinstance(parent, ast.Call) and parent.func is node:
                    yield from _modules(context, kinds, parent, table, index)
                else:
                    yield from _elements(context, kinds, node, table, index)


def _from_data(kinds: Kinds, index: ast.expr) -> bool:
    """Whether an index may be a symbol or a tensor: not a string, not a known number of the run."""
    fact = kinds.fact(index)
    if fact is not None:
        return fact.kind in {"symint", "int", "tensor", "symbool"}
    return not isinstance(index, (ast.Constant, ast.JoinedStr))


def _index_text(context: Context, kinds: Kinds, index: ast.expr) -> str:
    source = context.site.source
    if is_tensor(kinds, index):
        return f"{text_of(source, index, Binding.PRIMARY)}.item()"
    match index:
        case ast.Call(func=ast.Name(id="int"), args=[argument]) if is_tensor(kinds, argument):
            return f"{text_of(source, argument, Binding.PRIMARY)}.item()"
        case ast.Call(func=ast.Name(id="int"), args=[argument]) if number_kind(kinds, argument) == "int":
            return text_of(source, argument)
    return text_of(source, index)


def _elements(
    context: Context, kinds: Kinds, node: ast.Subscript, table: ast.expr, index: ast.expr
) -> Iterator[Candidate]:
    source = context.site.source
    torch, imports = torch_name(source)
    place = _index_text(context, kinds, index)
    shown = text_of(source, table)
    numbers = _number_table(context, kinds, table)
    if numbers is not None:
        flag = numbers == "bool"
        dtype = f", dtype={torch}.float64" if numbers == "float" else ""
        tensor = f"{torch}.tensor({shown}{dtype})[{place}]"
        message = f"a Python list cannot be indexed by `{source.segment(index)}`; a tensor of its numbers can"
        if not flag:
            yield from offer(
                context,
                "stack_and_index",
                Claim.RESTRUCTURED,
                message,
                [(node, f"{tensor}.item()")],
                imports=imports,
            )
        yield from offer(
            context,
            "stack_and_index",
            Claim.RESTRUCTURED,
            message,
            [(node, tensor)],
            imports=imports,
            notes=("the value is a tensor without dimensions, no longer a Python number",),
        )
        return
    if _same_shapes(context, kinds, table):
        fact = kinds.fact(table)
        listed = fact is None or fact.kind in {"list", "tuple"}
        stacked = shown if listed else f"list({shown})"
        yield from offer(
            context,
            "stack_and_index",
            Claim.RESTRUCTURED,
            f"a Python list cannot be indexed by `{source.segment(index)}`; the stacked tensors can",
            [(node, f"{torch}.stack({stacked})[{place}]")],
            imports=imports,
            notes=(_COST,),
        )


def _number_table(context: Context, kinds: Kinds, table: ast.expr) -> str | None:
    """`int`, `float` or `bool` for a list or tuple of numbers; None for anything else."""
    fact = kinds.fact(table)
    if fact is not None:
        element = fact.element
        if fact.kind in {"list", "tuple"} and element is not None and element.kind in {"int", "float", "bool"}:
            return element.kind
        # elements of several kinds, or a list of lists: the literal may tell
        if fact.kind not in {"list", "tuple"} or element is not None:
            return None
    literal = _literal(context, table)
    if literal is None or not literal:
        return None
    types = set()
    for value in literal:
        match value:
            case ast.Constant(value=bool() | int() | float() as number):
                types.add(type(number))
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                types.add(type(number))
            case _:
                return None
    if bool in types:
        return "bool" if types == {bool} else None
    return "float" if float in types else "int"


def _literal(context: Context, table: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a list or tuple display: in place, behind a local name, or behind a constant of the module."""
    match table:
        case ast.List(elts=elements) | ast.Tuple(elts=elements):
            return elements
        case ast.Name(id=name):
            value = definition(context, name)
            if value is None:
                value = _module_constant(context.site.source, name)
            return _literal(context, value) if isinstance(value, (ast.List, ast.Tuple)) else None
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            value = _class_constant(context, name)
            return _literal(context, value) if isinstance(value, (ast.List, ast.Tuple)) else None
    return None


def _module_constant(source: SourceFile, name: str) -> ast.expr | None:
    values = [
        node.value
        for node in source.tree.body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)
    ]
    return values[0] if len(values) == 1 else None


def _class_constant(context: Context, name: str) -> ast.expr | None:
    """What the class body or its methods assign to an attribute, where that happens once."""
    source, function = context.site.source, context.site.function
    if function is None:
        return None
    owner = next((node for node in source.ancestors(function) if isinstance(node, ast.ClassDef)), None)
    if owner is None:
        return None
    values = []
    for node in ast.walk(owner):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if (isinstance(target, ast.Attribute) and target.attr == name) or (
                    isinstance(target, ast.Name) and target.id == name and node in owner.body
                ):
                    values.append(node.value)
    return values[0] if len(values) == 1 else None


def _same_shapes(context: Context, kinds: Kinds, table: ast.expr) -> bool:
    """Whether a list holds tensors of one shape, or nothing speaks against it."""
    fact = kinds.fact(table)
    if fact is not None:
        if fact.python_type.rpartition(".")[2] in _TENSOR_LISTS:
            return True
        element = fact.element
        return fact.kind in {"list", "tuple"} and _stackable(element)
    literal = _literal(context, table)
    return literal is not None and bool(literal) and all(is_tensor(kinds, value) for value in literal)


def _stackable(element: TypeFact | None) -> bool:
    return element is not None and element.kind == "tensor" and element.shape is not None and "?" not in element.shape


def _modules(context: Context, kinds: Kinds, call: ast.Call, table: ast.expr, index: ast.expr) -> Iterator[Candidate]:
    """`layers[i](x)` → `torch.stack([layer(x) for layer in layers])[i]`."""
    source = context.site.source
    fact = kinds.fact(table)
    if fact is not None:
        is_modules = fact.kind == "module" and fact.python_type.rpartition(".")[2] in _MODULES
        is_functions = fact.kind in {"list", "tuple"} and (
            fact.element is None or fact.element.kind in {"callable", "module"}
        )
        if not (is_modules or is_functions):
            return
    torch, imports = torch_name(source)
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    name = next(n for n in ("module", "each", "module_", "each_") if n not in used)
    whole = source.segment(call)
    arguments = whole[len(_callee(source, call)) :]
    yield from offer(
        context,
        "stack_and_index",
        Claim.RESTRUCTURED,
        f"a module cannot be chosen by `{source.segment(index)}` while tracing; all run, and one output is kept",
        [
            (
                call,
                f"{torch}.stack([{name}{arguments} for {name} in {text_of(source, table, Binding.OR)}])"
                f"[{_index_text(context, kinds, index)}]",
            )
        ],
        imports=imports,
        notes=("all modules run, not only the chosen one; their outputs must have one shape",),
    )


def _callee(source: SourceFile, call: ast.Call) -> str:
    """The text of a call up to its opening parenthesis (parentheses around the callee included)."""
    whole = source.segment(call)
    start = source.span(call)
    end = source.span(call.func)
    length = source.offset(end.end_row, end.end_column) - source.offset(start.row, start.column)
    while length < len(whole) and whole[length] != "(":
        length += 1
    return whole[:length]
