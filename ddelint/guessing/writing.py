"""Guesses as Python: the function `ddelint_entries()`, and the file's text with it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from ddelint.guessing.knowledge import Knowledge
from ddelint.guessing.nouns import NAMESPACE, Argument, Code, Guess, Named, Recipe, Several, Tensor, Unknown, Value
from ddelint.sources.source import lines_of

ENTRIES = "ddelint_entries"
PLACEHOLDER = "..."
_LONGEST = 118


def recipe_of(guess: Guess, facts: Knowledge) -> Recipe:
    """The guess as statements."""
    given = [argument for argument in guess.inputs if argument.is_given]
    lines = tuple((f"{a.name} = {code_of(a.value, facts)}", _comment(a)) for a in given)
    init = tuple(argument for argument in guess.init if argument.is_given)
    return Recipe(
        guess.program,
        lines,
        _returned(guess.inputs),
        init=_mapping(init, facts),
        imports=guess.imports + (("import types",) if any(NAMESPACE in code_of(a.value, facts) for a in init) else ()),
        reasons=tuple((argument.name, argument.reason) for argument in (*init, *given)),
        missing=tuple(a.name for a in (*init, *given) if is_unknown(a.value)),
        builder=guess.builder,
    )


def is_unknown(value: Value) -> bool:
    """Whether somebody must fill something in."""
    match value:
        case Unknown():
            return True
        case Several(values=values):
            return any(map(is_unknown, values))
        case Named(values=named):
            return any(map(is_unknown, named.values()))
    return False


def code_of(value: Value, facts: Knowledge) -> str:
    """The value as an expression."""
    match value:
        case Tensor(sizes=sizes, kind=kind, high=high):
            shape = ", ".join(map(str, sizes))
            listed = f"({shape},)" if len(sizes) == 1 else f"({shape})"
            front = "".join(f"{size}, " for size in sizes[:-1])
            return facts.kinds[kind].format(shape=shape, list=listed, high=high, front=front)
        case Code(text=text):
            return text
        case Several(values=values, is_tuple=is_tuple):
            texts = [code_of(each, facts) for each in values]
            if not is_tuple and len(texts) > 1 and len(set(texts)) == 1:
                return f"[{texts[0]} for _ in range({len(texts)})]"
            inner = ", ".join(texts)
            return f"({inner}{',' if len(texts) == 1 else ''})" if is_tuple else f"[{inner}]"
        case Named(values=named):
            return "{" + ", ".join(f"{key!r}: {code_of(each, facts)}" for key, each in named.items()) + "}"
    return PLACEHOLDER


def _comment(argument: Argument) -> str:
    return f"TODO: {argument.reason}" if is_unknown(argument.value) else argument.reason


def _returned(arguments: Sequence[Argument]) -> str:
    """What gives the arguments: a tuple, or one with a dictionary; what is left out makes the rest go by name."""
    positional: list[str] = []
    named: list[str] = []
    for argument in arguments:
        is_in_order = len(positional) == arguments.index(argument)
        if not argument.is_given:
            continue
        if argument.by_keyword or not is_in_order:
            named.append(f'"{argument.name}": {argument.name}')
        else:
            positional.append(argument.name)
    args = f"({', '.join(positional)}{',' if len(positional) == 1 else ''})"
    last = next((a for a in reversed(arguments) if a.is_given and a.name in positional), None)
    if named or (last is not None and isinstance(last.value, Named) and len(positional) == 2):
        return f"{args}, {{{', '.join(named)}}}"
    return args


def _mapping(arguments: Sequence[Argument], facts: Knowledge) -> str:
    if not arguments:
        return ""
    return "{" + ", ".join(f'"{a.name}": {code_of(a.value, facts)}' for a in arguments) + "}"


# ---------------------------------------------------------------------------- the function


def block_of(recipes: Sequence[Recipe], command: str) -> str:
    """The definition of `ddelint_entries()`."""
    imports = sorted({line for recipe in recipes for line in recipe.imports} | {"import torch"})
    imports.sort(key=lambda line: (line.startswith("from "), line))
    lines = [
        f"def {ENTRIES}():",
        f'    """What `{command}` runs; written by `ddelint init`, and yours to change."""',
        *(f"    {line}" for line in imports),
        "    from ddelint import Entry",
        "",
    ]
    entries: list[list[str]] = []
    taken: set[str] = set()
    for recipe in recipes:
        stem = _snake(recipe.program)
        while stem in taken:
            stem += "_"
        taken.add(stem)
        lines += _function(f"{stem}_inputs", recipe.input_lines, recipe.inputs)
        words = [recipe.builder or recipe.program, f"{stem}_inputs"]
        if recipe.init_lines:
            lines += _function(f"{stem}_init", recipe.init_lines, recipe.init)
            words.append(f"init={stem}_init")
        elif recipe.init:
            words.append(f"init={_when_asked(recipe.init)}")
        if recipe.builder:
            words.append(f'name="{recipe.program}"')
        entries.append(words)
    listed = f"    return [Entry({', '.join(entries[0])})]"
    if len(listed) <= _LONGEST and len(entries) == 1:
        return "\n".join([*lines, listed, ""])
    return "\n".join([*lines, "    return [", *(f"        {_entry(words)}," for words in entries), "    ]", ""])


def _when_asked(init: str) -> str:
    """What an expression builds is built with its entry: where that fails, the other entries run all the same."""
    builds = any(isinstance(node, ast.Call) for node in ast.walk(ast.parse(init, mode="eval")))
    return f"lambda: {init}" if builds else init


def _entry(words: Sequence[str]) -> str:
    """An entry, an argument a line where it is too long for one."""
    entry = f"Entry({', '.join(words)})"
    if len(entry) + 9 <= _LONGEST:
        return entry
    return "Entry(\n" + "".join(f"            {word},\n" for word in words) + "        )"


def _function(name: str, lines: Sequence[tuple[str, str]], returned: str) -> list[str]:
    body: list[str] = []
    for code, comment in lines:
        first, *rest = code.splitlines()
        whole = f"        {first}  # {comment}" if comment else f"        {first}"
        if len(whole) > _LONGEST and comment:
            body += [f"        # {comment}"[:_LONGEST], f"        {first}"]
        else:
            body.append(whole)
        body += [f"        {line}" for line in rest]
    return [f"    def {name}():", *body, f"        return {returned}", ""]


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower().strip("_")


def with_block(text: str, tree: ast.Module, block: str) -> str:
    """The file's text with the block: before a last `if __name__ == "__main__":`, else at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    block = block.replace("\n", newline)
    last = tree.body[-1] if tree.body else None
    if isinstance(last, ast.If) and "__name__" in ast.unparse(last.test):
        lines = lines_of(text)
        row = last.lineno - 1
        while row and lines[row - 1].lstrip().startswith("#"):
            row -= 1
        before, after = "".join(lines[:row]).rstrip(), "".join(lines[row:])
        return f"{before}{newline * 3}{block}{newline * 2}{after}"
    return f"{text.rstrip()}{newline * 3}{block}"
