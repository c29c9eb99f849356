"""Who else calls a function that is rewritten for what one call gives it: elsewhere it may be given no tensor."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.knowledge.unions import is_none
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.found_by_text import calls_by_text, configurations_naming
from ddelint.rewrite.reading.instances import is_instance
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import calls_of
from ddelint.rewrite.reading.neighbours import Importers, importers, in_file
from ddelint.rewrite.reading.operator_calls import calls_by_operator
from ddelint.rewrite.reading.plain_data import fits, given_for, is_known_tensor, may_be_text
from ddelint.rewrite.reading.plainly import is_number, is_tensor, kept_under, values_of
from ddelint.rewrite.reading.reaching import heirs
from ddelint.rewrite.reading.text_uses import asked_as_python_does, takes_texts
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST_NAMED = 3
"""Places that are named; that there are more is said."""
_DEEPEST = 6


def keeps_nothing_for_numbers(candidate: Candidate) -> bool:
    """Whether the new text replaces the old one in eager, too: what is no tensor then comes to the new text."""
    return not any("is_compiling()" in edit.content for edit in candidate.edits)


_ENTRY, _OFFERED = "Entry", "model"
"""What a program is offered by to be run: `ddelint.Entry(fn, …)`, `model = fn`."""
_PYTHONS = frozenset(("functools", "contextlib", "contextmanager", "lru_cache", "cache", "wraps", "property"))
"""Roots of decorators that keep a function nowhere."""
_COLLECTIONS = frozenset(("list", "dict", "set", "deque", "defaultdict", "OrderedDict", "Counter"))


def other_callers(site: Site, run: Collection[str] | None = None, importing: Importers = importers) -> str:
    """Which calls of the site's function may give it no tensor, in its file and in those that import it; empty where
    there is none.

    Only functions with a parameter that no annotation declares count; of a method, calls that plainly give a number,
    and of one that its class is asked for by name (`Model.ratio(a, b)`) whatever is not plainly a tensor. A function
    that is handed on (put in a table, given to `map`) is called by whoever holds it. `run` holds the functions that
    were run, whose calls were seen (`FILE::QUALIFIED.NAME`). Without a run, one call in the file is what the finding is
    about, so that it takes two, and other files are not read.
    """
    function, source = site.function, site.source
    owner = source.parents.get(function) if function is not None else None
    if function is None or not isinstance(owner, (ast.Module, ast.ClassDef)):
        return ""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    if all(argument.annotation is not None for argument in arguments):
        return ""
    calls = [call for call in calls_of(source, function.name) if function not in source.ancestors(call)]
    handed: list[str] = []
    if isinstance(owner, ast.ClassDef):
        asked = names_asked_about(site)
        numbers = (call for call in calls if _gives_numbers(source, call, function, asked))
        places = _places(call for call in numbers if not _was_run(source, call, run or ()))
        for file, name in importing(source.filename, owner.name) if run is not None else ():
            inherited = (call for call in calls_of(file, function.name) if _is_in_subclass(file, call, name))
            numbers = (call for call in inherited if _gives_numbers(file, call, function, asked))
            asking = _places(call for call in numbers if not _was_run(file, call, run or ()))
            places += [f"{place}{in_file(file, source)}" for place in asking]
        if run is not None:
            places += _places_by_instance(site, function, owner.name, run, importing)
        methods = _methods_handed_on(source, function.name) if run is not None else ()
        handed = _places(method for method in methods if not _is_in_what_ran(source, method, run or ()))
        if run is not None and is_static(function):
            places += _places_elsewhere(source, function.name, owner.name, run, importing)
    elif run is None:
        places = _places(calls if len(calls) > 1 else [])
    else:
        places = _places(call for call in calls if not _was_run(source, call, run))
        handed = _places(name for name in _handed_on(source, function.name) if not _is_in_what_ran(source, name, run))
        for other, name in importing(source.filename, function.name):
            doubtful = [call for call in calls_of(other, name) if not _was_run(other, call, run)]
            reported = _places(call for call in doubtful if not _gives_tensors(other, call))
            places += [f"{place}{in_file(other, source)}" for place in reported]
            given = _places(given for given in _handed_on(other, name) if not _is_in_what_ran(other, given, run))
            handed += [f"{place}{in_file(other, source)}" for place in given]
        by_text = ((f, c) for f, c in calls_by_text(source, function) if not _was_run(f, c, run))
        places += [f"{place}{in_file(file, source)}" for file, call in by_text for place in _places([call])]
        handed += configurations_naming(source.filename, function.name)
    if places:
        return f"`{function.name}` is called at {_first_of(places)}, perhaps with what is no tensor"
    if handed:
        return f"`{function.name}` is handed on at {_first_of(handed)}, and called there perhaps with what is no tensor"
    return ""


def undeclared(site: Site, names: Collection[str]) -> str:
    """Which of some names is a parameter that somebody may give a number: another file, or whoever the function is
    handed to in its own (decorators are taken to keep nothing); empty where none is.

    For what is changed without a run: files that import the function are not read then.
    """
    function, source = site.function, site.source
    if function is None or not isinstance(source.parents.get(function), ast.Module) or _is_compiled(source, function):
        return ""
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    doubtful = [argument.arg for argument in arguments if argument.annotation is None and argument.arg in names]
    handed = _places(name for name in _handed_on(source, function.name) if not _is_decorator(source, name))
    if not doubtful or (function.name.startswith("_") and not handed):
        return ""
    callers = f"whoever it is handed to at {_first_of(handed)}" if handed else "callers elsewhere"
    return f"nothing says that `{doubtful[0]}` of `{function.name}` is a tensor for {callers}"


def names_asked_about(site: Site) -> frozenset[str]:
    """The names in the test that a site is about."""
    test = getattr(site.statement, "test", None) or site.node
    return frozenset(node.id for node in ast.walk(test) if isinstance(node, ast.Name))


def _gives_numbers(
    source: SourceFile, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef, asked: Collection[str]
) -> bool:
    """Whether a method's call gives a number first, or numbers for what the test names, or what the class keeps and may
    be one."""
    given = list(given_for(function, call, asked))
    numbers = all(is_number(source, value) for value in given)
    kept = any(_is_kept_number(source, v) for v in given) and not any(is_tensor(source, v) for v in given)
    first = bool(call.args) and is_number(source, call.args[0])
    return first or (bool(given) and numbers) or kept


def _is_kept_number(source: SourceFile, node: ast.AST, depth: int = 0) -> bool:
    """Whether an expression may be a number that the class keeps: one out of a collection of its own (of past losses,
    say), or an attribute that is one at times."""
    match node:
        case ast.For(iter=held) | ast.comprehension(iter=held):
            return _holds_own_list(source, held, depth)
        case ast.Subscript() | ast.Call():
            return _holds_own_list(source, node, depth) and not is_tensor(source, node)
        case ast.IfExp(body=body, orelse=other):
            return any(_is_kept_number(source, value, depth) for value in (body, other))
        case ast.BinOp(left=left, right=right):
            return all(is_number(source, v, depth) or _is_kept_number(source, v, depth) for v in (left, right))
        case ast.Name(id=name) if depth < _DEEPEST:
            return any(_is_kept_number(source, value, depth + 1) for value in values_of(source, node, name))
        case ast.Attribute(value=ast.Name(id="self"), attr=name):  # `self.best = float("inf")`, later a loss
            return any(is_number(source, v) for v in kept_under(source, node, name) if not is_none(v))
    return False


def _holds_own_list(source: SourceFile, node: ast.AST, depth: int) -> bool:
    """Whether a collection that the class begins with stands in an expression, by itself or by a name."""
    for part in ast.walk(node):
        match part:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if any(map(_is_collection, kept_under(source, part, name))):
                    return True
            case ast.Name(id=name) if depth < _DEEPEST:
                values = (v for v in values_of(source, part, name) if isinstance(v, ast.expr))
                if any(_holds_own_list(source, value, depth + 1) for value in values):
                    return True
    return False


def _is_collection(node: ast.AST) -> bool:
    """Whether it makes a list or another collection of Python's."""
    match node:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.BinOp(left=ast.List()):
            return True
        case ast.Call(func=called):
            return terminal_name(called) in _COLLECTIONS
    return False


def _is_in_subclass(source: SourceFile, node: ast.AST, base: str) -> bool:
    """Whether it stands in a class that names `base` among its bases."""
    around = [parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)]
    return any(terminal_name(named) == base for parent in around for named in parent.bases)


def is_static(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is one that its class is asked for, with no instance."""
    return any(terminal_name(decorator) in ("staticmethod", "classmethod") for decorator in function.decorator_list)


def _first_of(places: Sequence[str]) -> str:
    places = list(dict.fromkeys(places))
    more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
    return f"{', '.join(places[:_MOST_NAMED])}{more}"


def _places_elsewhere(
    source: SourceFile, method: str, owner: str, run: Collection[str], importing: Importers
) -> list[str]:
    """Where a method of a class is called by the class's name, in code that was not run, with what may be no tensor."""
    found = []
    for file, name in ((source, owner), *importing(source.filename, owner)):
        doubtful = [
            call
            for call in calls_of(file, method)
            if isinstance(call.func, ast.Attribute)
            and terminal_name(call.func.value) == name
            and not _was_run(file, call, run)
            and not _gives_tensors(file, call)
        ]
        found += [f"{place}{in_file(file, source)}" for place in _places(doubtful)]
    return found


def _places_by_instance(
    site: Site, function: ast.FunctionDef | ast.AsyncFunctionDef, owner: str, run: Collection[str], importing: Importers
) -> list[str]:
    """Where a method is asked for of what may be an instance of its class, by its name or by a sign (`curve[3]`), in
    code that was not run, with what is plainly a number, may be one that the class keeps, or may be a text; for what
    Python itself asks (`int(row)`) with anything that isn't known to be a tensor, where it is an instance."""
    found: list[str] = []
    source, asked = site.source, names_asked_about(site)
    texts = takes_texts(site, asked)
    pythons = asked_as_python_does(site, texts)
    for file, name in ((source, owner), *importing(source.filename, owner)):
        owners = frozenset((name, *heirs(name, file)))
        by_name = [(c, c.func, c) for c in calls_of(file, function.name) if isinstance(c.func, ast.Attribute)]
        doubtful: list[ast.expr] = []
        for place, method, call in (*by_name, *calls_by_operator(file, function.name)):
            if _was_run(file, place, run) or function in file.ancestors(place):
                continue
            instance = is_instance(file, method.value, owners)
            if instance is False:
                continue
            text = any(may_be_text(file, value) for value in given_for(function, call, texts))
            if instance is None:
                is_doubtful = text and fits(function, call)
            else:
                unknown = (value for value in given_for(function, call, pythons) if not is_known_tensor(file, value))
                by_sign = place is not call or file is not source  # who calls by name in the file was asked before
                numbers = by_sign and _gives_numbers(file, call, function, asked)
                kept = place is not call and bool(call.args) and _is_kept_number(file, call.args[0])
                is_doubtful = text or numbers or kept or next(unknown, None) is not None
            if is_doubtful:
                doubtful.append(place)
        found += [f"{place}{in_file(file, source)}" for place in _places(doubtful)]
    return found


def _handed_on(source: SourceFile, name: str) -> Iterator[ast.expr]:
    """Where a function's name stands without being called: in a table, as an argument, under another name; and the
    decorators around it, which may keep it somewhere.

    Not where it is given to torch, which compiles, maps or checkpoints it on tensors, and not as an entry's program.
    What makes a command of all functions of a file (`fire.Fire()`) takes each.
    """
    for node in descend(source.tree):
        match node:
            case ast.Name(id=found, ctx=ast.Load()) | ast.Attribute(value=ast.Name(), attr=found) if found == name:
                if not _is_taken_in(source, node):
                    yield node
            case ast.Call(func=called, args=[]) if terminal_name(called) in knowledge().exposing:
                yield node
            case ast.FunctionDef(name=found, decorator_list=decorators) if found == name:
                yield from (d for d in decorators if not is_torch(_called(d)) and not _is_of_python(_called(d)))


def _methods_handed_on(source: SourceFile, name: str) -> Iterator[ast.expr]:
    """Where a method of `self` is given to a function, but for torch's: `map(self.squash, self.history)`."""
    for node in descend(source.tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=found, ctx=ast.Load()) if found == name:
                parent = source.parents.get(node)
                parent = source.parents.get(parent) if isinstance(parent, ast.keyword) else parent
                if isinstance(parent, ast.Call) and parent.func is not node and not is_torch(parent.func):
                    yield node
            case ast.Call(func=called) if terminal_name(called) in knowledge().exposing:
                yield node  # of a class, whatever it is given


def _is_taken_in(source: SourceFile, node: ast.expr) -> bool:
    """Whether a function is called where its name stands, or handed to who gives it tensors."""
    parent = source.parents.get(node)
    if isinstance(parent, ast.Attribute) or (isinstance(node, ast.Attribute) and terminal_name(node.value) == "self"):
        return True
    if isinstance(parent, ast.keyword):
        parent = source.parents.get(parent)
    match parent:
        case ast.Call(func=called):
            return called is node or is_torch(called) or terminal_name(called) == _ENTRY
        case ast.Assign(targets=[ast.Name(id=target)]):
            return target == _OFFERED and isinstance(source.parents.get(parent), ast.Module)
    return False


def _is_decorator(source: SourceFile, node: ast.expr) -> bool:
    parent = source.parents.get(node)
    return isinstance(parent, _FUNCTIONS) and node in parent.decorator_list


def _called(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _is_of_python(node: ast.expr) -> bool:
    """Whether a decorator is one of Python's own, which keeps a function where it is."""
    return dotted_name(node).partition(".")[0] in _PYTHONS


def _is_in_what_ran(source: SourceFile, node: ast.AST, run: Collection[str]) -> bool:
    """Whether it stands in a function that was run; a module's own level runs, and only puts the function somewhere."""
    around = [parent for parent in source.ancestors(node) if isinstance(parent, _FUNCTIONS)]
    if around and node in around[0].decorator_list:
        node, around = around[0], around[1:]
    return bool(around) and _was_run(source, node, run)


def compiled_callers(site: Site, run: Collection[str], importing: Importers = importers) -> str:
    """Which calls in code that may be compiled, and was not run, give the site's function a number for what its test
    is about; empty where there is none.

    What is written for the compiler alone leaves eager as it was, and takes a tensor, or the side that a tensor takes,
    wherever else the function is compiled.
    """
    function, source = site.function, site.source
    if function is None or not isinstance(source.parents.get(function), ast.Module):
        return ""
    asked = names_asked_about(site)
    places = []
    for file, name in ((source, function.name), *importing(source.filename, function.name)):
        compiled = _compiled_functions(file)
        calls = [
            call
            for call in calls_of(file, name)
            if any(around in compiled for around in file.ancestors(call))
            and not _was_run(file, call, run)
            and any(is_number(file, value) for value in given_for(function, call, asked))
        ]
        places += [f"{place}{in_file(file, source)}" for place in _places(calls)]
    if not places:
        return ""
    return f"`{function.name}` is called at {', '.join(places[:_MOST_NAMED])} with a number, in what may be compiled"


def _compiled_functions(source: SourceFile) -> set[ast.AST]:
    """The functions of a file that may be compiled: a module's methods, what a decorator compiles, what these call."""
    functions = [node for node in descend(source.tree) if isinstance(node, _FUNCTIONS)]
    found: set[ast.AST] = {node for node in functions if _is_compiled(source, node)}
    known: set[str] = set()
    while (called := {name for node in found for name in _called_by(node)}) - known:
        known |= called
        found |= {node for node in functions if node.name in known}
    return found


def _is_compiled(source: SourceFile, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    owner = source.parents.get(node)
    if any("compile" in ast.unparse(decorator) for decorator in node.decorator_list):
        return True
    return isinstance(owner, ast.ClassDef) and any(
        isinstance(member, _FUNCTIONS) and member.name == "forward" for member in owner.body
    )


def _called_by(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and (name := terminal_name(node.func)):
            yield name


def _places(calls: Iterable[ast.expr]) -> list[str]:
    return [f"line {row}" for row in sorted({call.lineno for call in calls})]


def _was_run(source: SourceFile, call: ast.AST, run: Collection[str]) -> bool:
    around = [node for node in source.ancestors(call) if isinstance(node, (*_FUNCTIONS, ast.ClassDef))]
    name = ".".join(node.name for node in reversed(around))
    if around:
        return f"{source.filename}::{name}" in run
    return not _is_for_scripts(source, call) and any(ran.startswith(f"{source.filename}::") for ran in run)


def _is_for_scripts(source: SourceFile, node: ast.AST) -> bool:
    """Whether it stands in what runs where the file is the script alone: `if __name__ == "__main__":`."""
    tests = (around.test for around in source.ancestors(node) if isinstance(around, ast.If))
    return any(isinstance(part, ast.Name) and part.id == "__name__" for test in tests for part in ast.walk(test))


def _gives_tensors(source: SourceFile, call: ast.Call) -> bool:
    """Whether the first argument is plainly a tensor: tests call what they test with `torch.randn(3)`."""
    return bool(call.args) and is_tensor(source, call.args[0])
