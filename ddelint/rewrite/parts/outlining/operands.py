"""What a region reads: each name, or chain of attributes, as an operand that can be handed to an operator."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.outlining.forms import MODULE, TENSOR, Form, Way, form_of, of_either
from ddelint.rewrite.parts.outlining.region import Operand, Region
from ddelint.rewrite.reading.bindings import may_have_value, type_at, type_in_eager
from ddelint.rewrite.reading.changes_of_calls import changed_by_calls, modules_changed_by_calls
from ddelint.rewrite.reading.gone_through import modules_changed
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bound_before, names_written, position
from ddelint.rewrite.reading.regions import assigned_on_every_way, bound_inside, changed_in_place, free_names

_ANYTHING = Form("object", "object")
_BUFFERS = ".buffers()"


class OutOfReach(Exception):
    """`name` cannot be handed over: what gives it its value would have to belong to the region, too."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(reason)
        self.name = name


def read_operands(context: Context, region: Region) -> None:
    """Fill in the operands. Raises OutOfReach where a name cannot be one, one without a name where nothing helps."""
    place = region.expression if region.expression is not None else region.body[0]
    taken = set(names_written(*region.body)) | bound_inside(region.body) | set(region.targets)
    chains: dict[str, tuple[ast.expr, Form]] = {}
    for node in reads(context, region):
        if _only_assigned(context, region, node) or _without_value(context, region, node.id):
            continue
        chain, form = handed(context, region, node, place)
        if not _defined_before(context, node.id, place):
            raise OutOfReach(node.id, f"`{node.id}` has no value before")
        chains.setdefault(ast.unparse(chain), (chain, form))
    cut = {text for text, (_, form) in chains.items() if form.schema == TENSOR and form.floating}
    cut = {text for text in cut if _without_gradient(context, region, text)}
    for text in cut:
        chains[text] = chains[text][0], replace(chains[text][1], floating=False)
    taken |= {text for text, (chain, _) in chains.items() if isinstance(chain, ast.Name)}
    # a module that is handed over brings what it holds
    whole = [text for text, (_, form) in chains.items() if form.annotation == MODULE]
    loads = {*modules_changed(region.body).values(), *modules_changed_by_calls(context, region.body)}
    if region.typed and any(not text.endswith(_BUFFERS) for text in loads):
        raise OutOfReach("", f"`{min(loads)}` are changed")  # an operator gives buffers back alone, and runs twice
    changed = {root.removesuffix(".data") for root in changed_in_place(region.body)}
    changed |= augmented(context, region.body) | changed_by_calls(context, region.body)
    parameters = callers(context)
    for text, (chain, form) in chains.items():
        if any(text.startswith(f"{owner}.") for owner in whole):
            continue
        name = text if isinstance(chain, ast.Name) else region.replacements.get(text, "")
        name = name or parameter_name(context, text, taken)
        taken.add(name)
        if name != text:
            region.replacements[text] = name
        is_changed = text in changed
        if is_changed and form.schema != TENSOR and region.typed:
            raise OutOfReach(chain.id if isinstance(chain, ast.Name) else "", f"`{text}` is changed")
        given_back = is_changed and (text in parameters or name != text) and text not in region.targets.values()
        without_history = given_back and form.floating and _has_no_history(type_at(context, text, place))
        region.operands.append(
            Operand(
                name,
                text,
                replace(form, floating=form.floating and not without_history),
                is_changed and region.typed,
                given_back and region.typed,
                detached=text in cut and not is_changed,
                without_history=without_history,
            )
        )
    if region.typed and not any(map(_holds_tensors, region.operands)):
        numbers = [o.text for o in region.operands if o.text.isidentifier() and o.text not in parameters]
        raise OutOfReach(numbers[-1] if numbers else "", "it reads no tensor")


def _has_no_history(fact: TypeFact | None) -> bool:
    """Whether it is a buffer that required no gradient when functions returned: none flows through what it holds."""
    return fact is not None and fact.role == "buffer" and not fact.requires_grad


def _holds_tensors(operand: Operand) -> bool:
    forms = [operand.form]
    while forms:
        form = forms.pop()
        if TENSOR in form.schema or form.annotation == MODULE:
            return True
        forms += form.parts
    return False


def reads(context: Context, region: Region) -> Iterator[ast.Name]:
    """The places where the region reads a name of the functions around it that it has not given a value."""
    wanted = free_names(region.body) | (set(region.targets) - assigned_on_every_way(region.body))
    wanted &= _local_names(context)
    found = [
        node
        for statement in region.body
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and node.id in wanted
    ]
    yield from sorted(found, key=position)
    yield from (ast.Name(id=name, ctx=ast.Load()) for name in sorted(wanted - {node.id for node in found}))


def _only_assigned(context: Context, region: Region, node: ast.Name) -> bool:
    """Whether a name stands before an attribute that the region gives a value on every way, and does not read."""
    parents = context.site.source.parents
    chain: ast.AST | None = node
    while isinstance(chain, ast.Attribute | ast.Name) and not isinstance(chain.ctx, ast.Store):
        chain = parents.get(chain)
    if not isinstance(chain, ast.Attribute):
        return False
    parent = parents.get(chain)
    return parent in region.body and not isinstance(parent, ast.AugAssign)


def handed(context: Context, region: Region, node: ast.Name, place: ast.expr | ast.stmt) -> tuple[ast.expr, Form]:
    """The shortest chain of attributes from a name on that can be handed over; else the longest that is a module."""
    if not region.typed:
        return node, _ANYTHING
    module: tuple[ast.expr, Form] | None = None
    chain: ast.expr = node
    while True:
        fact = type_at(context, ast.unparse(chain), place)
        form = form_of(fact, Way.IN)
        if form is not None and form.annotation == MODULE:
            module = chain, form
        elif form is not None and not (form.schema == f"{TENSOR} | None" and isinstance(chain, ast.Attribute)):
            return chain, of_either(form, fact, type_in_eager(context, ast.unparse(chain)))
        parent = context.site.source.parents.get(chain)
        if not isinstance(parent, ast.Attribute) or isinstance(parent.ctx, ast.Del):
            break
        chain = parent
    if module is None:
        raise OutOfReach(node.id, f"`{ast.unparse(chain)}` cannot be handed to an operator")
    return module


def _without_gradient(context: Context, region: Region, text: str) -> bool:
    """Whether the region reads an operand only where no gradient flows out: `x[i].detach()`, `x.numel()`, `x > 0`."""
    parents, facts = context.site.source.parents, knowledge()
    ends = facts.cut | facts.integer | facts.boolean | facts.numbers
    found = [n for s in region.body for n in ast.walk(s) if isinstance(n, ast.expr) and ast.unparse(n) == text]
    for node in found:
        chain: ast.AST = node
        while True:
            parent = parents.get(chain)
            match parent:
                case ast.Call(func=ast.Attribute(attr=name) as method) if method is chain and name in ends:
                    break
                case ast.Attribute(attr="shape" | "dtype" | "device" | "data" | "ndim") | ast.Compare():
                    break
                case ast.Attribute() | ast.UnaryOp():
                    chain = parent
                case ast.Subscript(value=value) | ast.Call(func=value) if value is chain:
                    chain = parent
                case _:
                    return False
    return bool(found)


def _local_names(context: Context) -> set[str]:
    """Names of the functions around the site that are not the module's."""
    source = context.site.source
    found: set[str] = set()
    node: ast.AST | None = context.site.function
    while node is not None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found |= {inner.arg for inner in ast.walk(node.args) if isinstance(inner, ast.arg)}
            body = node.body if isinstance(node.body, list) else []
            found |= names_written(*body)
        node = source.parents.get(node)
    return found


def augmented(context: Context, body: Sequence[ast.stmt]) -> set[str]:
    """Chains of attributes that hold tensors and are only ever changed in place, by `self.steps += 1`."""
    stored = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)]
    by_operator = [n for n in stored if isinstance(context.site.source.parents.get(n), ast.AugAssign)]
    assigned = {ast.unparse(node) for node in stored if node not in by_operator}
    facts = {text: context.type_of(text) for node in by_operator if (text := ast.unparse(node)) not in assigned}
    return {text for text, fact in facts.items() if fact is not None and fact.kind == "tensor"}


def callers(context: Context) -> set[str]:
    """Parameters of the site's function that keep the value they came with: what changes them changes the caller's."""
    function = context.site.function
    if function is None:
        return set()
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)} - names_written(*function.body)


def _defined_before(context: Context, name: str, place: ast.expr | ast.stmt) -> bool:
    """Whether an argument, or a line above the region, gives `name` a value."""
    functions = (f for f in context.site.source.ancestors(place) if isinstance(f, (ast.FunctionDef, ast.Lambda)))
    return any(name in bound_before(function, place) for function in functions)


def _without_value(context: Context, region: Region, name: str) -> bool:
    """Whether `name` is the region's own, without a value where that begins: read too early, it raises inside as here.

    Not where it comes out: the function gives it on every way, also where nothing behind the region would read it.
    """
    function, first = context.site.function, region.body[0]
    if function is None or region.expression is not None or name in region.targets:
        return False
    return name in names_written(*region.body) and not may_have_value(context.site.source, function, name, first)


def parameter_name(context: Context, text: str, taken: set[str]) -> str:
    base = text.rpartition(".")[2]
    while base in taken or base == context.write.torch:
        base += "_"
    return base
