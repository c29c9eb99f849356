"""`init`: an entry for a file that offers none, guessed, run, and written."""

from __future__ import annotations

import ast
import heapq
import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ddelint.guessing.arguments import built_by, guess_for
from ddelint.guessing.corrections import corrections
from ddelint.guessing.demos import Called, Demo, demos_in_docstring, demos_in_markdown, demos_in_source, recipes_in
from ddelint.guessing.knowledge import knowledge
from ddelint.guessing.nouns import Recipe
from ddelint.guessing.programs import chosen, factories_of
from ddelint.guessing.writing import block_of, recipe_of, with_block
from ddelint.nouns.protocol import Attempt, EntryFailure, EntrySpec, ProgramText
from ddelint.pipeline import advice
from ddelint.pipeline.entries import session_options
from ddelint.pipeline.gathering import PipelineError, Run, Sources, discover, read_files
from ddelint.pipeline.sessions import start_worker
from ddelint.report.diff import unified_diff
from ddelint.report.model import Progress
from ddelint.settings.options import CheckOptions
from ddelint.sources.replacing import LeftAlone, replace_source
from ddelint.sources.source import SourceFile
from ddelint.system.files import LARGE, read_regular, repository_of
from ddelint.trace.offers import static_offer

if TYPE_CHECKING:
    from ddelint.trace.session import Session

MOST_ATTEMPTS = 40
"""Of one program."""
SECONDS_FOR_ATTEMPTS = 60.0
"""Of one program; --timeout where that is less."""
MOST_DEMOS = 4
"""Calls that somebody has written which are tried, of one program."""
MOST_FACTORIES = 2
"""Functions that build the program which are tried."""
MOST_FILES = 300
"""Files of the project that are looked through for calls."""
_NOT_INSTALLED = ("ImportError", "ModuleNotFoundError")
"""Errors that no other inputs help against."""
_ELSEWHERE = ("tests", "test", "scripts", "examples", "example", "benchmarks", "tools", "demo", "demos")


@dataclass(frozen=True, slots=True)
class Proposal:
    """An entry for one program, and whether it runs."""

    recipe: Recipe
    attempt: Attempt
    attempts: int

    @property
    def runs(self) -> bool:
        """Whether it was run, to its end."""
        return self.attempt.failure is None


@dataclass(frozen=True, slots=True)
class InitReport:
    """The outcome of `init`: what it would write, and how it ran."""

    filename: str
    offered: str = ""
    """The entry that is there already; nothing was guessed then."""
    proposals: tuple[Proposal, ...] = ()
    left_out: tuple[str, ...] = ()
    """Programs of the file that got no entry, since others use them or there are too many."""
    diff: str = ""
    is_written: bool = False
    warnings: tuple[str, ...] = ()


def run_init(path: str, names: Sequence[str], options: CheckOptions, progress: Progress, *, write: bool) -> InitReport:
    """Guess an entry for a file and run it; with `write`, put it into the file. Raises PipelineError (exit code 2)."""
    run = Run(options, progress, Sources((), {}))
    source = _source(path, run)
    offered = static_offer(source)
    if offered is not None:
        return InitReport(source.filename, offered)
    facts = knowledge()
    settings = session_options(EntrySpec(source.filename), [path], options)
    with start_worker(options) as worker:
        progress.stage(f"loading {os.path.basename(source.filename)}")
        opened = worker.open(replace(settings, has_entry=False, jobs=1))
        if isinstance(opened, EntryFailure):
            raise PipelineError(opened.message if opened.kind == "no-torch" else _cannot_load(source, opened))
        with closing(opened) as session:
            texts = session.programs(facts.settings)
            if texts.failure is not None:
                raise PipelineError(_cannot_load(source, texts.failure))
            programs, left_out = chosen(texts.programs, source, names)
            missed = [name for name in names if all(name != program.name for program in programs)]
            if missed or not programs:
                raise PipelineError(_nothing(source, texts.programs, missed))
            demos = _Demos(source)
            proposals = []
            for program in programs:
                progress.stage(f"guessing how to call {program.name}")
                proposals.append(_Search(session, program, texts.programs, demos, progress, options).best())
            text = with_block(source.text, source.tree, _block([p.recipe for p in proposals], source))
            progress.stage("running what would be written")
            proposals = [_as_written(session, proposal, source, text) for proposal in proposals]
    if write:
        _write(source, text)
    diff = unified_diff(source.filename, source.text, text)
    return InitReport(source.filename, "", tuple(proposals), left_out, diff, write, tuple(run.warnings))


def _source(path: str, run: Run) -> SourceFile:
    if os.path.isdir(path):
        raise PipelineError(f"{path} is a folder: name the file whose module or function is to be run")
    readable = read_files(discover([path], run), [path], run)
    if not readable:
        why = run.errors[0] if run.errors else f"{path} cannot be read as Python"
        raise PipelineError(why)
    return readable[0]


def _write(source: SourceFile, text: str) -> None:
    """Raises PipelineError where the file is better left alone, or cannot be written."""
    try:
        replace_source(source, text)
    except LeftAlone as error:
        raise PipelineError(f"{advice.shown(source.filename)} is left as it is: {error.strerror}") from None
    except OSError as error:
        raise PipelineError(f"cannot write {advice.shown(source.filename)}: {error.strerror}") from None


def _block(recipes: Sequence[Recipe], source: SourceFile) -> str:
    return block_of(recipes, f"ddelint check {os.path.basename(source.filename)}")


def _as_written(session: Session, proposal: Proposal, source: SourceFile, text: str) -> Proposal:
    """Run the file as it would be written, where its entry has run so far."""
    if not proposal.runs:
        return proposal
    return replace(proposal, attempt=session.attempt(proposal.recipe.program, overlay={source.filename: text}))


def _cannot_load(source: SourceFile, failure: EntryFailure) -> str:
    where = f" ({advice.shown(failure.span.filename)}:{failure.span.row})" if failure.span is not None else ""
    return f"{advice.shown(source.filename)} cannot be loaded: {failure.message}{where}"


def _nothing(source: SourceFile, programs: Sequence[ProgramText], names: Sequence[str]) -> str:
    shown = advice.shown(source.filename)
    if names:
        there = ", ".join(program.name for program in programs) or "nothing that could be called"
        return f"{shown} has no module class and no function {', '.join(names)}; it defines {there}"
    return f"{shown} defines no nn.Module and no function of tensors: nothing to make an entry for"


class _Demos:
    """Calls in the project: the file's own, its docstrings', those of tests, scripts and README; read once."""

    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self._found: list[Demo] | None = None

    def of(self, program: ProgramText) -> Iterator[Demo]:
        """The pieces of code that may call the program, the nearest first."""
        name = os.path.basename(self.source.filename)
        yield from demos_in_source(self.source.text, name)
        yield from demos_in_docstring(program.doc, f"the docstring of {program.name}")
        if self._found is None:
            self._found = list(self._elsewhere(Path(self.source.filename)))
        yield from self._found

    def _elsewhere(self, path: Path) -> Iterator[Demo]:
        root = repository_of(path.parent) or _project_of(path)
        seen = 0
        folders = [path.parent] if root is None else [path.parent, root, *(root / name for name in _ELSEWHERE)]
        for folder in dict.fromkeys(folders):
            deep = folder.name in _ELSEWHERE
            if not folder.is_dir():
                continue
            for file in sorted(folder.rglob("*") if deep else folder.glob("*")):
                if file.suffix not in (".py", ".md") or file == path or seen >= MOST_FILES:
                    continue
                seen += 1
                yield from _demos_of(file, root or path.parent)


def _demos_of(file: Path, root: Path) -> Iterator[Demo]:
    try:
        text = read_regular(file, LARGE).decode("utf-8-sig", errors="replace")
    except OSError:
        return
    shown = os.path.relpath(file, root)
    yield from demos_in_markdown(text, shown) if file.suffix == ".md" else [Demo(text, shown, 1)]


def _project_of(path: Path) -> Path | None:
    return next((folder for folder in path.parents if (folder / "pyproject.toml").is_file()), None)


@dataclass
class _Search:
    """Tries recipes of one program until one runs."""

    session: Session
    program: ProgramText
    others: Sequence[ProgramText]
    demos: _Demos
    progress: Progress
    options: CheckOptions
    attempts: int = 0
    tried: set[str] = field(default_factory=set)
    ends_at: float = 0.0

    def best(self) -> Proposal:
        """The first recipe that runs: a call that somebody wrote, else a guess; else the guess that came furthest."""
        self.ends_at = monotonic() + min(SECONDS_FOR_ATTEMPTS, self.options.timeout)
        known = frozenset(_names_of(self.demos.source))
        called = Called(self.program.name, self.program.is_class, frozenset(self._factories))
        for number, recipe in enumerate(recipes_in(self.demos.of(self.program), called, known)):
            if number >= MOST_DEMOS:
                break
            found = self._run(recipe)
            if found is not None and found.failure is None:
                return Proposal(recipe, found, self.attempts)
        return self._guessed()

    @property
    def _factories(self) -> tuple[str, ...]:
        return factories_of(self.program.name, self.demos.source.tree) if self.program.is_class else ()

    def _guessed(self) -> Proposal:
        facts = knowledge()
        first = guess_for(self.program, facts, self.others)
        guesses = [*(built_by(first, name) for name in self._factories[:MOST_FACTORIES]), first]
        recipe = recipe_of(guesses[0], facts)
        if recipe.missing:
            missing = EntryFailure("missing", f"nothing says what {', '.join(recipe.missing)} should be")
            return Proposal(recipe, Attempt(failure=missing), self.attempts)
        order = count()
        waiting = [(0, 0, next(order), guess) for guess in guesses]
        furthest: tuple[Recipe, Attempt] | None = None
        while waiting and self.attempts < MOST_ATTEMPTS and monotonic() < self.ends_at:
            _, depth, _, guess = heapq.heappop(waiting)
            candidate = recipe_of(guess, facts)
            if candidate.missing:
                continue
            found = self._run(candidate)
            if found is None:
                continue
            if found.failure is None:
                return Proposal(candidate, found, self.attempts)
            lines = "; ".join(line for line, _ in candidate.input_lines)
            self.progress.debug(f"{self.program.name}: {lines}: {found.failure.message}")
            if furthest is None or found.steps > furthest[1].steps:
                furthest = candidate, found
            if found.failure.message.startswith(_NOT_INSTALLED):
                break
            for other in corrections(guess, found.failure.message, facts):
                heapq.heappush(waiting, (-found.steps, depth + 1, next(order), other))
        not_run = Attempt(failure=EntryFailure("timeout", "no time was left to run it"))
        return Proposal(*(furthest or (recipe, not_run)), self.attempts)

    def _run(self, recipe: Recipe) -> Attempt | None:
        """None where the very same was tried already."""
        block = block_of([recipe], "ddelint")
        if block in self.tried:
            return None
        self.tried.add(block)
        self.attempts += 1
        return self.session.attempt(recipe.program, block=block)


def _names_of(source: SourceFile) -> Iterator[str]:
    """What the program's own file calls by name."""
    for statement in source.tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((alias.asname or alias.name).split(".")[0] for alias in names)
            case ast.Assign(targets=[ast.Name(id=name)]):
                yield name
