"""What a test is called for what it asks (`hit.shape[0] == 0` is `hit_is_empty`, `mask.any()` is `any_mask`), and a
part of a result for what it is."""

from __future__ import annotations

import ast
import builtins

from ddelint.knowledge.operators import operators
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge

UNNAMED = "condition"
"""The name of a test that says nothing shorter than its own text."""
_BUILTINS = frozenset(dir(builtins))
"""What says nothing of the value that comes out of it."""
_LONGEST = 28
"""Characters of a name; a longer one is harder to read than the test."""
_RELATIONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "equals",
    ast.NotEq: "differs_from",
    ast.Lt: "is_below",
    ast.LtE: "is_at_most",
    ast.Gt: "exceeds",
    ast.GtE: "is_at_least",
}
_OF_SIZES: dict[type[ast.cmpop], str] = {ast.Eq: "{}_is_empty", ast.NotEq: "has_{}", ast.Gt: "has_{}"}
_OF_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "{}_is_zero",
    ast.NotEq: "{}_is_not_zero",
    ast.Lt: "{}_is_negative",
    ast.Gt: "{}_is_positive",
}


def condition_name(test: str) -> str:
    """A name for the value of a test, given as code; UNNAMED where none says it in a few words."""
    name = _name(ast.parse(test, mode="eval").body)
    return name if name and name.isidentifier() and len(name) <= _LONGEST else UNNAMED


def part_names(prefix: str, whole: ast.expr | None, count: int) -> list[str]:
    """Names for the `count` values of a result that is kept: `early_loss` where `return loss, hits` has that place."""
    plain = [f"{prefix}_result"] if count == 1 else [f"{prefix}_result{number}" for number in range(count)]
    words = list(map(_word, (whole,) if whole is not None else ()))
    match whole:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            words = [_word(part) for part in parts]
        case ast.Dict(keys=keys):
            words = [str(key.value) if isinstance(key, ast.Constant) else "" for key in keys]
    if len(words) != count:
        return plain
    said = (f"{prefix}_{word}" if word else "" for word in words)
    names = [name if name.isidentifier() and len(name) <= _LONGEST else other for name, other in zip(said, plain)]
    return names if len({*names}) == count else plain


def value_name(node: ast.expr) -> str:
    """A word for a value: its own name, its first key or element's, or what computes it; "" where nothing says one."""
    match node:
        case ast.Dict(keys=[ast.Constant(value=str(key)), *_]) if key.isidentifier():
            return key
        case ast.Tuple(elts=[first, *_]) | ast.List(elts=[first, *_]):
            return value_name(first)
    inner = handed_on(node)
    if inner is not None:
        return value_name(inner)
    word = _word(node) or _maker(node)
    return word if word.isidentifier() else ""


def handed_on(node: ast.expr) -> ast.expr | None:
    """What a call reads, or gives in another type, on another device or copied: that says what the value is."""
    table, known = knowledge(), operators()
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr=name), args=args):
            if (
                name in table.conversions | table.dtypes.keys() | table.keeping_values
                or known.returns.get(name) == "item"
            ):
                return owner if not is_torch(owner) else args[0] if args else None
        case ast.Call(func=ast.Name(id="int" | "float" | "bool"), args=[inner]):
            return inner
    return None


def _maker(node: ast.expr) -> str:
    """The function that a value comes out of, `cross_entropy` of `F.cross_entropy(x, y)`; "" for `forward`."""
    match node:
        case ast.Call(func=ast.Name(id=word) | ast.Attribute(attr=word)):
            says_nothing = word in _BUILTINS or word in operators().regions["entry_methods"]
            return "" if says_nothing else word.strip("_")
    return ""


def _name(test: ast.expr) -> str:
    """The name of a test, "" where there is none."""
    match test:
        case ast.Call(func=ast.Attribute(attr="full"), args=[_, inner]):  # a truth value made a tensor
            return _name(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[]):
            return _name(inner)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="any" | "all" as how), args=[asked]):
            return _prefixed(how, _asked(asked))
        case ast.Call(func=ast.Attribute(value=asked, attr="any" | "all" as how), args=[]):
            return _prefixed(how, _asked(asked))
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=inner):
            return _contrary(_name(inner))
        case ast.Compare(left=left, ops=[relation], comparators=[right]):
            return _compared(left, type(relation), right)
    return ""


def _asked(node: ast.expr) -> str:
    """What is looked for among the elements of a tensor: `nan` of `x.isnan()`, else the tensor's word."""
    match node:
        case ast.Call(func=ast.Attribute(attr=name)) if name.startswith("is"):
            return name.removeprefix("is").strip("_")
        case ast.UnaryOp(op=ast.Invert(), operand=inner):
            return _contrary(_word(inner))
    return _word(node)


def _compared(left: ast.expr, relation: type[ast.cmpop], right: ast.expr) -> str:
    word = _word(left)
    if not word or relation not in _RELATIONS:
        return ""
    if isinstance(right, ast.Constant) and right.value == 0 and not isinstance(right.value, bool):
        known = _OF_SIZES if _is_size(left) else _OF_SIGNS
        if relation in known:
            return known[relation].format(word)
    other = _word(right)
    return f"{word}_{_RELATIONS[relation]}_{other}" if other else ""


def _is_size(node: ast.expr) -> bool:
    match node:
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=ast.Attribute(attr="size" | "numel" | "nelement") | ast.Name(id="len")):
            return True
    return False


def _word(node: ast.expr) -> str:
    """The one word for a value: the name that it is read from, or a small number; "" where there is none."""
    match node:
        case ast.Name(id=word) | ast.Attribute(value=ast.Name(id="self"), attr=word):
            return word.strip("_")
        case ast.Constant(value=int(number)) if number is not True and number is not False and 0 <= number < 1_000:
            return str(number)
        case ast.Subscript(value=ast.Attribute(value=inner, attr="shape")):
            return _word(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="size" | "numel" | "nelement" | "item")):
            return _word(inner)
        case ast.Call(func=ast.Name(id="len" | "int" | "float" | "bool"), args=[inner]):
            return _word(inner)
    return ""


def _prefixed(prefix: str, word: str) -> str:
    return f"{prefix}_{word}" if word else ""


def _contrary(name: str) -> str:
    """`no_mask` for `any_mask`, `not_all_mask` for `all_mask`."""
    return f"no_{name.removeprefix('any_')}" if name.startswith("any_") else _prefixed("not", name)
