"""`shapes --check`: what is declared of an entry's sizes against what it needs, each difference run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_specs import CheckedSpec, Outcome, SizeSpec, SpecFinding
from ddelint.shapes.annotations import ORIGIN, annotated_spec
from ddelint.shapes.comparing import CONTRADICTORY, TOO_LOOSE, Compared, compare
from ddelint.shapes.names import names_of
from ddelint.shapes.requirements import side_taken
from ddelint.shapes.specs import spec_of, unsaid_by_dims, with_unsaid

if TYPE_CHECKING:
    from ddelint.trace.session import Session


def check_specs(session: Session, contract: Contract, wanted: str = "") -> list[CheckedSpec]:
    """Each spec that is declared beside the entry, compared with its contract."""
    declared = session.declared(wanted)
    if declared.failure is not None:
        return [CheckedSpec(SizeSpec(origin=wanted or "--check"), error=declared.failure.message)]
    annotated = annotated_spec(contract) if wanted in ("", ORIGIN) else None
    specs = [*declared.specs, *([annotated] if annotated is not None else [])]
    if not specs:
        said = f"nothing of that name is declared: {wanted}" if wanted else "nothing is declared beside the entry"
        return [CheckedSpec(SizeSpec(origin=wanted or "--check"), said=(said,))]
    specs = [with_unsaid(spec, contract) if spec.exported else spec for spec in specs]
    names = names_of(contract)
    return [_told(check_spec(session, contract, spec, compare(contract, spec), names), contract) for spec in specs]


def _told(checked: CheckedSpec, contract: Contract) -> CheckedSpec:
    """Of Dims that torch.export does not take also what is needed and cannot be said by them."""
    unsaid = unsaid_by_dims(contract) if checked.spec.exported and checked.error else ()
    return replace(checked, said=(*checked.said, *(f"no Dim says {text}" for text in unsaid)))


def check_spec(
    session: Session, contract: Contract, spec: SizeSpec, compared: Compared, names: Mapping[str, str]
) -> CheckedSpec:
    """One declared spec that was compared with the contract, each difference run.

    `names`: what the program calls its sizes.
    """
    loose = [one for one in compared.findings if one.code in (TOO_LOOSE, CONTRADICTORY)]
    strict = [one for one in compared.findings if one.code not in (TOO_LOOSE, CONTRADICTORY)]
    kept, error = _run_loose(session, contract, spec, loose, compared.first)
    kept_strict, not_run = _run_strict(session, contract, strict, names)
    order = {id(one): at for at, one in enumerate(compared.findings)}
    found = sorted([*kept, *kept_strict], key=lambda pair: order[id(pair[0])])
    return CheckedSpec(spec, tuple(one for _, one in found), (*compared.undecided, *not_run), error)


_Pairs = list[tuple[SpecFinding, SpecFinding]]


def _run_loose(
    session: Session,
    contract: Contract,
    spec: SizeSpec,
    findings: Sequence[SpecFinding],
    first: Mapping[str, int] | None,
) -> tuple[_Pairs, str]:
    """Those whose witness breaks under the spec as declared."""
    start = first or contract.example
    trial = session.try_spec(spec, start, [one.witness or contract.example for one in findings])
    if trial.failure is not None:
        return [(one, one) for one in findings], trial.failure.message
    if not trial.compiled:
        outcome = Outcome(start, "broke", "" if spec.exported else trial.error)
        return [(one, replace(one, outcome=outcome)) for one in findings], trial.error
    pairs = list(zip(findings, trial.outcomes))
    return [
        (one, replace(one, outcome=outcome))
        for one, outcome in pairs
        if outcome.ended != "same" or one.fact in spec.dimensions
    ], ""


def _run_strict(
    session: Session, contract: Contract, findings: Sequence[SpecFinding], names: Mapping[str, str]
) -> tuple[_Pairs, list[str]]:
    """Those whose witness the program takes, compiled for what it needs and no more; what could not be run."""
    kept: _Pairs = []
    not_run: list[str] = []
    for one in findings:
        witness = one.witness or contract.example
        sides = [side_taken(branch, witness) for branch in contract.branches]
        trial = session.try_spec(spec_of(contract, names, sides), witness, [witness])
        if trial.failure is not None or not trial.compiled:
            why = trial.error or (trial.failure.message if trial.failure else "")
            not_run.append(f"{one.fact}, since what is needed could not be compiled: {why}")
        elif trial.outcomes[0].ended == "same":
            kept.append((one, replace(one, outcome=trial.outcomes[0])))
    return kept, not_run
