"""A question in the user's words: symbols get the names that the blamed frame has for them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import sympy
import torch
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from ddelint.nouns.diagnostics import Equality, TypeFact
from ddelint.trace import torch_internals
from ddelint.trace.provenance import Place
from ddelint.trace.values import describe_value

_MOST_FACTS = 200
_MOST_ITEMS = 16
"""Elements of a list or tuple that may lend a symbol their name (`lengths[3]`)."""

Named = Sequence[tuple[sympy.Basic, str]]
"""Sympy expressions and what the user's frame calls them, best name first."""


def visible_values(place: Place, function: ast.AST | None) -> dict[str, tuple[Any, str]]:
    """What the blamed function can name, with each value's role: its locals, and the attribute chains it loads.

    Attributes are looked up without running anybody's code: no properties, no `__getattr__` but that of modules.
    """
    values: dict[str, tuple[Any, str]] = {}
    local = place.frame.f_locals
    for name, value in local.items():
        if name.isidentifier() and not name.startswith("__"):
            values[name] = (value, "")
    chains = [] if function is None else sorted(set(_chains(function)))
    for chain in chains:
        if len(values) >= _MOST_FACTS:
            break
        root, *attributes = chain.split(".")
        if root not in local:
            continue
        value, role, found = local[root], "", True
        for attribute in attributes:
            value, role, found = _attribute(value, attribute)
            if not found:
                break
        if found:
            values[chain] = (value, role)
    return values


def types_of(values: Mapping[str, tuple[Any, str]]) -> dict[str, TypeFact]:
    """The type of each visible value."""
    return {name: describe_value(value, role=role) for name, (value, role) in list(values.items())[:_MOST_FACTS]}


def _chains(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            parts: list[str] = []
            inner: ast.expr = node
            while isinstance(inner, ast.Attribute):
                parts.append(inner.attr)
                inner = inner.value
            if isinstance(inner, ast.Name):
                yield ".".join([inner.id, *reversed(parts)])


def _attribute(owner: Any, name: str) -> tuple[Any, str, bool]:
    """(value, role, found) of an attribute that is plain data."""
    if isinstance(owner, torch.nn.Module):
        for store, role in (("_parameters", "parameter"), ("_buffers", "buffer"), ("_modules", "")):
            stored = owner.__dict__.get(store) or {}
            if name in stored:
                return stored[name], role, True
    if isinstance(owner, torch.Tensor) or inspect.ismodule(owner):
        return None, "", False
    try:
        found = inspect.getattr_static(owner, name)
    except (AttributeError, TypeError, ValueError):
        return None, "", False
    own = getattr(owner, "__dict__", {})
    if name in own:
        return own[name], "", True
    kind = type(found)
    if hasattr(kind, "__get__") or callable(found):
        return None, "", False
    return found, "", True


def names_in(values: Mapping[str, tuple[Any, str]]) -> Named:
    """Symbolic numbers, then tensors' sizes, then elements of lists, under the names they are visible by."""
    numbers: list[tuple[sympy.Basic, str]] = []
    sizes: list[tuple[sympy.Basic, str]] = []
    elements: list[tuple[sympy.Basic, str]] = []
    for name, (value, _) in sorted(values.items(), key=lambda item: (item[0].count("."), item[0].startswith("_"))):
        expression = torch_internals.expression_of(value)
        if expression is not None:
            numbers.append((expression, name))
        elif isinstance(value, torch.Tensor):
            sizes += _sizes(value, name)
        elif isinstance(value, (list, tuple)):  # torch.Size is one
            elements += _items(value, name)
    named = [*numbers, *sizes, *elements]
    return [(expression, name) for expression, name in named if expression.free_symbols]


def _sizes(tensor: torch.Tensor, name: str) -> list[tuple[sympy.Basic, str]]:
    try:
        sizes = list(enumerate(tensor.shape))
    except (RuntimeError, NotImplementedError):
        return []
    found = [(torch_internals.expression_of(size), f"{name}.shape[{i}]") for i, size in sizes]
    return [(expression, text) for expression, text in found if expression is not None]


def _items(values: Sequence[Any], name: str) -> list[tuple[sympy.Basic, str]]:
    found: list[tuple[sympy.Basic, str]] = []
    iterate = list.__iter__ if isinstance(values, list) else tuple.__iter__
    items: Iterator[Any] = iterate(values)  # type: ignore[arg-type]
    for i, value in zip(range(_MOST_ITEMS), items):
        expression = torch_internals.expression_of(value)
        if expression is not None:
            found.append((expression, f"{name}[{i}]"))
        elif isinstance(value, torch.Tensor):
            found += _sizes(value, f"{name}[{i}]")
    return found


def symbols_in(node: ast.AST, values: Mapping[str, tuple[Any, str]]) -> set[sympy.Symbol]:
    """The symbols behind the names in `node`: of numbers, and of tensors whose sizes it mentions."""
    found: set[sympy.Symbol] = set()
    sized = {
        ast.unparse(part.value)
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute) and part.attr in ("shape", "size", "numel")
    }
    for part in ast.walk(node):
        if not isinstance(part, (ast.Name, ast.Attribute)):
            continue
        text = ast.unparse(part)
        value, _ = values.get(text, (None, ""))
        expression = torch_internals.expression_of(value)
        if expression is not None:
            found |= expression.free_symbols
        elif isinstance(value, torch.Tensor) and text in sized:
            found |= {symbol for size, _ in _sizes(value, text) for symbol in size.free_symbols}
    return found


def carriers(place: Place, symbols: Collection[sympy.Symbol]) -> tuple[tuple[str, str], ...]:
    """The locals of a frame that hold one of `symbols`, with what they are to the compiler: (`n`, `u0`)."""
    named = names_in(visible_values(place, None))
    found = [(name, str(expression)) for expression, name in named if expression.free_symbols & set(symbols)]
    return tuple(found[:_MOST_ITEMS])


def derived(
    text: str, named: Named, symbol_names: Mapping[sympy.Symbol, str], flags: Collection[sympy.Symbol] = ()
) -> Iterator[Equality]:
    """The names in a question's text that stand for an expression of symbols: `total` is `a + b`."""
    symbols = [one for one in named if one[0].is_Symbol]
    seen = set()
    for expression, name in named:
        if expression.is_Symbol or name in seen or not re.search(rf"(?<![\w.]){re.escape(name)}(?![\w\[(])", text):
            continue
        seen.add(name)
        meaning = written(expression, symbols, symbol_names, flags)
        if meaning != name:
            yield Equality(name, meaning, str(expression))


def name_of(symbol: sympy.Symbol, named: Named) -> str | None:
    """The frame's name for exactly this symbol (or for the truth value that `Eq(symbol, 1)` is)."""
    for wanted in (symbol, sympy.Eq(symbol, 1)):
        for expression, name in named:
            if expression == wanted:
                return name
    return None


def written(
    expression: sympy.Basic,
    named: Named,
    symbol_names: Mapping[sympy.Symbol, str],
    flags: Collection[sympy.Symbol] = (),
) -> str:
    """`expression` as the user would write it, over the frame's names first and `symbol_names` where it has none.

    `flags` are the symbols of bools read from data: one is `Eq(u0, 1)` to torch, and its name stands for the whole.
    """
    substitutions: dict[sympy.Basic, sympy.Basic] = {}
    for known, name in named:
        if not known.is_Symbol and known not in substitutions:
            substitutions[known] = sympy.Symbol(name)
    for symbol in expression.free_symbols:
        text = name_of(symbol, [n for n in named if n[0].is_Symbol]) or symbol_names.get(symbol)
        if text is not None:
            substitutions[symbol] = sympy.Symbol(text, integer=symbol.is_integer)
            if symbol in flags:
                substitutions.setdefault(sympy.Eq(symbol, 1), sympy.Symbol(text))
                substitutions.setdefault(sympy.Ne(symbol, 1), sympy.Not(sympy.Symbol(text)))
    try:
        named_expression = _swap(expression, substitutions)
        if named_expression.is_Symbol and re.fullmatch(r"\(.*\)", named_expression.name):
            return str(named_expression.name[1:-1])  # a whole question needs no brackets around it
        return str(_Written().doprint(named_expression))
    except Exception:  # torch's own functions refuse some arguments: then names go in as text
        text = str(expression)
        for symbol in expression.free_symbols & substitutions.keys():
            text = re.sub(rf"\b{re.escape(str(symbol))}\b", str(substitutions[symbol]).replace("\\", ""), text)
        return text


def _swap(expression: sympy.Basic, substitutions: Mapping[sympy.Basic, sympy.Basic]) -> sympy.Basic:
    """Replace without evaluating: what the user wrote must not be simplified away."""
    if expression in substitutions:
        return substitutions[expression]
    if not expression.args:
        return expression
    arguments = [_swap(argument, substitutions) for argument in expression.args]
    try:
        return expression.func(*arguments, evaluate=False)
    except TypeError:
        return expression.func(*arguments)


class _Written(StrPrinter):  # type: ignore[misc]
    """Sympy and torch's own functions in Python's syntax."""

    printmethod = "_as_users_write_it"
    """Of an expression: none has it, so that torch's functions don't print themselves (`_sympystr`)."""

    _INFIX = {  # noqa: RUF012 - sympy's printers are configured by class attributes
        "FloorDiv": "//",
        "CleanDiv": "//",
        "Mod": "%",
        "PythonMod": "%",
        "IntTrueDiv": "/",
        "FloatTrueDiv": "/",
        "PowByNatural": "**",
        "FloatPow": "**",
    }
    _CALLS = {  # noqa: RUF012
        "TruncToInt": "int",
        "FloorToInt": "math.floor",
        "CeilToInt": "math.ceil",
        "RoundToInt": "round",
        "ToFloat": "float",
        "Max": "max",
        "Min": "min",
        "Abs": "abs",
    }

    def _print_Relational(self, expr: Any) -> str:
        sign = {"==": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}[expr.rel_op]
        precedence = PRECEDENCE["Relational"]
        left, right = self.parenthesize(expr.lhs, precedence), self.parenthesize(expr.rhs, precedence)
        if expr.lhs.is_number and not expr.rhs.is_number:
            mirrored = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(sign, sign)
            return f"{right} {mirrored} {left}"
        return f"{left} {sign} {right}"

    def _print_And(self, expr: Any) -> str:
        return self._join(expr, " and ", "And")

    def _print_Or(self, expr: Any) -> str:
        return self._join(expr, " or ", "Or")

    def _join(self, expr: Any, word: str, level: str) -> str:
        return word.join(self.parenthesize(part, PRECEDENCE[level]) for part in expr.args)

    def _print_Not(self, expr: Any) -> str:
        inner = expr.args[0]
        return f"not {self._print(inner)}" if inner.is_Symbol else f"not ({self._print(inner)})"

    def _print_Function(self, expr: Any) -> str:
        name = expr.func.__name__
        if name in self._INFIX and len(expr.args) == 2:
            left, right = (self.parenthesize(part, PRECEDENCE["Mul"] + 1) for part in expr.args)
            return f"{left} {self._INFIX[name]} {right}"
        if name == "ToFloat":
            return str(self._print(expr.args[0]))
        return f"{self._CALLS.get(name, name)}({', '.join(self._print(part) for part in expr.args)})"

    def _print_Max(self, expr: Any) -> str:
        return self._print_Function(expr)

    def _print_Min(self, expr: Any) -> str:
        return self._print_Function(expr)

    def _print_Float(self, expr: Any) -> str:
        return repr(float(expr))
