"""DDE501, DDE502, DDE504: unbacked falls behind backed, and what closes the gap, looked at again with the fix in place.

Costs several compilations by Inductor, so `check` looks only where the rules are selected by name (`--select DDE5`).
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Fix, Refusal
from ddelint.nouns.measurements import Parity
from ddelint.pipeline.gaps import Gap, gap_of
from ddelint.pipeline.gathering import Run
from ddelint.settings.options import CheckOptions
from ddelint.sources.sites import Site, locate, site_of
from ddelint.sources.source import SourceFile

if TYPE_CHECKING:
    from ddelint.rewrite.candidate import Candidate
    from ddelint.rewrite.search.history import History
    from ddelint.trace.session import Session

HINT_RULE, BOUND_RULE, GAP_RULE = "DDE501", "DDE502", "DDE504"


@dataclass(frozen=True, slots=True)
class _Part:
    """One dimension, and the hint or the bounds that helped there (empty: nothing did)."""

    code: str
    parameter: str
    dimension: int
    value: str = ""
    """The hint; of bounds `4194304`, or `2..4194304` with a lower one."""

    @property
    def size(self) -> str:
        """As the user would write it."""
        return f"{self.parameter}.shape[{self.dimension}]"


def is_wanted(options: CheckOptions) -> bool:
    """Whether a rule about parity was selected by name."""
    return is_selected_by_name(options, HINT_RULE, BOUND_RULE, GAP_RULE)


def is_selected_by_name(options: CheckOptions, *codes: str) -> bool:
    """Whether one of the rules was selected by its name or its family's: `DDE5`, `DDE501`, not `DDE` or the default."""
    named = [prefix for prefix in (*options.select, *options.extend_select) if prefix.startswith("DDE5")]
    return any(code.startswith(prefix) for prefix in named for code in codes)


def parity_findings(session: Session, run: Run) -> list[Diagnostic]:
    """What the unbacked input dimensions of the entry cost; a fix that helps is added to the run's history."""
    if not session.info.unbacked or "compile" not in run.options.targets:
        return []
    run.progress.stage("measuring unbacked against backed")
    parity = session.parity(run.history.overlay if run.history is not None else {}, timed=True)
    for note in parity.notes:
        run.progress.debug(note)
    gap = gap_of(parity)
    if gap is None:
        return []
    found: list[tuple[_Part, Diagnostic]] = []
    for part in _parts(parity, gap):
        site = _site(run.sources, parity, part)
        if site is not None:
            found.append((part, _finding(gap, part, site)))
    return _fixed(found, gap, session, run)


def _parts(parity: Parity, gap: Gap) -> list[_Part]:
    remedy = gap.remedy
    if remedy is None:
        return [_part(GAP_RULE, parity.dimensions[0], "")]
    limited = dict.fromkeys((*remedy.lowers, *remedy.bounds))
    return [
        *(_part(HINT_RULE, place, str(value)) for place, value in remedy.values.items()),
        *(_part(BOUND_RULE, place, _limits(remedy.lowers.get(place), remedy.bounds.get(place))) for place in limited),
    ]


def _limits(lower: int | None, upper: int | None) -> str:
    """`4194304`, `2..4194304`, `2..`."""
    return f"{'' if lower is None else f'{lower}..'}{'' if upper is None else upper}"


def _part(code: str, place: str, value: str) -> _Part:
    parameter, _, dimension = place.rpartition(".")
    return _Part(code, parameter, int(dimension), value)


def _finding(gap: Gap, part: _Part, site: Site) -> Diagnostic:
    found = rule(part.code)
    return Diagnostic(
        part.code,
        found.message.format(expression=f"{part.size}, {gap.words}" if part.code == GAP_RULE else part.size),
        site.source.span(site.node),
        found.severity,
        ("trace",),
        part.size,
        asks=("inductor",),
        evidence=gap.evidence,
        detail=gap.detail,
    )


# ----------------------------------------------------------------------------------------------------- where it stands


def _site(sources: Mapping[str, SourceFile], parity: Parity, part: _Part) -> Site | None:
    """The call under PATHs that marks the dimension, else the parameter; None where neither stands there."""
    from ddelint.rewrite.moves.static_hints import marking_call

    for source in list(sources.values()):
        call = marking_call(source, part.parameter, part.dimension)
        if call is not None:
            return site_of(source, call)
    where = parity.function
    program = sources.get(where.filename) if where is not None else None
    return _parameter(program, where.row, part.parameter) if program is not None and where is not None else None


def _parameter(source: SourceFile, row: int, name: str) -> Site | None:
    """The parameter `name` of the function that begins in `row` (with its decorators), or stands there itself."""
    for node in ast.walk(source.tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        first = min(node.lineno, *(decorator.lineno for decorator in node.decorator_list), node.lineno)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.arg == name and row in (first, node.lineno, argument.lineno):
                return site_of(source, argument)  # type: ignore[arg-type]
    return None


# ------------------------------------------------------------------------------------------------------------ the fix


def _fixed(found: Sequence[tuple[_Part, Diagnostic]], gap: Gap, session: Session, run: Run) -> list[Diagnostic]:
    """The findings with their fixes, where the program with all of them is better; else refused."""
    from ddelint.rewrite.search.history import History

    before = run.history if run.history is not None else History(run.sources)
    history, allowed = before, before
    with_fixes: list[Diagnostic] = []
    for part, finding in found:
        candidate = _candidate(history, part, finding) if part.value else None
        if candidate is None:
            with_fixes.append(_by_hand(finding, part, gap))
            continue
        number = max((change.step for change in history.changes), default=0) + 1
        history = _applied(history, candidate, number)
        safe = candidate.claim is not Claim.PROMISE
        if safe or run.options.unsafe_fixes:
            allowed = _applied(allowed, candidate, number)
        with_fixes.append(_with_fix(finding, candidate, history, number, safe))
    if history is before:
        return with_fixes
    evidence, reason = gap.closed(lambda timed: session.parity(history.overlay, timed=timed))
    if evidence is None and any(one.fix is not None and not one.fix.edits for one in with_fixes):
        # only all parts together were seen to help, and one of them is for the user to write
        return [_by_hand(finding, part, gap) for part, finding in found]
    if evidence is None:
        return [_refused(one, reason) for one in with_fixes]
    run.history = allowed
    return [replace(one, evidence=evidence) if one.fix is not None and one.fix.edits else one for one in with_fixes]


def _candidate(history: History, part: _Part, finding: Diagnostic) -> Candidate | None:
    """What the rule's moves offer on the current text."""
    from ddelint.rewrite.candidate import MOVES, Context
    from ddelint.rewrite.moves import load_moves

    load_moves()
    source, span = history.current(finding.span.filename), history.forward(finding.span)
    located = locate(source, span)
    site = located if located is not None and isinstance(located.node, ast.Call) else None
    site = site or _parameter(source, span.row, part.parameter)
    if site is None:
        return None
    context = Context(site, finding, "parity", detail=part.value)
    return next((candidate for name in rule(part.code).moves for candidate in MOVES[name](context)), None)


def _applied(history: History, candidate: Candidate, number: int) -> History:
    from ddelint.rewrite.writing.imports import import_edits

    changed = history.add(candidate.edits, number)
    imports = import_edits(changed.current(candidate.edits[0].span.filename), candidate.imports)
    return changed.add(imports, number) if imports else changed


def _with_fix(finding: Diagnostic, candidate: Candidate, history: History, number: int, safe: bool) -> Diagnostic:
    from ddelint.rewrite.search.history import fix_edits

    fix = Fix(
        Applicability.SAFE if safe else Applicability.UNSAFE,
        candidate.message,
        fix_edits(history, number, candidate.imports),
        candidate.move,
        candidate.claim,
    )
    return replace(finding, fix=fix)


def _by_hand(finding: Diagnostic, part: _Part, gap: Gap) -> Diagnostic:
    if gap.remedy is None or not part.value:
        return finding
    lower, _, upper = part.value.rpartition("..")
    settings = {"hint_override": part.value} if part.code == HINT_RULE else {"min": lower, "max": upper}
    said = ", ".join(f"{name}={value}" for name, value in settings.items() if value)
    call = f"mark_unbacked({part.parameter}, {part.dimension}, {said})"
    message = f"`{call}` where the input is marked; {gap.with_remedy}"
    claim = Claim.PROMISE if part.code == BOUND_RULE else Claim.EQUIVALENT
    return replace(finding, fix=Fix(Applicability.DISPLAY, message, (), rule(part.code).moves[0], claim))


def _refused(finding: Diagnostic, reason: str) -> Diagnostic:
    fix = finding.fix
    if fix is None or not fix.edits:
        return finding
    return replace(finding, fix=None, refused=(Refusal(fix.move, fix.message, reason),))
