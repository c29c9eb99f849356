"""Calls: of operators, classes, methods, and of the file's own functions."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import reduce

from ddelint.knowledge.operators import dotted_name, operators
from ddelint.static.domain.call import Call
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.joining import each_of, join
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.state import State, join_states
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Alternatives,
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
    spread,
)
from ddelint.static.transfer.numbers import EXTREMES
from ddelint.static.transfer.operator_call import OperatorCall
from ddelint.static.transfer.spelled import spelled
from ddelint.static.transfer.table import answer
from ddelint.static.walk.branching import branch
from ddelint.static.walk.builtins import BUILTINS, keeps
from ddelint.static.walk.containers import container_method
from ddelint.static.walk.functions import hand_over, invoke
from ddelint.static.walk.reading_data import noted_read
from ddelint.static.walk.receivers import tensor_by_method
from ddelint.static.walk.records import built, changed_record, named_tuple
from ddelint.static.walk.validating import validated, validated_value
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
        values = spread(value) if isinstance(argument, ast.Starred) else (value,)
        arguments += values
        nodes += [argument] * len(values)
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = walker.evaluate(keyword.value, state)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
    answer = dispatch(walker, function, Call(node, arguments, nodes, keywords, state))
    if state.attributes:
        for name in _given_whole(node):
            state.forget_entries(name)
    hand_over(walker, node, (*arguments, *keywords.values()), state)
    return answer


def _given_whole(node: ast.expr) -> Iterator[str]:
    """The names that a call is given, also in a list or dictionary, or whose method it is: it may change what they
    hold."""
    parts: Iterable[ast.expr | None] = ()
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Call(func=func, args=args, keywords=keywords):
            owner = (func.value,) if isinstance(func, ast.Attribute) else ()
            parts = (*owner, *args, *(keyword.value for keyword in keywords))
        case ast.Starred(value=value):
            parts = (value,)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            pass
    for part in parts:
        if part is not None and not isinstance(part, ast.Call):  # a call inside has its own turn
            yield from _given_whole(part)


def dispatch(walker: Walker, function: Value, call: Call) -> Value:
    """Call `function` with evaluated arguments."""
    if isinstance(function, Method):
        if isinstance(function.receiver, Tensor):
            return _tensor_method(walker, function, call)
        return container_method(walker, function, call)
    if isinstance(function, Path):
        return _path(walker, function, call)
    if isinstance(function, Function):
        return invoke(walker, function, call.arguments, call.keywords, call.state, call.node)
    if isinstance(function, ClassReference):
        return built(walker, function.cls, call)
    if isinstance(function, Instance):
        return _call_instance(walker, function, call)
    if isinstance(function, Module):
        return _call_module(function, call)
    if isinstance(function, Series) and function.modules:
        return _call_in_turn(walker, function, call)
    if isinstance(function, Partial):
        given = function.arguments
        nodes = [*[call.node.func] * len(given), *call.nodes]
        return dispatch(walker, function.function, replace(call, arguments=[*given, *call.arguments], nodes=nodes))
    if isinstance(function, Alternatives):
        return _each_in_turn(walker, function, call)
    return _of_unknown(walker, call)


def _each_in_turn(walker: Walker, alternatives: Alternatives, call: Call) -> Value:
    """A call of one of several functions, nobody knows which: what any of them may give, and leave behind."""
    results: list[Value] = []
    ends: list[State] = []
    for option in alternatives.options:
        state = call.state.copy()
        results.append(dispatch(walker, option, replace(call, state=state)))
        ends.append(state)
    joined = join_states(ends)
    if joined is not None:
        call.state.take(joined)
    return reduce(join, results)


def _of_unknown(walker: Walker, call: Call) -> Value:
    """A method of something of which little is known: it may be one that only tensors have."""
    node = call.node
    if not isinstance(node.func, ast.Attribute):
        return UNKNOWN
    if walker.value_of(node.func.value, call.state) == KNOWN:
        return KNOWN
    if node.func.attr in operators().regions["new_sizes"]:  # `get_ctx().new_dynamic_size()`
        return walker.numbers.new_size(node, call.state.facts, Step(node, operators().says["new_sizes"], None))
    validated_value(walker, call)
    receiver = tensor_by_method(walker, node.func, call.state)
    return UNKNOWN if receiver is None else _tensor_method(walker, Method(receiver, node.func.attr), call)


def _tensor_method(walker: Walker, method: Method, call: Call) -> Value:
    tensor = method.receiver
    assert isinstance(tensor, Tensor)
    known = operators()
    given = call.arguments or call.keywords
    if method.name in known.known_methods or (method.name in known.known_without_arguments and not given):
        return KNOWN
    receiver = call.node.func.value if isinstance(call.node.func, ast.Attribute) else None
    operator = OperatorCall(
        call.node,
        method.name,
        tensor,
        call.arguments,
        call.nodes,
        call.keywords,
        call.state.facts,
        walker.numbers,
        walker.invariants,
        True,
        call.arguments,
        call.nodes,
        receiver,
    )
    answer = _answered(walker, operator, call.state)
    names = call.state.names
    if method.name.endswith("_") and isinstance(receiver, ast.Name) and receiver.id in names:
        names[receiver.id] = answer if isinstance(answer, Tensor) else tensor.renewed()
    return answer


def _path(walker: Walker, path: Path, call: Call) -> Value:
    known = operators()
    name = path.name.rsplit(".", 1)[-1]
    if path.name.startswith("builtins."):
        behaviour = known.builtins.get(name)
        handler = BUILTINS.get(behaviour) if behaviour else None
        return handler(walker, call) if handler else UNKNOWN
    if name in known.while_compiling:
        return Constant(known.while_compiling[name])
    if path.name in known.conversions:
        return _conversion(walker, call)
    if path.name in known.keeps:
        return keeps(walker, call)
    if path.name in known.regions["record_factories"]:
        return named_tuple(walker, call.arguments)
    if path.name in known.regions["record_changes"] and call.arguments and isinstance(call.arguments[0], Instance):
        return changed_record(walker, call.arguments[0], call.keywords)
    if path.name in known.regions["tables"]:
        return BUILTINS["table"](walker, call)
    if path.name == "functools.partial" and call.arguments:
        return Partial(call.arguments[0], tuple(call.arguments[1:]))
    if path.name in known.regions["launch_wrappers"] and call.arguments:
        return call.arguments[0]
    if path.name in known.regions["launch_arithmetic"]:
        return _symbolic(walker, "arithmetic", call)
    if path.name in known.regions["spelled_shapes"]:
        return spelled(_operator(walker, name, call))
    library = path.name.split(".")[0]
    if library != "torch" and path.name not in known.of_others:
        # what NumPy or the standard library gives is no tensor, and is known while tracing
        return KNOWN if library in known.regions["eager_libraries"] else _elsewhere(walker, path, call)
    if path.name in known.regions["passes_through"] and call.arguments:
        return dispatch(walker, call.first, call.without_first())
    module = _module_object(path, call)
    if module is not None:
        return module
    if name in known.symbolic:
        return _symbolic(walker, known.symbolic[name], call)
    if path.name not in known.of_others and path.name.rpartition(".")[0] not in known.regions["operator_namespaces"]:
        validated(walker, path, call)
        return UNKNOWN
    return _operator_function(walker, name, call)


def _elsewhere(walker: Walker, path: Path, call: Call) -> Value:
    """What a function of another file returns."""
    index, name = walker.index, dotted_name(call.node.func)
    if index.context.elsewhere is None or call.node is walker.unused:
        return UNKNOWN
    if index.dotted(call.node.func) != path.name:  # it was picked before, or goes by a name of the function's own
        name = index.name_of(path.name)
    if not name:
        return UNKNOWN
    return index.context.elsewhere.returned(index.source.filename, name, call.arguments, call.keywords, call.node)


def _operator_function(walker: Walker, name: str, call: Call) -> Value:
    numbers = [bare(value) for value in call.arguments[:2]]
    if numbers and "input" not in call.keywords and "tensor" not in call.keywords:
        only_numbers = all(isinstance(value, (Constant, Known)) for value in numbers)
        if only_numbers and operators().returns.get(name, "").startswith(("broadcast", "reduction", "same")):
            return UNKNOWN
    return _answered(walker, _operator(walker, name, call), call.state)


def _operator(walker: Walker, name: str, call: Call) -> OperatorCall:
    """A call of a function, its tensor apart from its other arguments."""
    plain = [bare(value) for value in call.arguments]
    tensor_node: ast.expr | None
    if plain and isinstance(plain[0], Tensor):
        tensor, tensor_node, rest, rest_nodes = plain[0], call.nodes[0], call.arguments[1:], call.nodes[1:]
    elif "input" in call.keywords or "tensor" in call.keywords:
        given = bare(call.keywords.get("input", call.keywords.get("tensor", UNKNOWN)))
        tensor = given if isinstance(given, Tensor) else Tensor()
        tensor_node = next((k.value for k in call.node.keywords if k.arg in ("input", "tensor")), None)
        rest, rest_nodes = call.arguments, call.nodes
    else:
        tensor, tensor_node = Tensor(), call.nodes[0] if call.nodes else None
        rest, rest_nodes = call.arguments[1:], call.nodes[1:]
    return OperatorCall(
        call.node,
        name,
        tensor,
        rest,
        rest_nodes,
        call.keywords,
        call.state.facts,
        walker.numbers,
        walker.invariants,
        False,
        call.arguments,
        call.nodes,
        tensor_node,
    )


def _module_object(path: Path, call: Call) -> Value | None:
    """An object of one of torch.nn's classes, where the path names one."""
    known = operators().regions
    if path.name in known["parameters"]:
        given = bare(call.first)
        return replace(given.renewed(), offsets=False) if isinstance(given, Tensor) else Tensor(boolean=False)
    if path.name in known["module_lists"]:
        given = bare(call.arguments[0]) if len(call.arguments) == 1 else series(tuple(call.arguments))
        if isinstance(given, Series):
            return replace(given, kind="list", modules=True)
        return Series("list", None, UNKNOWN, KNOWN, True)
    if path.name in known["module_tables"]:
        given = bare(call.first)
        return given if isinstance(given, Table) else Table()
    if path.name.startswith("torch.nn.") and path.name.rsplit(".", 1)[-1][:1].isupper():
        return Module(path.name)
    return None


def _call_module(module: Module, call: Call) -> Value:
    if module.path.rsplit(".", 1)[-1] not in operators().regions["tensor_modules"]:
        return UNKNOWN
    given = bare(call.first)
    if isinstance(given, Tensor):
        return Tensor(given.dims[:1] if given.unbacked_dims else (), False, False, trail=given.trail)
    return Tensor(boolean=False)


def _call_in_turn(walker: Walker, modules: Series, call: Call) -> Value:
    """`nn.Sequential`: each module gets what the one before it gave."""
    value: Value = UNKNOWN
    for module in modules.items if modules.items is not None else (modules.element,):
        value = dispatch(walker, module, call)
        call = replace(call, arguments=[value], keywords={})
    return value


def _symbolic(walker: Walker, behaviour: str, call: Call) -> Value:
    values = [bare(value) for value in call.arguments]
    if len(values) == 1 and isinstance(values[0], Series):
        values = [bare(each_of(values[0]))]
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
        key = (ast.dump(call.node.func), forms)
        form = Linear.of(walker.numbers.symbols.setdefault(key, fresh_symbol())) if None not in forms else None
        return replace(source, form=form, comparisons=())
    if behaviour in EXTREMES:
        form = walker.numbers.extreme(EXTREMES[behaviour], values, call.state.facts)
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


def _conversion(walker: Walker, call: Call) -> Value:
    """A library function that turns its argument into a float."""
    for value, argument in zip(map(bare, call.arguments), call.node.args):
        if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
            walker.record(call.node, "integer", value, parts=walker.parts(argument, call.state), rule="DDE201")
            if isinstance(value, Unbacked):
                return replace(value, form=None, comparisons=(), topic="number")
            return Unbacked("number", call.node, None, trail=Step(call.node, operators().says["cast"], None))
    return KNOWN


def _call_instance(walker: Walker, instance: Instance, call: Call) -> Value:
    for name in ("__call__", *sorted(operators().regions["entry_methods"])):
        found = walker.index.method(instance.cls, name)
        if found is not None:
            return dispatch(walker, Function(found[0], instance, None, found[1]), call)
    return UNKNOWN


def _answered(walker: Walker, operator: OperatorCall, state: State) -> Value:
    """What an operator answers, and what it demands."""
    value = answer(operator)
    if operator.demands:
        walker.record_all(operator.demands, state)
    if operator.newly_read is not None:
        noted_read(walker, operator.node, operator.newly_read, state)
    return value
