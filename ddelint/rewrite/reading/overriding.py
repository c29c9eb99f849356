"""Methods that subclasses have of their own, and what others put in their place: what was run says nothing of these."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.named import (
    Function,
    Replacing,
    classes_of,
    defined_in,
    functions_of,
    is_namespace,
    put_under,
    replacements_of,
    replacements_of_any,
)
from ddelint.rewrite.reading.names import qualified_name
from ddelint.rewrite.reading.neighbours import (
    Importers,
    classes_named,
    file_of,
    files_where,
    has_word,
    imported,
    importers,
    in_file,
    module_name,
)
from ddelint.rewrite.reading.reaching import heirs
from ddelint.sources.sites import Site
from ddelint.sources.source import SourceFile, descend

_CALLED_BY_INSTANCE = frozenset(("forward", "__call__"))
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST = 8
"""Subclasses, and functions, whose importers are looked for: each goes through the project."""
_OWN = "`{own.owner}` has a `{own.name}` of its own ({where}), which was not run"
_REPLACED = "something else is put in the place of `{name}` ({where}), which was not run"


@dataclass(frozen=True, slots=True)
class _Own:
    """What a class has of its own under a name; `qualified`: what it is called where it was run."""

    file: SourceFile
    owner: str
    name: str
    node: ast.AST
    qualified: str


def overridden(site: Site, run: Collection[str], importing: Importers = importers, *, calls_alone: bool = False) -> str:
    """Which subclass, here or in a file that imports the class, has a method or property of its own that is read from
    the site's statement on, and that was not run (`run`: `FILE::QUALIFIED.NAME`), or who puts something else in the
    place of such a method, of a module that is called there, or of a function; empty where nobody does.

    `calls_alone`: a rewrite that computes both sides reads a property where the original did.
    """
    function, source = site.function, site.source
    if function is None:
        return ""
    owner = source.parents.get(function)
    if isinstance(owner, ast.ClassDef) and (read := set(_read_from(site, function, calls_alone))):
        methods = {name for name in read if _is_method(source, name)}
        for file, names in _families(source, owner.name, importing):
            for own in _own_of_heirs(file, names, methods):
                if own.name in read and own.qualified not in run:
                    return _OWN.format(own=own, where=_where(own.node, own.file, source))
            for name in sorted(methods):
                if (there := next(_replaced(file, name, run, {owner.name, *names}), None)) is not None:
                    return _REPLACED.format(name=name, where=_where(there, file, source))
            for name in sorted(set(_read_from(site, function, calls_alone=True)) - methods):
                if (there := next(_exchanged(file, name, run, owner, names), None)) is not None:
                    return _REPLACED.format(name=name, where=_where(there, file, source))
    if (heir := _heir_of_another(site, function, run, importing)) != "":
        return heir
    for name in sorted(set(_called_functions(site, function)))[:_MOST]:
        for file, _ in ((source, name), *importing(source.filename, name)):
            for there in _replaced(file, name, run):
                if _is_of_module(there, file, source):
                    return _REPLACED.format(name=name, where=_where(there, file, source))
    return ""


def _heir_of_another(site: Site, function: Function, run: Collection[str], importing: Importers) -> str:
    """Which subclass of a class whose method is called of another object (`policy.fill(x)`), or whose instance is
    handed in and called (`self.policy(x)`), has one of its own that was not run."""
    called, instances = set(_called_of_others(site, function)), set(_handed_in(site, function, run))
    for ran in sorted(run):
        filename, _, qualified = ran.partition("::")
        owner, _, name = qualified.rpartition(".")
        is_called = name in called or (name in _CALLED_BY_INSTANCE and owner in instances)
        if not is_called or not owner or "." in owner:
            continue
        source = site.source if filename == site.source.filename else file_of(filename)
        if source is None:
            continue
        for file, names in _families(*_declaring(source, owner, name), importing):
            for own in _own_of_heirs(file, names, (name,)):
                if own.name == name and own.qualified not in run:
                    return _OWN.format(own=own, where=_where(own.node, own.file, site.source))
    for own in _behind_protocols(site.source.filename, called):
        if own.qualified not in run:
            return _OWN.format(own=own, where=_where(own.node, own.file, site.source))
    return ""


def _behind_protocols(filename: str, called: Collection[str]) -> Iterator[_Own]:
    """What may stand for a protocol of the project (`class Policy(Protocol)`) some method of which is called: classes
    that have it, and need share no base."""
    protocols = [
        (file, node) for file in _files_saying(filename, "Protocol") for node in _classes(file) if _is_protocol(node)
    ]
    names = {own.name for file, node in protocols for own in _members(file, node, called)} & set(called)
    for name in sorted(names):
        for file in _files_saying(filename, name):
            for node in _classes(file):
                if not _is_protocol(node):
                    yield from (own for own in _members(file, node, (name,)) if own.name == name)


def _files_saying(filename: str, word: str) -> Iterator[SourceFile]:
    """The files of a file's project in which a word stands."""
    return files_where(filename, lambda one, changed: has_word(one, changed, (word,)))


def _classes(file: SourceFile) -> Iterator[ast.ClassDef]:
    return (node for node in defined_in(file) if isinstance(node, ast.ClassDef))


def _is_protocol(node: ast.ClassDef) -> bool:
    """`class Policy(Protocol)`, `class Policy(Protocol[T])`."""
    return any(
        terminal_name(base.value if isinstance(base, ast.Subscript) else base) == "Protocol" for base in node.bases
    )


def _declaring(source: SourceFile, owner: str, name: str) -> tuple[SourceFile, str]:
    """The class furthest up among those that one is made of that has a method of the name: an abstract one is never
    run, but what is made of it may stand in the same place."""
    place, waiting = (source, owner), [(source, node) for node in classes_of(source, owner)]
    for _ in range(_MOST):
        if not waiting:
            break
        file, node = waiting.pop(0)
        if any(member.name == name for member in node.body if isinstance(member, _FUNCTIONS)):
            place = (file, node.name)
        waiting += [found for base in node.bases for found in classes_named(file, base)]
    return place


def _called_of_others(site: Site, function: Function) -> Iterator[str]:
    """The methods that a function calls from the site's statement on, of anything but its own object and torch; and
    those that the methods and functions of its file call which it calls itself."""
    for _, call in _calls_from(site, function):
        match call.func:
            case ast.Attribute(value=holder, attr=name) if not is_torch(holder) and not _is_own(holder):
                yield name


def _handed_in(site: Site, function: Function, run: Collection[str]) -> Iterator[str]:
    """The classes of the objects that such calls call, as a run saw them, where their own file does not always make
    them itself: parameters, and attributes that others may give (`self.policy = policy or Policy()`)."""
    if not isinstance(run, Mapping):
        return
    for body, call in _calls_from(site, function):
        parameters = {node.arg for node in ast.walk(body.args) if isinstance(node, ast.arg)}
        seen = run.get(f"{site.source.filename}::{qualified_name(site.source, body)}", {})
        owner = fact.python_type.rpartition(".")[2] if (fact := seen.get(dotted_name(call.func))) is not None else ""
        match call.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if owner:
                given = put_under(site.source, name)
                if not given or not all(isinstance(v, ast.Call) and terminal_name(v.func) == owner for v in given):
                    yield owner
            case ast.Name(id=name) if owner and name in parameters:
                yield owner


def _calls_from(site: Site, function: Function) -> Iterator[tuple[Function, ast.Call]]:
    """The calls of a function from the site's statement on, and those of the methods and functions of its file that it
    calls itself; each with the function that it is in."""
    defined = {node.name: node for node in descend(site.source.tree) if isinstance(node, _FUNCTIONS)}
    own = _read_from(site, function, calls_alone=True)
    inner = [defined[name] for name in {*own, *_called_functions(site, function)} if name in defined]
    for body, first in ((function, _first_line(site)), *((one, 0) for one in inner)):
        yield from ((body, node) for node in descend(body) if isinstance(node, ast.Call) and node.lineno >= first)


def _is_own(node: ast.expr) -> bool:
    """Whether it is the object itself, or what its class is made of: `self`, `super()`."""
    return terminal_name(node) == "self" or (isinstance(node, ast.Call) and terminal_name(node.func) == "super")


def _families(source: SourceFile, base: str, importing: Importers) -> Iterator[tuple[SourceFile, set[str]]]:
    """The file of a class and those that import it, or what is made of it there, each with what is made of it, and its
    own name there in front."""
    waiting = [(source, base), *importing(source.filename, base)]
    known, asked = set[tuple[str, str]](), 0
    while waiting:
        file, name = waiting.pop(0)
        if (file.filename, name) in known:
            continue
        names = heirs(name, file)
        known |= {(file.filename, one) for one in (name, *names)}
        yield file, {name, *names}
        for heir in sorted(names)[: _MOST - asked]:
            asked += 1
            waiting += importing(file.filename, heir)


def _where(node: ast.AST, file: SourceFile, source: SourceFile) -> str:
    return f"line {getattr(node, 'lineno', 0)}{in_file(file, source)}"


def _is_method(source: SourceFile, name: str) -> bool:
    return any(isinstance(source.parents.get(node), ast.ClassDef) for node in functions_of(source, name))


def _replaced(file: SourceFile, name: str, run: Collection[str], classes: Collection[str] = ()) -> Iterator[Replacing]:
    """Where a file puts something that was not run in the place of what goes by a name. What a class of no such family
    keeps of its own under the name is none; under a name made at run time only a class of the family, or a module
    (`_is_of_module`), has it."""
    for node in replacements_of(file, name):
        match node:
            case ast.Attribute(value=ast.Name(id="self")):
                owner = next((n for n in file.ancestors(node) if isinstance(n, ast.ClassDef)), None)
                if owner is None or owner.name not in classes:
                    continue
        match node if isinstance(node, ast.Call) else file.parents.get(node):
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Call(args=[*_, value]) if (
                f"{file.filename}::{terminal_name(value)}" in run
            ):
                continue
        yield node
    yield from (node for node in replacements_of_any(file) if not classes or terminal_name(_holder(node)) in classes)


def _exchanged(
    file: SourceFile, name: str, run: Collection[str], owner: ast.ClassDef, classes: Collection[str]
) -> Iterator[Replacing]:
    """Where a file puts something in the place of what an object calls under a name and its own class has made
    (`model.pool = LargestPool()`), as far as neither that nor the place was run."""
    for node in replacements_of(file, name):
        around = [one for one in file.ancestors(node) if isinstance(one, (*_FUNCTIONS, ast.ClassDef))]
        own = next((one for one in around if isinstance(one, ast.ClassDef)), None)
        of_self = terminal_name(_holder(node)) == "self" or (own is not None and _is_of_self(node))
        if own is owner or (of_self and (own is None or own.name not in classes)):
            continue
        place = ".".join(one.name for one in reversed(around))
        if f"{file.filename}::{place}" in run or (not place and any(r.startswith(f"{file.filename}::") for r in run)):
            continue
        match node if isinstance(node, ast.Call) else file.parents.get(node):
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value) | ast.Call(args=[*_, value]):
                if isinstance(value, ast.Constant) or _was_made_and_run(file, value, run):
                    continue
        yield node


def _is_of_self(node: Replacing) -> bool:
    """Whether a module puts something in a place of its own: `self.add_module("pool", …)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))):
            return True
    return False


def _was_made_and_run(file: SourceFile, value: ast.expr, run: Collection[str]) -> bool:
    """Whether it is made of a class of the file, or of one that it imports, of which something was run."""
    called = value.func if isinstance(value, ast.Call) else value
    name = terminal_name(called)
    found = imported(file, dotted_name(called).partition(".")[0])
    where, made = (file, name) if found is None else (found[0], found[1] or name)
    return bool(made) and any(ran.startswith(f"{where.filename}::{made}.") for ran in run)


def _holder(node: Replacing) -> ast.expr:
    """What has that in whose place something is put: of `vars(losses)["name"]`, losses."""
    match node:
        case ast.Attribute(value=holder) | ast.Subscript(value=holder):
            pass
        case ast.Call(func=ast.Attribute(value=holder)) if is_namespace(holder):  # `globals().update(name=other)`
            pass
        case ast.Call(args=[holder, *_]):
            pass
        case _:
            return node
    match holder:
        case ast.Call(args=[inner]) | ast.Attribute(value=inner, attr="__dict__") if is_namespace(holder):
            return inner
    return holder


def _is_of_module(node: Replacing, file: SourceFile, source: SourceFile) -> bool:
    """Whether what is replaced is an attribute of the module that a file is: `helpers.name`, `"pkg.helpers.name"`."""
    module = module_name(source.filename)
    match _holder(node):
        case ast.Constant(value=str() as text):
            return module in text.split(".")
        case ast.Name(id=name):
            found = imported(file, name)
            return found is not None and not found[1] and found[0].filename == source.filename
        case ast.Attribute(attr=name):
            return name == module
        case ast.Subscript(value=ast.Attribute(attr="modules")):  # `sys.modules[__name__]`
            return True
        case ast.Call(func=ast.Name(id="globals")):
            return file is source
    return False


def _called_functions(site: Site, function: ast.AST) -> Iterator[str]:
    """The functions of its own file that a function calls from the site's statement on."""
    first = _first_line(site)
    for node in descend(function):
        match node:
            case ast.Call(func=ast.Name(id=name), lineno=row) if row >= first:
                if any(isinstance(site.source.parents.get(one), ast.Module) for one in functions_of(site.source, name)):
                    yield name


def _first_line(site: Site) -> int:
    """From where on it matters which way is taken: in a loop, what stands before the statement as well."""
    around = [node for node in site.source.ancestors(site.statement) if isinstance(node, (ast.For, ast.While))]
    return min([site.statement.lineno, *(loop.lineno for loop in around)])


def _read_from(site: Site, function: Function, calls_alone: bool) -> Iterator[str]:
    """What a function reads of its own object from the site's statement on (in a loop, before it, too), and what
    methods and properties among that read."""
    first = _first_line(site)
    waiting = [name for name, row in _own_reads(function, calls_alone) if row >= first]
    methods = {node.name: node for node in descend(site.source.tree) if isinstance(node, _FUNCTIONS)}
    known: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            yield name
            waiting += [inner for inner, _ in _own_reads(methods[name], calls_alone)] if name in methods else []


def _own_reads(function: ast.AST, calls_alone: bool) -> Iterator[tuple[str, int]]:
    """What is read of `self`, methods that are called and properties among it, each with the line."""
    called = {node.func for node in descend(function) if isinstance(node, ast.Call)}
    for node in descend(function):
        if calls_alone and node not in called:
            continue
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load(), lineno=row):
                yield name, row


def _own_of_heirs(file: SourceFile, names: Collection[str], methods: Collection[str]) -> Iterator[_Own]:
    """What the classes of a family have of their own, or of a class that stands before the one they are made of."""
    for node in descend(file.tree):
        if not isinstance(node, ast.ClassDef) or not any(terminal_name(base) in names for base in node.bases):
            continue
        yield from _members(file, node, methods)
        for base in itertools.takewhile(lambda base: terminal_name(base) not in names, node.bases):
            for where, mixed in classes_named(file, base):
                yield from _members(where, mixed, methods)


def _members(file: SourceFile, owner: ast.ClassDef, methods: Collection[str]) -> Iterator[_Own]:
    for member in owner.body:
        match member:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield _Own(file, owner.name, name, member, f"{file.filename}::{qualified_name(file, member)}")
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ) if name in methods or (isinstance(value, ast.Call) and terminal_name(value.func) == "property"):
                yield _Own(file, owner.name, name, member, f"{file.filename}::{terminal_name(value)}")
