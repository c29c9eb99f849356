"""Whether a program takes what a spec of its sizes says: what `assert_traceable(…, spec=…)` asserts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_specs import CheckedSpec, Outcome, SizeSpec, SpecFinding
from ddelint.pipeline.spec_checking import check_spec
from ddelint.shapes.comparing import CONTRADICTORY, TOO_LOOSE, compare
from ddelint.shapes.names import names_of
from ddelint.shapes.probing import draws, is_about_values
from ddelint.shapes.specs import conditions_of

if TYPE_CHECKING:
    from ddelint.trace.session import Session


def held(session: Session, contract: Contract, spec: SizeSpec, *, exact: bool, samples: int, seed: int) -> CheckedSpec:
    """What is wrong with a spec; where nothing is, the program is run at `samples` sizes drawn from within it.

    `exact`: that the program takes more than the spec allows is wrong, too.
    """
    compared = compare(contract, spec)
    checked = check_spec(session, contract, spec, compared, names_of(contract))
    kept = tuple(one for one in checked.findings if exact or one.code in (TOO_LOOSE, CONTRADICTORY))
    checked = replace(checked, findings=kept)
    first = compared.first or contract.example
    return checked if kept or checked.error else _drawn(session, contract, checked, first, samples, seed)


def _drawn(
    session: Session, contract: Contract, checked: CheckedSpec, first: Mapping[str, int], samples: int, seed: int
) -> CheckedSpec:
    """Call the program, compiled under the spec for inputs of the sizes `first`, with sizes that it allows."""
    known = {name: text for name, text in checked.spec.dimensions.items() if name in contract.example}
    spec = replace(checked.spec, dimensions=known)
    allowed = conditions_of(spec, contract.example)
    cases = list(islice(draws(allowed, contract.example, samples, seed), samples))
    trial = session.try_spec(spec, first, cases)
    if trial.failure is not None or not trial.compiled:
        return replace(checked, error=trial.error or (trial.failure.message if trial.failure else ""))
    wrong = next((one for one in trial.outcomes if _is_wrong(one)), None)
    if wrong is None:
        return checked
    message = "it allows sizes that the program, compiled under it, does not take"
    fact = " and ".join(f"{name} == {size}" for name, size in wrong.sizes.items())
    return replace(checked, findings=(SpecFinding(TOO_LOOSE, fact, message, wrong.sizes, wrong),))


def _is_wrong(outcome: Outcome) -> bool:
    """Whether sizes are to blame: not where an index is beyond what is there, nor where inputs are too large."""
    beyond = is_about_values(outcome.eager) or outcome.eager.startswith("MemoryError")
    return outcome.ended != "same" and not beyond
