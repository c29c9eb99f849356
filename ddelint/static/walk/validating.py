"""Classes that ask whether the tensors they are made of fit: distributions, exported without strict mode."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.static.domain.call import Call
from ddelint.static.domain.values import Constant, Path, Tensor, Value, bare
from ddelint.static.walk.walker import Walker


def validated(walker: Walker, path: Path, call: Call) -> None:
    """Note what such a class asks where it is called, unless it is told not to, or what is compiled gives it."""
    if not _validates(walker, path.name, call.node):
        return
    given: list[tuple[ast.expr, Value]] = [*zip(call.nodes, call.arguments)]
    given += [(keyword.value, call.keywords[keyword.arg]) for keyword in call.node.keywords if keyword.arg]
    tensors = [(node, tensor) for node, value in given if isinstance(tensor := bare(value), Tensor)]
    asking = [(node, tensor) for node, tensor in tensors if not tensor.literal]
    if asking and call.node not in walker.bindings_of(walker.frames[0].node).given:
        walker.record(call.node, "truth", asking[0][1], parts=tuple(asking))


def validated_value(walker: Walker, call: Call) -> None:
    """Note what an object of numbers alone, which asked nothing when it was made, asks of a tensor that it is given."""
    function, tensor = call.node.func, bare(call.first)
    if not isinstance(function, ast.Attribute) or function.attr not in operators().regions["validating_methods"]:
        return
    maker = _maker(walker, function.value)
    if (
        maker is None
        or not isinstance(tensor, Tensor)
        or not _validates(walker, walker.index.dotted(maker.func), maker)
    ):
        return
    parts = (*maker.args, *(keyword.value for keyword in maker.keywords))
    if all(_is_number(bare(walker.value_of(part, call.state))) for part in parts):
        walker.record(call.node, "truth", tensor, parts=((call.nodes[0], tensor),))


def _validates(walker: Walker, name: str, call: ast.Call) -> bool:
    """Whether a class of this dotted name asks, as it is called."""
    known = operators().regions
    if name.rpartition(".")[2] not in known["validating_classes"]:
        return False
    if not any(name.startswith(f"{library}.") for library in known["validating_libraries"]):
        return False
    if any(keyword.arg is None for keyword in call.keywords):
        return False
    told = [keyword.value for keyword in call.keywords if keyword.arg in known["validating_arguments"]]
    told += [part for part in call.args if isinstance(part, ast.Constant) and isinstance(part.value, bool)]
    answers = [part.value if isinstance(part, ast.Constant) else False for part in told]
    return all(answer is not False for answer in answers) and (True in answers or not walker.index.unvalidated)


def _is_number(value: Value) -> bool:
    """Whether the compiler knows a value, so that nothing was asked of it."""
    return value.literal if isinstance(value, Tensor) else isinstance(value, Constant)


def _maker(walker: Walker, node: ast.expr) -> ast.Call | None:
    """The call that makes an object, where a function, or the module, makes it once."""
    if not isinstance(node, ast.Name):
        return node if isinstance(node, ast.Call) else None
    own = walker.bindings_of(walker.frames[-1].node)
    made = own.once(node.id) if own.binds(node.id) else walker.index.constants.get(node.id)
    return made if isinstance(made, ast.Call) else None
