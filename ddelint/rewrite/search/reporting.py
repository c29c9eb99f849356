"""What a search came to, as findings: each with its fix, why that is not safe, and what was run to trust it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Evidence, Fix, Span
from ddelint.nouns.protocol import FEW_INPUTS, Comparison, Compilation, Decision, Mismatch, TargetResult
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search import last_resort, verdict
from ddelint.rewrite.search.history import fix_edits
from ddelint.rewrite.search.steps import State, Step, contents


def diagnostics(state: State, safe: State, comparison: Comparison | None) -> tuple[Diagnostic, ...]:
    """One diagnostic a site, on the original text, with the fix and what was run to trust it."""
    safe_numbers = {step.number for step in safe.steps}
    refusals = {key: diagnostic.refused for key, diagnostic in safe.given_up.items()}
    fixed: set[tuple[Span, str]] = set()
    done: list[Diagnostic] = []
    for step in state.steps:
        is_safe = step.number in safe_numbers and step.applicability is Applicability.SAFE
        step = step if is_safe else with_a_reason(step)
        beside = _unsafe_ones(state, safe_numbers) if is_safe else []
        diagnostic = replace(
            step.diagnostic,
            fix=fix_of(step, fix_edits(state.history, step.number, step.candidate.imports), is_safe),
            evidence=_evidence(step, comparison, state.compilation if not state.given_up else None, state, beside),
            refused=step.diagnostic.refused or refusals.get(step.key, ()),
        )
        place = diagnostic.span, diagnostic.code
        # a fix on top of another is a finding of its own: what is written without it still asks there
        done.append(_behind_a_fix(diagnostic) if place in fixed else diagnostic)
        fixed.add(place)
    # what is still asked at a place where something was fixed is another finding: the fix went only half of the way
    left = {(d.span, d.code): d for d in map(last_resort.told, state.given_up.values())}
    for diagnostic in _still_standing(state):
        left.setdefault((diagnostic.span, diagnostic.code), last_resort.behind(diagnostic, state.given_up.values()))
    half = (_behind_a_fix(d) if (d.span, d.code) in fixed else d for d in left.values())
    return tuple(sorted((*done, *half), key=lambda d: (d.span, d.code)))


def _behind_a_fix(diagnostic: Diagnostic) -> Diagnostic:
    """A finding at whose place another in the same words is fixed, and which would count as that one."""
    return replace(diagnostic, message=f"{diagnostic.message.rstrip('.')}, also behind another fix here")


def _unsafe_ones(state: State, safe_numbers: set[int]) -> list[int]:
    """The lines of the fixes that are verified together with the safe ones, and not written with these."""
    unsafe = (step for step in state.steps if step.number not in safe_numbers)
    return sorted({step.diagnostic.span.row for step in unsafe})


def _still_standing(state: State) -> Iterator[Diagnostic]:
    """What is named beside the questions, but for what stopped a front end that takes the fixed program, and for what a
    fix is blamed for: its reasons say so."""
    compilation = state.compilation if not state.given_up else None
    run = {result.target for result in compilation.results} if compilation is not None else set()
    failing = {r.target for r in compilation.results if not r.ok or r.mismatches} if compilation is not None else run
    cleared = last_resort.unsupported(state.others)
    reasons = [reason for step in state.steps for reason in step.reasons]
    for key, diagnostic in state.others.items():
        failure = last_resort.failure_of(diagnostic)
        if key in cleared and failure and any(failure in reason for reason in reasons):
            continue
        asking = run & set(diagnostic.asks)
        if key not in cleared or not asking or asking & failing:
            yield diagnostic


def with_a_reason(step: Step) -> Step:
    """A step that is not safe, with what keeps it from being so where nothing speaks against the step itself."""
    return step if step.reasons else replace(step, reasons=(_TOGETHER,))


_TOGETHER = "it was run only together with fixes that are unsafe"


GENERATED_CODE_DIFFERS = (
    "Inductor's code gives another result than eager on an input; the same graph run by eager's kernels does not"
)
"""A note: the graph is right, and on an input that nobody declared what is made of it is not held against a fix."""


def fix_of(step: Step, edits: tuple[Edit, ...], is_safe: bool) -> Fix:
    """The fix of a step."""
    return Fix(
        applicability=Applicability.SAFE if is_safe else Applicability.UNSAFE,
        message="; ".join((step.candidate.message, *step.candidate.notes)),
        edits=edits,
        move=step.candidate.move,
        claim=step.candidate.claim,
        reasons=() if is_safe else with_a_reason(step).reasons,
    )


def doubts(comparison: Comparison, candidate: Candidate, decisions: Sequence[Decision], state: State) -> list[str]:
    """What keeps a fix from being safe."""
    found = []
    if candidate.claim is Claim.PROMISE:
        found.append("it is a promise about the values")
    if candidate.last_resort:
        found.append("it takes code out of what is compiled")
    if candidate.spreads:
        found.append("an infinity or NaN in one place reaches others while compiling")
    if candidate.doubt:
        found.append(candidate.doubt)
    for decision, side in verdict.unreached(comparison, decisions):
        found.append(unseen(decision, side, state))
    known = {reason for step in state.steps for reason in step.reasons}
    new = verdict.doubt(comparison)
    if new and new not in known:
        found.append(new)
    return found


def unseen(decision: Decision, side: str, state: State) -> str:
    """What no input did: `side` is `true` or `false`, empty where none came to the decision at all."""
    test = _test(decision, state)
    return f"no input made `{test}` {side}" if side else f"no input reached `{test}`"


def _test(decision: Decision, state: State) -> str:
    if decision.text:
        return decision.text
    return " ".join(state.history.original(decision.span.filename).segment(decision.span).split())


def _difference(mismatch: Mismatch, target: str, notes: Sequence[str]) -> str:
    """What differs in a target; where it is a difference that was noted already, no more than that."""
    described = verdict.described(mismatch)
    known = any(described.partition(", ")[2] in note for note in notes)
    if known:
        return f"{target} differs there, too"
    return described if mismatch.where == target else f"{target}: {described}"


def _seldom_seen(step: Step, comparison: Comparison, state: State) -> list[str]:
    """Sides that few inputs took, and none near them could be found that did."""
    found = []
    for decision in (decision for decision in step.decisions if not decision.optional):
        for side, times in zip(("true", "false"), comparison.sides.get(decision.key, (0, 0))):
            if 0 < times <= FEW_INPUTS:
                inputs = "one input alone" if times == 1 else f"{times} inputs alone"
                found.append(f"{inputs} made `{_test(decision, state)}` {side}")
    return found


def _more_work(step: Step, comparison: Comparison, state: State) -> list[str]:
    """That eager does more than before where the fix has changed it: what the branch saved is computed now."""
    if step.candidate.claim is not Claim.RESTRUCTURED or _ASKS_HOW in contents(step.candidate):
        return []
    for slower in comparison.slower:
        decision = next((d for d in step.decisions if d.key in slower.sides), None)
        if decision is None and step.decisions:
            continue
        where = ""
        if decision is not None:
            where = f", where `{_test(decision, state)}` is {str(slower.sides[decision.key]).lower()}"
        counted = f"{slower.operators} operators, {slower.before} before"
        return [f"eager does {slower.times:.2g} times the work on {slower.sample}{where} ({counted})"]
    return []


_ASKS_HOW = "is_compiling()"
"""In a fix that leaves eager as it was."""


def _passed(result: TargetResult, refuting: Sequence[Mismatch], compilation: Compilation) -> bool:
    """Whether a target takes the program, and gives what eager gives."""
    if result.target == "compile" and GENERATED_CODE_DIFFERS in compilation.notes:
        refuting = [mismatch for mismatch in refuting if mismatch.declared]
    return not (result.error or result.asking or refuting)


def _evidence(
    step: Step,
    comparison: Comparison | None,
    compilation: Compilation | None,
    state: State,
    beside: Sequence[int] = (),
) -> Evidence | None:
    if comparison is None:
        return None
    sides = comparison.sides.get(step.decisions[0].key) if step.decisions else None
    outcome: dict[str, bool] = {}
    notes = [f"proved: {step.candidate.proof}"] if step.candidate.proof else []
    notes += step.reasons
    notes += verdict.remarks(comparison)
    notes += _seldom_seen(step, comparison, state)
    notes += _more_work(step, comparison, state)
    devices: list[str] = []
    agreed: dict[str, tuple[int, int]] = {}
    recompiles: int | None = None
    if compilation is not None:
        if compilation.failure is not None:
            notes.append(f"not verified: {compilation.failure.message}")
        for result in compilation.results:
            refuting = [m for m in result.mismatches if m.speaks_against]
            outcome[result.target] = outcome.get(result.target, True) and _passed(result, refuting, compilation)
            if result.compared:
                agreed[result.target] = (result.agreed, result.compared)
            if result.target == "compile":
                devices.append(result.device)
                recompiles = max(recompiles or 0, result.recompiles or 0)
            if result.error:
                notes.append(f"{result.target}: {result.error}")
            elif result.mismatches:
                notes.append(_difference((refuting or result.mismatches)[0], result.target, notes))
        if beside:
            lines = ("line " if len(beside) == 1 else "lines ") + ", ".join(map(str, beside))
            notes.append(f"export and compile were run with what is unsafe in it, too ({lines})")
        notes += compilation.notes
        if any(kept.candidate.move == last_resort.GRAPH_BREAK for kept in state.steps):
            whole = outcome.pop("compile", None)
            notes += ["torch.compile agrees with eager, with graph breaks"] if whole else []
    elif state.given_up:
        left = min(state.given_up.values(), key=lambda diagnostic: diagnostic.span)
        notes.append(
            f"export and compile not run: {last_resort.asked_at(left)} is still open; "
            "traced behind each answer to it, nothing else is asked here"
        )
    return Evidence(
        samples=comparison.samples if comparison.failure is None else None,
        both_sides=bool(sides[0] and sides[1]) if sides is not None else None,
        eager_equal=comparison.equal if comparison.failure is None else None,
        export=outcome.get("export"),
        strict=outcome.get("strict"),
        compile=outcome.get("compile"),
        backward=compilation.backward if compilation is not None else None,
        devices=tuple(dict.fromkeys(devices)) or None,
        recompiles=recompiles,
        sides=sides,
        agreed=tuple((target, *counts) for target, counts in agreed.items()),
        notes=tuple(dict.fromkeys(notes)),
    )
