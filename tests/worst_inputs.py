"""Each regular expression of the package against the worst inputs that its own syntax tree suggests.

Run as a program, with the length of the inputs, how few of them are tried (1: all, 3: every third), the seconds of the
processor that one input may take, and words that the names of modules hold, it prints the expressions that take longer,
and exits with 1 where there are any.
"""

from __future__ import annotations

import ast
import re
import re._constants as constants
import re._parser as parser
import signal
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ddelint

PACKAGE = Path(ddelint.__file__).parent
METHODS = ("match", "fullmatch", "search", "sub", "split", "findall", "finditer")
ONCE = ("match", "fullmatch")
"""Methods that try one place only; all others are as `finditer` here."""
TABLES = (
    "pattern",
    "patterns",
    "prefixes",
    "dropped",
    "numbered",
    "comparisons",
    "returned_masks",
    "bound_masks",
    "size_tests",
    "kernel_call",
)
"""Keys of rule files that hold expressions."""
PROBES = " \t\na0.,(:[\"'#"


@dataclass(frozen=True)
class Expression:
    """A regular expression, where it stands, and how it is used."""

    where: str
    pattern: str | bytes
    flags: int
    methods: frozenset[str]


def expressions() -> Iterator[Expression]:
    """All of them: literals given to `re`, those that modules build when they are asked, and those of rule files."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                owner = node.func.value
                if isinstance(owner, ast.Name) and owner.id == "re" and node.func.attr in (*METHODS, "compile"):
                    found = _literal(node.args[0])
                    if found is not None:
                        where = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                        yield Expression(where, found, _flags(node), _methods(node, text))
    for path in sorted((PACKAGE.parent / "rules").glob("*.toml")):
        for found in _in_table(tomllib.loads(path.read_text("utf-8")), False):
            if re.match(r"\\\d", found):
                continue  # what an expression beside it is replaced by
            yield Expression(path.name, found, re.DOTALL | re.MULTILINE, frozenset({"finditer"}))


def _literal(node: ast.expr) -> str | bytes | None:
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "name" for part in node.values)
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, (str, bytes)) else None


def _flags(node: ast.Call) -> int:
    given = [ast.unparse(part) for part in (*node.args[1:], *(keyword.value for keyword in node.keywords))]
    names = [name.strip() for part in given for name in part.split("|") if name.strip().startswith("re.")]
    return sum(int(getattr(re, name.removeprefix("re."))) for name in names)


def _methods(node: ast.Call, text: str) -> frozenset[str]:
    """How an expression is used: by its own call, or by the name that it is bound to in its module."""
    assert isinstance(node.func, ast.Attribute)
    if node.func.attr != "compile":
        return frozenset({node.func.attr})
    bound = re.search(rf"^(_?[A-Z_]+) = {re.escape(ast.get_source_segment(text, node) or '')}", text, re.MULTILINE)
    if bound is None or not bound[1].startswith("_"):
        return frozenset({"finditer"})
    uses = len(re.findall(rf"(?<!\w){bound[1]}(?!\w)", text)) - 1
    found = re.findall(rf"(?<!\w){bound[1]}\.(\w+)\(", text)
    return frozenset(found if len(found) == uses else (*found, "finditer"))


def _in_table(value: Any, wanted: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _in_table(inner, key in TABLES)
    elif isinstance(value, list):
        for inner in value:
            yield from _in_table(inner, wanted)
    elif wanted and isinstance(value, str):
        yield value


def worst_inputs(expression: Expression, length: int) -> set[str]:
    """Texts of a length: what an expression begins with and each of its repeats go on and on, and nothing ends them."""
    repeats: set[tuple[str, str]] = set()
    whole = _shortest(parser.parse(expression.pattern, expression.flags), repeats, "") or "a"
    units = {whole, whole[:-1] or whole, *(before for before, _ in repeats if before)}
    texts = {unit * (length // len(unit)) + end for unit in units for end in ("", "\0")}
    for before, body in repeats:
        for end in ("", "\0", "\n!"):
            texts.add(before + body * (length // len(body)) + end)
            texts.add((before + body * 3) * (length // len(before + body * 3)) + end)
    return texts


def _shortest(tree: Any, repeats: set[tuple[str, str]], before: str) -> str:
    """A short text that matches, short of assertions; `repeats` take what stands before each repeat, and its body."""
    out = ""
    for operation, value in tree:
        if operation is constants.LITERAL:
            out += chr(value)
        elif operation in (constants.NOT_LITERAL, constants.ANY, constants.IN):
            out += _characters(operation, value)[0]
        elif operation is constants.BRANCH:
            branches = [_shortest(branch, repeats, before + out) for branch in value[1]]
            out += branches[0]
        elif operation is constants.SUBPATTERN:
            out += _shortest(value[3], repeats, before + out)
        elif operation is constants.ATOMIC_GROUP:
            out += _shortest(value, repeats, before + out)
        elif operation in (constants.MAX_REPEAT, constants.MIN_REPEAT, constants.POSSESSIVE_REPEAT):
            least, most, body = value
            once = _shortest(body, repeats, before + out)
            if most > 1 and once:
                single = _characters(*body[0]) if len(body) == 1 else []
                repeats.update((before + out, text) for text in (once, *single))
            out += once * max(least, 1)
    return out


def _characters(operation: Any, value: Any) -> Sequence[str]:
    """Characters that one token of an expression may be, at least one."""
    if operation is constants.LITERAL:
        return chr(value)
    if operation not in (constants.ANY, constants.NOT_LITERAL, constants.IN):
        return []
    one = {
        constants.ANY: [(constants.NEGATE, None)],
        constants.NOT_LITERAL: [(constants.NEGATE, None), (constants.LITERAL, value)],
    }
    listed = one.get(operation, value)
    others = listed[0][0] is constants.NEGATE
    known = [*PROBES, *map(chr, range(33, 127)), *map(chr, range(0x2000, 0x3000))]
    fitting = [c for c in known if any(_is(c, *item) for item in listed) is not others]
    return [c for c in fitting if c in PROBES] or fitting[:1] or ["a"]


def _is(character: str, operation: Any, value: Any) -> bool:
    if operation is constants.LITERAL:
        return ord(character) == value
    if operation is constants.RANGE:
        return bool(value[0] <= ord(character) <= value[1])
    if operation is constants.CATEGORY:
        name = str(value).removeprefix("CATEGORY_")
        plain = {"SPACE": r"\s", "WORD": r"\w", "DIGIT": r"\d"}[name.removeprefix("NOT_")]
        return (re.match(plain, character) is not None) is not name.startswith("NOT_")
    return False


class TooSlow(Exception):
    """The processor's time for one input is over."""


def _stop(*_: object) -> None:
    raise TooSlow


def slowest(expression: Expression, length: int, every: int, seconds: float) -> str | None:
    """The method and the beginning of an input that an expression takes more than `seconds` for."""
    compiled = re.compile(expression.pattern, expression.flags)
    methods = sorted({method if method in ONCE else "finditer" for method in expression.methods})
    for text in sorted(worst_inputs(expression, length))[::every]:
        given: Any = text.encode() if isinstance(expression.pattern, bytes) else text
        for method in methods:
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            try:
                if method == "finditer":
                    for _ in compiled.finditer(given):
                        pass
                else:
                    getattr(compiled, method)(given)
            except TooSlow:
                return f"{method} {text[:60]!r}"
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return None


def main() -> None:
    """Print what is slow."""
    signal.signal(signal.SIGVTALRM, _stop)
    length, every, seconds, wanted = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
    slow = 0
    for expression in expressions():
        if (not wanted or any(part in expression.where for part in wanted)) and (
            found := slowest(expression, length, every, seconds)
        ):
            print(f"{expression.where}: {expression.pattern!r} is slow: {found}", flush=True)
            slow += 1
    sys.exit(slow > 0)


if __name__ == "__main__":
    main()
