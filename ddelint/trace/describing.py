"""An inquiry as a question: what asks, of which numbers, and where these were made, in the user's words."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from ddelint.nouns.diagnostics import Equality, Question, Symbol
from ddelint.trace import cpp_frames, joint, naming, provenance, torch_internals, triton_launches
from ddelint.trace.observer import Inquiry, Observer
from ddelint.trace.provenance import Blame, Expression, Paths, Place, Sources

_LONGEST_EXPRESSION = 72
"""Characters up to which a piece of source names a symbol."""
_LONGEST_QUESTION = 160
"""Characters up to which a question is shown as its source says it."""
_READING = (".item", ".__bool__", ".__len__", ".__int__", ".__float__", ".__index__")
"""Ends of the names of what makes a number of a tensor: what asks then is the number's use."""


@dataclass(frozen=True, slots=True)
class Birth:
    """Where a symbol was made."""

    expression: Expression | None
    operator: str
    name: str = ""
    inner: Expression | None = None
    """What made it inside a library that `expression` called."""


Births = Mapping[sympy.Symbol, Birth]


class Describer:
    """Says what is asked. `cpp`: with the C++ functions behind it."""

    def __init__(self, paths: Paths, sources: Sources) -> None:
        self._paths = paths
        self._sources = sources
        self.cpp = False

    def question(
        self, observer: Observer, inquiry: Inquiry, who: Blame, births: Births, *, of_gradient: bool
    ) -> Question:
        """What `inquiry` is at the place that is blamed; `of_gradient`: a gradient asks."""
        place = who.place
        expression = provenance.expression_at(place, self._sources)
        constant = triton_launches.constant_asked(who.stack)
        if constant is not None:
            expression = triton_launches.argument(expression, constant)
            inquiry = replace(inquiry, operator=triton_launches.OPERATOR)
        values = naming.visible_values(place, provenance.function_of(place, self._sources))
        named = naming.names_in(values)
        born = {symbol: name for symbol, birth in births.items() if (name := birth_name(birth))}
        involved = _involved(inquiry, expression, values, births)
        symbols = _symbols(observer, involved, named, births)
        operator = inquiry.operator or self.operator(who)
        direct = who.direct and not operator
        if of_gradient:
            values |= _operand(expression, place)
        return Question(
            span=expression.span,
            kind=inquiry.kind,
            expression=_text(observer, inquiry, expression, named, born, direct=direct),
            raw="" if inquiry.expression is None else str(inquiry.expression),
            symbols=tuple(symbols),
            frames=provenance.frames_of(who, self._paths, self._sources, lambda at: naming.carriers(at, involved)),
            asks=_asks(inquiry, of_gradient=of_gradient),
            operator=operator,
            detail=inquiry.detail,
            types=naming.types_of(values),
            cpp_frames=cpp_frames.folded(torch_internals.cpp_stack()) if self.cpp else (),
            equalities=tuple(_equalities(observer, involved, expression.text, named, born)),
            joint=of_gradient,
        )

    def operator(self, who: Blame) -> str:
        """What the user called, where a call of the user's entered torch; else the operator that torch was at."""
        last = who.stack[who.last_user]
        if provenance.instruction_name(last).startswith("CALL"):
            name = provenance.called_by(provenance.expression_at(last, self._sources), last)
            if name and not name.endswith(_READING):
                return name
        for place in who.stack[who.last_user + 1 :]:
            name = torch_internals.operator_in(place.frame.f_locals, place.code.co_name)
            if name:
                return name
        if who.torch_frame is not None:
            place = who.stack[who.torch_frame]
            return f"{place.frame.f_globals.get('__name__', 'torch')}.{place.code.co_qualname}"
        return ""


def shortened(text: str, most: int = _LONGEST_QUESTION) -> str:
    """`text`, cut where it is too long to be read."""
    return text if len(text) <= most else text[: most - 1] + "…"


def birth_name(birth: Birth) -> str:
    """A symbol's name by its origin: the call that read it, or the size of what an operator returned."""
    if birth.name or birth.expression is None:
        return birth.name
    maker = birth.inner if birth.inner is not None and birth.inner.text else birth.expression
    text = shortened(maker.text, _LONGEST_EXPRESSION)
    if not text:
        return ""
    if not isinstance(maker.node, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
        text = f"({text})"
    value = birth.operator in ("", "aten._local_scalar_dense.default", "aten.item.default")
    return text if value else f"{text}.shape[0]"


def _asks(inquiry: Inquiry, *, of_gradient: bool) -> tuple[str, ...]:
    if inquiry.kind == "text":  # written without a question: nothing stops
        return ()
    return ("joint",) if of_gradient else ("export",)


def _text(
    observer: Observer,
    inquiry: Inquiry,
    asking: Expression,
    named: naming.Named,
    born: Mapping[sympy.Symbol, str],
    *,
    direct: bool,
) -> str:
    """The question as its source says it; where torch asks behind it, what it asks, in the user's names."""
    text = asking.text
    says = isinstance(asking.node, ast.expr) and not isinstance(asking.node, ast.Constant)  # `case 0:` says little
    if text and says and (direct or inquiry.expression is None):
        return shortened(text)
    if inquiry.expression is None or (0 < len(text) <= _LONGEST_EXPRESSION and inquiry.kind != "truth"):
        return shortened(text)
    return naming.written(inquiry.expression, named, born, observer.flags)


def _involved(
    inquiry: Inquiry, asking: Expression, values: Mapping[str, tuple[Any, str]], births: Births
) -> set[sympy.Symbol]:
    """The symbols of a question; of an operator or a failure, which has none: those in the blamed expression."""
    if inquiry.expression is not None:
        return set(inquiry.expression.free_symbols)
    if inquiry.kind == "other" or asking.node is None:
        return set()
    made_here = {
        symbol
        for symbol, birth in births.items()
        if birth.expression is not None and asking.span.contains(birth.expression.span)
    }
    return made_here | naming.symbols_in(asking.node, values)


def _equalities(
    observer: Observer,
    involved: set[sympy.Symbol],
    text: str,
    named: naming.Named,
    born: Mapping[sympy.Symbol, str],
) -> Iterator[Equality]:
    """The names in a question that stand for more than a symbol, and the symbols that its symbols stand for."""
    yield from naming.derived(text, named, born, observer.flags)
    for symbol, equal in sorted(observer.equalities().items(), key=str):
        here = naming.name_of(symbol, named) or born.get(symbol, "")
        if here and (equal.free_symbols | {symbol}) & involved:
            meaning = naming.written(equal, [one for one in named if one[0].is_Symbol], born, observer.flags)
            if meaning != here:
                yield Equality(here, meaning, f"{symbol} = {equal}")


def _symbols(observer: Observer, symbols: set[sympy.Symbol], named: naming.Named, births: Births) -> Iterator[Symbol]:
    free = [s for s in symbols if torch_internals.is_unbacked(s) or s in births]
    for symbol in sorted(free, key=lambda s: (len(str(s)), str(s))):
        birth = births.get(symbol)
        lower, upper = observer.bounds_of(symbol)
        written = birth.expression.text if birth and birth.expression else ""
        yield Symbol(
            name=naming.name_of(symbol, named) or (birth_name(birth) if birth else "") or str(symbol),
            expression=written or (birth.name if birth else ""),
            created=birth.expression.span if birth and birth.expression else None,
            torch_name=str(symbol),
            lower=lower,
            upper=upper,
        )


def _operand(asking: Expression, place: Place) -> dict[str, tuple[Any, str]]:
    """What the call went over whose gradient asks, under its own text (`torch.sigmoid(rows)`)."""
    origin, node = joint.asking(), asking.node
    if origin is None or not isinstance(node, ast.Call):
        return {}
    method = provenance.called_by(asking, place).startswith("torch.Tensor.")
    if method and isinstance(node.func, ast.Attribute):
        return {ast.unparse(node.func.value): (origin.operand, "")}
    return {ast.unparse(node.args[0]): (origin.operand, "")} if node.args else {}
