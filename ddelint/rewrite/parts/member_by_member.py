"""Two collections of as many members (`[g * scale for g in grads]` and `grads`): the choice is made for each member."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from ddelint.rewrite.reading.names import names_written
from ddelint.rewrite.writing.rewrites import Expr, Writer

_COLLECTIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_CHOSEN = "torch.where({}, {}, {})"


@dataclass(frozen=True, slots=True)
class _Members:
    """What is computed of each member of `over`, which `target` names; of a dictionary of each value."""

    target: ast.expr
    over: str
    value: ast.expr
    template: str
    """The collection, with room for a member, its target, and what is gone through."""
    key: str = ""

    @property
    def name(self) -> str:
        """The target as it is written, several without brackets."""
        match self.target:
            case ast.Tuple(elts=[_, _, *_] as several):
                return ", ".join(map(ast.unparse, several))
        return ast.unparse(self.target)

    @property
    def names(self) -> set[str]:
        """The names that the target binds."""
        return names_written(self.target)


def chosen_by_member(
    write: Writer, test: Expr, values: Sequence[Expr], nodes: Sequence[ast.expr | None], names: tuple[str, str]
) -> Expr | None:
    """The collection whose members `test` chooses; None where nothing says that both values have as many.

    One of the two is what the other goes through, as it is, or both go through the same. `nodes`: what the values are
    of in the source, which may have got names since: such go side by side, by `names`, as those do whose members have a
    name that the test reads.
    """
    codes = [write.code(value) for value in values]
    read = [_members(code) for code in codes]
    of_names = [_members(ast.unparse(node)) if node is not None else None for node in nodes]
    both = [now or before for now, before in zip(read, of_names)]
    known = next((members for members in both if members is not None), None)
    if known is None:
        return None
    each = [_itself(known, code) if one is None else _value_in(known, one) for one, code in zip(both, codes)]
    if None in each:
        return None
    if read != both or write.reads(test) & known.names:
        if known.key:
            return None
        of_both = write.expr(_CHOSEN, test, *map(write.expression, names))
        return _collected(write, known, ", ".join(names), f"zip({', '.join(codes)}, strict=True)", of_both)
    chosen = (_expression(write, ast.unparse(value)) for value in each if value is not None)
    return _collected(write, known, known.name, known.over, write.expr(_CHOSEN, test, *chosen))


def collects(write: Writer, value: Expr) -> bool:
    """Whether a value is a collection that is written out, which `torch.where` does not take."""
    return isinstance(ast.parse(write.code(value), mode="eval").body, _COLLECTIONS)


def _collected(write: Writer, known: _Members, target: str, over: str, value: Expr) -> Expr:
    parts = [_expression(write, known.key)] if known.key else []
    return write.expr(known.template, *parts, value, _expression(write, target), _expression(write, over))


def _members(code: str) -> _Members | None:
    key = ""
    match ast.parse(code, mode="eval").body:
        case ast.ListComp(elt=value, generators=[ast.comprehension() as each]):
            template = "[{} for {} in {}]"
        case ast.Call(
            func=ast.Name(id="tuple" | "list" as kind),
            args=[ast.GeneratorExp(elt=value, generators=[ast.comprehension() as each])],
            keywords=[],
        ):
            template = f"{kind}({{}} for {{}} in {{}})"
        case ast.DictComp(
            key=ast.Name(id=key),
            value=value,
            generators=[ast.comprehension(target=ast.Tuple(elts=[ast.Name(id=first), _])) as each],
        ) if key == first:
            template = "{{{}: {} for {} in {}}}"
        case _:
            return None
    return None if each.ifs or each.is_async else _Members(each.target, ast.unparse(each.iter), value, template, key)


def _value_in(known: _Members, members: _Members) -> ast.expr | None:
    """What a collection holds of each member, in the words of one that goes through the same."""
    alike = (members.over, members.template, members.key) == (known.over, known.template, known.key)
    return members.value if alike and ast.unparse(members.target) == ast.unparse(known.target) else None


def _itself(known: _Members, code: str) -> ast.expr | None:
    """Each member of what is gone through, where that is the other value."""
    match known.target:
        case ast.Name() as name if code == known.over:
            return name
        case ast.Tuple(elts=[_, ast.Name() as name]) if known.key and f"{code}.items()" == known.over:
            return name
    return None


def _expression(write: Writer, code: str) -> Expr:
    return write.expr(code.replace("{", "{{").replace("}", "}}"))
