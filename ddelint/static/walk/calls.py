"""Calls: of operators, classes, methods, and of the file's own functions."""

from __future__ import annotations

import ast

from ddelint.operators import dotted_name, operators
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    ClassReference,
    Constant,
    Function,
    Instance,
    Known,
    Method,
    Module,
    Optional,
    Partial,
    Path,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    replace,
    series,
)
from ddelint.static.transfer.operator_call import OperatorCall
from ddelint.static.transfer.table import answer
from ddelint.static.walk.branching import branch
from ddelint.static.walk.builtins import BUILTINS, keeps
from ddelint.static.walk.containers import container_method
from ddelint.static.walk.functions import invoke
from ddelint.static.walk.reading_data import noted_read, read_number
from ddelint.static.walk.records import built, changed_record, named_tuple
from ddelint.static.walk.walker import Walker


def call(walker: Walker, node: ast.Call, function: Value, state: State) -> Value:
    """The value of a call of `function`."""
    if isinstance(function, Optional):
        function = function.inner
    if isinstance(function, Path) and function.name.rsplit(".", 1)[-1] in operators().checks:
        return _check(walker, node, state)
    arguments: list[Value] = []
    nodes: list[ast.expr] = []
    for argument in node.args:
        value = walker.evaluate(argument, state)
        if isinstance(argument, ast.Starred):
            inner = bare(value)
            if isinstance(inner, Series) and inner.items is not None:
                arguments += inner.items
                nodes += [argument] * len(inner.items)
                continue
            value = UNKNOWN
        arguments.append(value)
        nodes.append(argument)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = walker.evaluate(keyword.value, state)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
    return dispatch(walker, function, node, arguments, nodes, keywords, state)


def dispatch(
    walker: Walker,
    function: Value,
    node: ast.Call,
    arguments: list[Value],
    nodes: list[ast.expr],
    keywords: dict[str, Value],
    state: State,
) -> Value:
    """Call `function` with evaluated arguments."""
    if isinstance(function, Method):
        if isinstance(function.receiver, Tensor):
            return _tensor_method(walker, function, node, arguments, nodes, keywords, state)
        return container_method(walker, function, node, arguments, keywords, state)
    if isinstance(function, Path):
        return _path(walker, function, node, arguments, nodes, keywords, state)
    if isinstance(function, Function):
        return invoke(walker, function, arguments, keywords, state, node)
    if isinstance(function, ClassReference):
        return built(walker, function.cls, arguments, keywords, node, state)
    if isinstance(function, Instance):
        return _call_instance(walker, function, node, arguments, keywords, state)
    if isinstance(function, Module):
        return _call_module(function, arguments)
    if isinstance(function, Series) and function.modules:
        return _call_in_turn(walker, function, node, arguments, nodes, state)
    if isinstance(function, Partial):
        given = function.arguments
        places = [*[node.func] * len(given), *nodes]
        return dispatch(walker, function.function, node, [*given, *arguments], places, keywords, state)
    return _reduced_and_read(walker, node, state)


def _reduced_and_read(walker: Walker, node: ast.Call, state: State) -> Value:
    """`anything.max().item()`: what has both methods is a tensor. `get_ctx().new_dynamic_size()`: a size."""
    match node.func:
        case ast.Attribute(attr=made) if made in operators().regions["new_sizes"]:
            step = Step(node, operators().says["new_sizes"], None)
            return walker.numbers.new_size(node, state.facts, step)
        case ast.Attribute(attr=read, value=ast.Call(func=ast.Attribute(attr=reduction, value=receiver))):
            known = operators()
            reads = known.returns.get(read) == "item"
            reduces = known.returns.get(reduction, "").startswith("reduction")
            if reads and reduces and walker.value_of(receiver, state) == UNKNOWN:
                mask = known.returns[reduction] == "reduction_mask"
                return read_number(walker, node, Tensor((), True, True if mask else None), state, "item")
    return UNKNOWN


def _tensor_method(
    walker: Walker,
    method: Method,
    node: ast.Call,
    arguments: list[Value],
    nodes: list[ast.expr],
    keywords: dict[str, Value],
    state: State,
) -> Value:
    tensor = method.receiver
    assert isinstance(tensor, Tensor)
    if method.name in operators().known_methods:
        return KNOWN
    receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
    operator = OperatorCall(
        node,
        method.name,
        tensor,
        arguments,
        nodes,
        keywords,
        state.facts,
        walker.numbers,
        walker.invariants,
        True,
        arguments,
        nodes,
        receiver,
    )
    answer = _answered(walker, operator, state)
    if method.name.endswith("_") and isinstance(receiver, ast.Name) and receiver.id in state.names:
        state.names[receiver.id] = answer if isinstance(answer, Tensor) else tensor.renewed()
    return answer


def _path(
    walker: Walker,
    path: Path,
    node: ast.Call,
    arguments: list[Value],
    nodes: list[ast.expr],
    keywords: dict[str, Value],
    state: State,
) -> Value:
    known = operators()
    name = path.name.rsplit(".", 1)[-1]
    if path.name.startswith("builtins."):
        behaviour = known.builtins.get(name)
        handler = BUILTINS.get(behaviour) if behaviour else None
        return handler(walker, node, arguments, keywords, state) if handler else UNKNOWN
    if name in known.while_compiling:
        return Constant(known.while_compiling[name])
    if path.name in known.conversions:
        return _conversion(walker, node, arguments, state)
    if path.name in known.keeps:
        return keeps(walker, node, arguments, keywords, state)
    if path.name in known.regions["record_factories"]:
        return named_tuple(walker, arguments)
    if path.name in known.regions["record_changes"] and arguments and isinstance(arguments[0], Instance):
        return changed_record(walker, arguments[0], keywords)
    if path.name in known.regions["tables"]:
        return BUILTINS["table"](walker, node, arguments, keywords, state)
    if path.name == "functools.partial" and arguments:
        return Partial(arguments[0], tuple(arguments[1:]))
    if path.name in known.regions["launch_wrappers"] and arguments:
        return arguments[0]
    if path.name in known.regions["launch_arithmetic"]:
        return _symbolic(walker, "arithmetic", node, arguments, state)
    library = path.name.split(".")[0]
    if library != "torch" and path.name not in known.of_others:
        # what NumPy or the standard library gives is no tensor, and is known while tracing
        return KNOWN if library in known.regions["eager_libraries"] else _elsewhere(walker, node, arguments, keywords)
    if path.name in known.regions["passes_through"] and arguments:
        return dispatch(walker, arguments[0], node, arguments[1:], nodes[1:], {}, state)
    module = _module_object(walker, path, arguments, keywords)
    if module is not None:
        return module
    if name in known.symbolic:
        return _symbolic(walker, known.symbolic[name], node, arguments, state)
    if path.name not in known.of_others and path.name.rpartition(".")[0] not in known.regions["operator_namespaces"]:
        return UNKNOWN
    return _operator_function(walker, name, node, arguments, nodes, keywords, state)


def _elsewhere(walker: Walker, node: ast.Call, arguments: list[Value], keywords: dict[str, Value]) -> Value:
    """What a function of another file returns."""
    index, name = walker.index, dotted_name(node.func)
    if index.context.elsewhere is None or not name:
        return UNKNOWN
    return index.context.elsewhere.returned(index.source.filename, name, arguments, keywords, node)


def _operator_function(
    walker: Walker,
    name: str,
    node: ast.Call,
    arguments: list[Value],
    nodes: list[ast.expr],
    keywords: dict[str, Value],
    state: State,
) -> Value:
    plain = [bare(value) for value in arguments]
    tensor_node: ast.expr | None
    if plain and isinstance(plain[0], Tensor):
        tensor, tensor_node, rest, rest_nodes = plain[0], nodes[0], arguments[1:], nodes[1:]
    elif "input" in keywords or "tensor" in keywords:
        given = bare(keywords.get("input", keywords.get("tensor", UNKNOWN)))
        tensor = given if isinstance(given, Tensor) else Tensor()
        tensor_node = next((k.value for k in node.keywords if k.arg in ("input", "tensor")), None)
        rest, rest_nodes = arguments, nodes
    else:
        tensor, tensor_node = Tensor(), nodes[0] if nodes else None
        rest, rest_nodes = arguments[1:], nodes[1:]
        numbers = bool(plain) and all(isinstance(value, (Constant, Known)) for value in plain[:2])
        if numbers and operators().returns.get(name, "").startswith(("broadcast", "reduction", "same")):
            return UNKNOWN
    operator = OperatorCall(
        node,
        name,
        tensor,
        rest,
        rest_nodes,
        keywords,
        state.facts,
        walker.numbers,
        walker.invariants,
        False,
        arguments,
        nodes,
        tensor_node,
    )
    return _answered(walker, operator, state)


def _module_object(walker: Walker, path: Path, arguments: list[Value], keywords: dict[str, Value]) -> Value | None:
    """An object of one of torch.nn's classes, where the path names one."""
    known = operators().regions
    if path.name in known["parameters"]:
        given = bare(arguments[0]) if arguments else UNKNOWN
        return replace(given.renewed(), offsets=False) if isinstance(given, Tensor) else Tensor(boolean=False)
    if path.name in known["module_lists"]:
        given = bare(arguments[0]) if len(arguments) == 1 else series(tuple(arguments))
        if isinstance(given, Series):
            return replace(given, kind="list", modules=True)
        return Series("list", None, UNKNOWN, KNOWN, True)
    if path.name in known["module_tables"]:
        given = bare(arguments[0]) if arguments else UNKNOWN
        return given if isinstance(given, Table) else Table()
    if path.name.startswith("torch.nn.") and path.name.rsplit(".", 1)[-1][:1].isupper():
        return Module(path.name)
    return None


def _call_module(module: Module, arguments: list[Value]) -> Value:
    if module.path.rsplit(".", 1)[-1] not in operators().regions["tensor_modules"]:
        return UNKNOWN
    given = bare(arguments[0]) if arguments else UNKNOWN
    if isinstance(given, Tensor):
        return Tensor(given.dims[:1] if given.unbacked_dims else (), False, False, trail=given.trail)
    return Tensor(boolean=False)


def _call_in_turn(
    walker: Walker, modules: Series, node: ast.Call, arguments: list[Value], nodes: list[ast.expr], state: State
) -> Value:
    """`nn.Sequential`: each module gets what the one before it gave."""
    value: Value = UNKNOWN
    for module in modules.items if modules.items is not None else (modules.element,):
        value = dispatch(walker, module, node, arguments, nodes, {}, state)
        arguments = [value]
    return value


def _symbolic(walker: Walker, behaviour: str, node: ast.Call, arguments: list[Value], state: State) -> Value:
    values = [bare(value) for value in arguments]
    if len(values) == 1 and isinstance(values[0], Series):
        values = [bare(values[0].each)]
    unbacked = [value for value in values if isinstance(value, Unbacked)]
    if behaviour == "never_asks" or not unbacked:
        return KNOWN
    source = unbacked[0]
    if behaviour == "conjunction":
        known = tuple(c for value in unbacked for c in value.comparisons)
        complete = all(value.comparisons for value in unbacked)
        return replace(source, form=None, comparisons=known if complete else ())
    if behaviour == "negation" and len(source.comparisons) == 1:
        return replace(source, form=None, comparisons=(source.comparisons[0].negated(),))
    if behaviour == "arithmetic":
        forms = tuple(getattr(value, "form", None) for value in values)
        key = (ast.dump(node.func), forms)
        form = Linear.of(walker.numbers.symbols.setdefault(key, fresh_symbol())) if None not in forms else None
        return replace(source, form=form, comparisons=())
    return replace(source, form=None, comparisons=())


def _check(walker: Walker, node: ast.Call, state: State) -> Value:
    """`torch._check(condition, …)`: what it states holds from here on."""
    if not node.args:
        return NONE
    condition = node.args[0]
    value = bare(walker.evaluate(condition, state))
    if isinstance(value, Unbacked) and not value.comparisons and value.topic != "bool":
        # _check_is_size(n)
        if value.form is not None:
            state.facts.learn_bounds(value.form, NONNEGATIVE)
        return NONE
    walker.quiet += 1
    true, _ = branch(walker, condition, state.copy())
    walker.quiet -= 1
    if true is not None:
        state.facts = true.facts
    return NONE


def _conversion(walker: Walker, node: ast.Call, arguments: list[Value], state: State) -> Value:
    """A library function that turns its argument into a float."""
    for value, argument in zip(map(bare, arguments), node.args):
        if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
            walker.record(node, "integer", value, parts=walker.parts(argument, state), rule="DDE201")
            if isinstance(value, Unbacked):
                return replace(value, form=None, comparisons=(), topic="number")
            return Unbacked("number", node, None, trail=Step(node, operators().says["cast"], None))
    return KNOWN


def _call_instance(
    walker: Walker, instance: Instance, node: ast.Call, arguments: list[Value], keywords: dict[str, Value], state: State
) -> Value:
    for name in ("__call__", *sorted(operators().regions["entry_methods"])):
        found = walker.index.method(instance.cls, name)
        if found is not None:
            return invoke(walker, Function(found[0], instance, None, found[1]), arguments, keywords, state, node)
    return UNKNOWN


def _answered(walker: Walker, operator: OperatorCall, state: State) -> Value:
    """What an operator answers, and what it demands."""
    value = answer(operator)
    if operator.demands:
        walker.record_all(operator.demands, state)
    if operator.newly_read is not None:
        noted_read(walker, operator.node, operator.newly_read, state)
    return value
