"""Calls of the file's own functions: their parameters, and what is followed how far."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.call import Call
from ddelint.static.domain.definitions import ClassInfo, FunctionNode
from ddelint.static.domain.evidence import Evidence
from ddelint.static.domain.joining import part_known
from ddelint.static.domain.linear import fresh_symbol
from ddelint.static.domain.state import State
from ddelint.static.domain.summaries import Signature
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Alternatives,
    ClassReference,
    Constant,
    Function,
    Instance,
    Optional,
    Partial,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    ends,
    replace,
    series,
)
from ddelint.static.program import compiling
from ddelint.static.program.abstract import implementations
from ddelint.static.walk import hints
from ddelint.static.walk.evidence import gather
from ddelint.static.walk.following import demanding
from ddelint.static.walk.walker import Walker

SHORT = 40
"""Functions of at most so many lines are followed even without a source or sink in them."""


def invoke(
    walker: Walker, function: Function, arguments: list[Value], keywords: dict[str, Value], state: State, node: ast.AST
) -> Value:
    """Interpret a function of the file with these arguments; its annotation answers where that leads too far."""
    definition = function.node
    promised = hints.value_of(getattr(definition, "returns", None), walker.index)
    if isinstance(definition, FunctionNode):
        if walker.index.excluded(definition):
            _compile_time_constants(walker, definition, arguments, keywords, state, node)
            return promised
        if walker.index.decorated(definition, operators().regions["cached"]):
            _hashed(walker, node, arguments, state)
        lines = (definition.end_lineno or definition.lineno) - definition.lineno
        followed = lines <= SHORT and definition.name not in operators().regions["entry_methods"]
        followed = followed or not walker.frames or walker.index.matters(definition)
        if not followed and not any(map(demanding, (*arguments, *keywords.values()))):
            return promised
    at_home = bool(walker.frames) and function.home is walker.frames[-1]
    seen = state.names if at_home else function.closure
    names = _parameters_of(walker, function, arguments, keywords, node)
    own = _is_own(function, node, state)
    if own and not walker.quiet and isinstance(node, ast.Call):
        _read_heirs_later(walker, function, arguments, keywords, state, node)
    signature: Signature | None = None
    if seen is None and not (own and state.of_self()):
        signature = Signature(definition, names, walker.quiet > 0)
        found = walker.summaries.find(signature, state.facts)
        if found is not None:
            return found
    entry = _entry(seen, names, own, state)
    if not _may_follow(walker, definition, names):
        if not walker.quiet:
            walker.following.postpone(function, entry.copy())
        return promised
    floor, refusals = fresh_symbol(), walker.following.refusals
    before = entry.facts.older_than(floor) if signature is not None and signature.key is not None else None
    returned, end = walker.execute(definition, function.owner, entry)
    if end is not None:
        state.facts = end.facts
        if own:
            beside = {chain: value for chain, value in state.attributes.items() if not chain.startswith("self.")}
            state.attributes = beside | end.of_self()
        if at_home:
            _written_outside(walker, definition, end, state)
    if returned is None:
        return promised
    if bare(returned) == UNKNOWN and promised != UNKNOWN:
        returned = promised
    if before is not None and signature is not None and end is not None and not (own and end.of_self()):
        alone = walker.following.refusals == refusals and before == end.facts.older_than(floor)
        if alone:
            walker.summaries.keep(signature, returned, floor, end.facts)
    return returned


def hand_over(walker: Walker, node: ast.Call, values: Iterable[Value], state: State) -> None:
    """Read functions that a call is given later, as if anything were passed, if no call is followed into them."""
    functions = [value for value in values if isinstance(value, (Function, Partial, Alternatives))]
    if walker.quiet or not functions or compiling.disables(walker.index, node.func):
        return
    for value in functions:
        if isinstance(value, Function):
            definition = value.node
            if not walker.following.is_unseen(definition):
                continue
            if isinstance(definition, FunctionNode) and walker.index.excluded(definition):
                continue
            at_home = bool(walker.frames) and value.home is walker.frames[-1]
            names = _parameters_of(walker, value, [], {}, definition)
            own = value.bound is not None and value.bound is state.names.get("self")
            entry = _entry(state.names if at_home else value.closure, names, own, state)
            walker.following.postpone(value, entry.copy())
        elif isinstance(value, Partial):
            hand_over(walker, node, (value.function, *value.arguments), state)
        elif isinstance(value, Alternatives):
            hand_over(walker, node, value.options, state)


def _entry(seen: Mapping[str, Value] | None, names: dict[str, Value], own: bool, state: State) -> State:
    """What holds where a function begins; `seen`: what it sees from outside, `own`: of the object that calls it."""
    entry = State({**seen, **names} if seen else names, state.facts)
    if own:
        entry.attributes = state.of_self()
        entry.constructs = state.constructs
    return entry


def _written_outside(walker: Walker, definition: FunctionNode | ast.Lambda, end: State, state: State) -> None:
    """Names of the surrounding function that the called one has bound anew."""
    if isinstance(definition, ast.Lambda):
        return
    if definition not in walker.nonlocals:
        found = (node.names for node in descend(definition) if isinstance(node, ast.Nonlocal))
        walker.nonlocals[definition] = tuple(name for names in found for name in names)
    for name in walker.nonlocals[definition]:
        if name in end.names:
            state.names[name] = end.names[name]
            state.forget_choices(name)


def constructed(
    walker: Walker,
    found: tuple[FunctionNode, ClassInfo],
    cls: ClassInfo,
    call: Call,
) -> dict[str, Value] | None:
    """What a constructor that runs with these arguments leaves in the object; None where that leads too far."""
    definition = found[0]
    function = Function(definition, Instance(cls), None, found[1])
    names = _parameters_of(walker, function, call.arguments, call.keywords, call.node)
    if not definition.args.args or not _may_follow(walker, definition, names):
        return None
    entry = State(names, call.state.facts)
    entry.constructs = True
    _, end = walker.execute(definition, function.owner, entry)
    if end is None:
        return None
    call.state.facts = end.facts
    prefix = definition.args.args[0].arg + "."
    own = {chain.removeprefix(prefix): v for chain, v in end.attributes.items() if chain.startswith(prefix)}
    return {name: value for name, value in own.items() if "." not in name and value != UNKNOWN}


def _may_follow(walker: Walker, definition: FunctionNode | ast.Lambda, names: dict[str, Value]) -> bool:
    active = [frame.node for frame in walker.frames]
    return walker.following.may(definition, active, names, walker.quiet > 0)


def _is_own(function: Function, node: ast.AST, state: State) -> bool:
    """Whether the call is of a method of the object that the calling frame is about."""
    if not isinstance(function.bound, Instance) or not isinstance(node, (ast.Call, ast.Attribute)):
        return False
    if function.bound is state.names.get("self"):
        return True
    target = node.func if isinstance(node, ast.Call) else node
    if not isinstance(target, ast.Attribute):
        return False
    if isinstance(target.value, ast.Name):
        return target.value.id == "self"
    return isinstance(target.value, ast.Call) and terminal_name(target.value.func) == "super"


def _read_heirs_later(
    walker: Walker,
    function: Function,
    arguments: list[Value],
    keywords: dict[str, Value],
    state: State,
    node: ast.Call,
) -> None:
    """What heirs define anew in the place of a method is read later, with these arguments.

    Theirs is what runs where they inherit the function that calls it: as an entry of their own.
    """
    caller, bound, name = walker.frames[-1].node, function.bound, getattr(function.node, "name", "")
    if not isinstance(bound, Instance) or not isinstance(caller, FunctionNode):
        return
    if not isinstance(node.func, ast.Attribute) or node.func.attr != name or isinstance(node.func.value, ast.Call):
        return
    for heir, found in implementations(walker.index, bound.cls, name):
        inherited = walker.index.method(heir, caller.name)
        if inherited is not None and inherited[0] is caller and walker.index.is_module(heir):
            theirs = Function(found[0], Instance(heir), None, heir)
            names = _parameters_of(walker, theirs, arguments, keywords, node)
            walker.following.postpone(theirs, _entry(None, names, False, state).copy())


def _compile_time_constants(
    walker: Walker,
    definition: FunctionNode,
    arguments: list[Value],
    keywords: dict[str, Value],
    state: State,
    node: ast.AST,
) -> None:
    """A Triton kernel's parameters (and its launch's options) that must be known when it is compiled."""
    if not isinstance(node, ast.Call):
        return
    declared = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
    constants = {parameter.arg for parameter in declared if _is_constexpr(parameter.annotation)}
    if not constants:
        return
    places = {k.arg: k.value for k in node.keywords if k.arg is not None}
    constants |= places.keys() - {parameter.arg for parameter in declared}
    given = dict(zip((parameter.arg for parameter in declared), zip(arguments, node.args)))
    given |= {name: (keywords[name], place) for name, place in places.items() if name in keywords}
    for name, (value, place) in given.items():
        value = bare(value)
        if name in constants and isinstance(value, (Unbacked, Tensor)):
            parts = walker.parts(place, state)
            walker.record(place, "integer", value, parts=parts, rule="DDE209")


def _hashed(walker: Walker, node: ast.AST, arguments: list[Value], state: State) -> None:
    if not isinstance(node, ast.Call):
        return
    for value, argument in zip(map(bare, arguments), node.args):
        if isinstance(value, Unbacked):
            parts = walker.parts(argument, state)
            walker.record(node, "failure", value, subject=argument, parts=parts, rule="DDE208")


def _parameters_of(
    walker: Walker, function: Function, arguments: list[Value], keywords: dict[str, Value], node: ast.AST
) -> dict[str, Value]:
    """The parameters' values: what is passed, else what the declaration and its use say."""
    declared = function.node.args
    positional = [*declared.posonlyargs, *declared.args]
    names: dict[str, Value] = {}
    first, last = ends(arguments)
    given = list(first)
    if function.bound is not None and positional:
        given.insert(0, function.bound)
    if isinstance(function.node, FunctionNode) and is_classmethod(function.node) and positional:
        given = _with_class(function, given)
    defaults: dict[str, ast.expr] = {}
    for parameter, default in zip(reversed(positional), reversed(declared.defaults)):
        defaults[parameter.arg] = default
    for parameter, keyword_default in zip(declared.kwonlyargs, declared.kw_defaults):
        if keyword_default is not None:
            defaults[parameter.arg] = keyword_default
    called = isinstance(node, ast.Call) and bool(walker.frames)
    for position, parameter in enumerate((*positional, *declared.kwonlyargs)):
        value: Value | None = None
        if position < len(given) and position < len(positional):
            value = given[position]
        elif parameter.arg in keywords:
            value = keywords[parameter.arg]
        elif called and parameter.arg in defaults and not _spreads(node):
            value = walker.settled(defaults[parameter.arg])
            default_node = defaults[parameter.arg]
            if isinstance(default_node, ast.Constant):
                value = Constant(default_node.value)
        if value is None or value == UNKNOWN or hints.is_array(parameter.annotation, walker.index):
            value = _declared(walker, parameter, defaults.get(parameter.arg), function.node, function.owner)
            if isinstance(tensor := bare(value), Tensor):
                walker.numbers.given.add(tensor.outline)
        elif isinstance(value, Unbacked) and isinstance(node, ast.Call) and called:
            name = getattr(function.node, "name", "a lambda")
            if value.trail is None or value.trail.node is not node:
                step = Step(node, f"it is passed to `{name}` as `{parameter.arg}`", value.trail)
                value = replace(value, trail=step)
        names[parameter.arg] = value
    if declared.vararg is not None:
        rest = tuple(given[len(positional) :])
        if last is not None:
            names[declared.vararg.arg] = part_known(rest, UNKNOWN, last, "tuple")
        else:
            names[declared.vararg.arg] = series(rest, "tuple") if rest else Series("tuple")
    if declared.kwarg is not None:
        names[declared.kwarg.arg] = Table({}, UNKNOWN)
    return names


def usual_parameters(walker: Walker, function: Function) -> dict[str, Value] | None:
    """The parameters' values where nothing but their declaration says what they are; None where it does not say."""
    declared = function.node.args
    parameters = (*declared.posonlyargs, *declared.args, *declared.kwonlyargs)
    names = _parameters_of(walker, function, [], {}, function.node)
    for parameter in parameters:
        if names[parameter.arg] is UNKNOWN:
            said = hints.may_be_data(parameter.annotation)
            if said is None:
                return None
            names[parameter.arg] = Tensor() if said else UNKNOWN
    return None if declared.vararg is not None or declared.kwarg is not None else names


def _declared(
    walker: Walker, parameter: ast.arg, default: ast.expr | None, function: ast.AST, owner: ClassInfo | None
) -> Value:
    """A parameter of which the caller says nothing."""
    if parameter.annotation is not None:
        value = hints.value_of(parameter.annotation, walker.index)
        if isinstance(value, Tensor) and isinstance(default, ast.Constant):
            return Optional(value) if default.value is None else UNKNOWN  # `flag: Tensor = False` is none
        return value
    if parameter.arg in evidence_of(walker, function, owner).parameters:
        if isinstance(default, ast.Constant) and default.value is None:
            return Optional(Tensor())
        return Tensor() if default is None else UNKNOWN
    if isinstance(default, ast.Constant) and isinstance(default.value, (bool, int, float, str)):
        # who calls an entry may give a tensor for a factor; what counts or switches is a number
        return UNKNOWN if type(default.value) is float and not walker.frames else KNOWN
    return UNKNOWN


def evidence_of(walker: Walker, function: ast.AST, owner: ClassInfo | None = None) -> Evidence:
    """What a function's text says of its names."""
    found = walker.evidence.get(function)
    if found is None:
        found = walker.evidence[function] = gather(function, owner, walker)
    return found


def _is_constexpr(annotation: ast.expr | None) -> bool:
    """Whether a parameter is declared as a compile-time constant, also as text."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        name = annotation.value.rpartition(".")[2]
    else:
        name = "" if annotation is None else terminal_name(annotation)
    return name in operators().regions["constexpr"]


def _with_class(function: Function, given: list[Value]) -> list[Value]:
    """A class method's arguments behind the class that it is called on."""
    if isinstance(function.bound, (ClassReference, Instance)):
        return [ClassReference(function.bound.cls), *given[1:]]
    return [UNKNOWN if function.owner is None else ClassReference(function.owner), *given]


def is_classmethod(node: FunctionNode) -> bool:
    """Whether the class comes first among the parameters."""
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)


def _spreads(node: Any) -> bool:
    """Whether the call hands on arguments that aren't written out."""
    return any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
