"""Fixes that are found by reading: retired functions, and what comes to the same as far as the text says.

Which rules these are, with which moves, stands in rules/rewriting.toml, and for each what most texts don't show: who
calls a function, with what, and what they do about what it raises or says. Safe is what was run (`proven`), where the
text shows all that counts (`reading.shown`), and what somebody's rule file vouches for.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Edit, Evidence, Fix, TypeFact
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.rewrite.reading.callers import keeps_nothing_for_numbers, other_callers, undeclared
from ddelint.rewrite.reading.effects import raises_alone
from ddelint.rewrite.reading.handlers import may_be_caught
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.mixed import may_be_number
from ddelint.rewrite.reading.names import bindings
from ddelint.rewrite.reading.scripting import scripted, scripted_elsewhere
from ddelint.rewrite.reading.shown import is_shown
from ddelint.rewrite.renamed_calls import renamed_call
from ddelint.rewrite.writing.edits import without_repeats
from ddelint.rewrite.writing.imports import EngineError, import_edits
from ddelint.sources.sites import Site, locate
from ddelint.sources.source import SourceFile

_READING = frozenset(("DDE103", "DDE104", "DDE201", "DDE204"))
"""Rules whose fix must know a tensor from a number that was read."""
_COUNTED = frozenset(("DDE103", "DDE104", "DDE201"))
"""Those of which it shows in the new text."""
_RAISING = frozenset(("DDE103", "DDE104"))
"""Rules whose fix raises another type of exception in the compiled program."""
_ERRORS = {
    "DDE201": (ValueError, TypeError, RuntimeError),
    "DDE204": (TypeError, RuntimeError),
    "DDE207": (TypeError, IndexError),
}
"""What an expression raises for a tensor that it does not take, and what the fix does: `len(t)` of a number TypeError,
`t.shape[0]` IndexError."""
_CASTS = frozenset(("DDE201",))
_OF_CALLS = ("DDE6", "DDE7")
"""Rules about what is called, whatever is asked there."""
_TWICE = "compiler.is_compiling():"
"""What two fixes side by side may both have written."""
_SHAPES = re.compile(r"\.shape (?:==|!=) ")
NOTHING_PROVEN: Mapping[str, Evidence] = {}
_WITHIN_THE_FINDING = frozenset(("DDE201", "DDE204"))
"""Rules whose move looks at the whole statement: without types, only what was found is known to be what it seems."""


def is_fixed_without_trace(code: str) -> bool:
    """Whether a finding of the rule may get a fix here."""
    return code in knowledge().without_trace or rule(code).replacement is not None


def with_static_fixes(
    findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile], proven: Mapping[str, Evidence] = NOTHING_PROVEN
) -> list[Diagnostic]:
    """The findings, those whose fix follows from the text with their fixes. Loads the moves only where there is one.

    `proven`: rule → what was run to see that its fix is right; such a fix is safe.
    """
    with_fixes = [
        _with_fix(finding, sources) if is_fixed_without_trace(finding.code) else finding for finding in findings
    ]
    return [_proven(finding, proven[finding.code]) if finding.code in proven else finding for finding in with_fixes]


def fixed_text(source: SourceFile, findings: Sequence[Diagnostic], unsafe: bool) -> str:
    """The file's text after the findings' fixes, without those that would overlap an earlier one."""
    edits = [edit for finding in taken(findings, unsafe) if finding.fix is not None for edit in finding.fix.edits]
    text = source.apply(without_repeats(edits))
    if text.count(_TWICE) < 2:
        return text
    from ddelint.rewrite.writing.tidying import tidied  # loads libcst

    return tidied(SourceFile(source.filename, text, source.encoding), source.text)


def taken(findings: Sequence[Diagnostic], unsafe: bool) -> list[Diagnostic]:
    """The findings of a file whose fixes `fixed_text` writes."""
    chosen: list[Diagnostic] = []
    edits: list[Edit] = []
    for finding in findings:
        fix = finding.fix
        if fix is None or not is_allowed(fix, unsafe):
            continue
        new = [edit for edit in fix.edits if edit not in edits]
        if not any(_collide(edit, other) for edit in new for other in edits):
            chosen.append(finding)
            edits += new
    return chosen


def is_allowed(fix: Fix, unsafe: bool) -> bool:
    """Whether a fix is written: a safe one, and with `unsafe` one that is not."""
    return fix.applicability is Applicability.SAFE or (unsafe and fix.applicability is Applicability.UNSAFE)


def _collide(edit: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text, or one inserts into what the other replaces."""
    first, second = sorted((edit.span, other.span))
    return first.overlaps(second) or (first.row, first.column) < (second.row, second.column) < (
        first.end_row,
        first.end_column,
    )


def _proven(finding: Diagnostic, evidence: Evidence) -> Diagnostic:
    if finding.fix is None:
        return finding
    return replace(finding, fix=replace(finding.fix, applicability=Applicability.SAFE, reasons=()), evidence=evidence)


def _with_fix(finding: Diagnostic, sources: Mapping[str, SourceFile]) -> Diagnostic:
    source = sources.get(finding.span.filename)
    if source is not None and not source.is_written_as_read:
        return finding
    replacement = rule(finding.code).replacement
    if replacement is not None and source is not None and finding.fix is None:
        return replace(finding, fix=renamed_call(finding, source, replacement))
    site = locate(source, finding.span) if source is not None and finding.fix is None else None
    if source is None or site is None:
        return finding
    if finding.code in _RAISING and (may_be_caught(site) or not raises_alone(site.statement, source)):
        return finding
    if finding.code in _ERRORS and may_be_caught(site, _ERRORS[finding.code]):
        return finding
    load_moves()
    entry = knowledge().without_trace[finding.code]
    context = Context(site, finding, "static", _types(site, finding))
    for candidate in (found for name in entry.moves for found in MOVES[name](context)):
        if not _is_settled_by_the_text(candidate, finding, source) or not _reads_what_is_a_tensor(
            candidate, finding, site
        ):
            continue
        try:
            edits: list[Edit] = [*candidate.edits, *import_edits(source, candidate.imports, candidate.edits)]
        except EngineError:
            continue
        others = scripted(site) if not finding.code.startswith(_OF_CALLS) else ""
        if not others and finding.code in _READING and keeps_nothing_for_numbers(candidate):
            others = other_callers(site) or undeclared(site, _tensors(finding))
        is_shown_safe = entry.applicability is Applicability.SAFE and not others and is_shown(context)
        others = scripted_elsewhere(site) if is_shown_safe else others
        is_safe = is_shown_safe and not others
        reasons = () if is_safe else tuple(filter(None, (others, _unshown(candidate, finding))))
        display = entry.applicability is Applicability.DISPLAY
        applicability = entry.applicability if display or is_safe else Applicability.UNSAFE
        message = "; ".join((candidate.message, *candidate.notes, *reasons[:1]))
        fix = Fix(applicability, message, tuple(edits), candidate.move, candidate.claim, reasons)
        return replace(finding, fix=fix)
    return finding


def _unshown(candidate: Candidate, finding: Diagnostic) -> str:
    """What no text shows of a fix: the reason why none is safe that was not run, in one sentence."""
    sentences = knowledge().unshown
    sentence = sentences.get(finding.code) or sentences[candidate.move]
    return sentence.format(expression=" ".join(finding.expression.split()))


def _is_settled_by_the_text(candidate: Candidate, finding: Diagnostic, source: SourceFile) -> bool:
    if finding.code.startswith(_OF_CALLS):
        return True
    if candidate.claim is not Claim.EQUIVALENT or candidate.last_resort:
        return False
    return finding.code not in _WITHIN_THE_FINDING or all(
        finding.span.contains(edit.span) or not source.segment(edit.span).strip() for edit in candidate.edits
    )


def _types(site: Site, finding: Diagnostic) -> dict[str, TypeFact]:
    """The tensors among what the finding is about. `len()` is reported of tensors only; a number may be of any type."""
    known = {text: TypeFact("tensor") for text, kind in finding.kinds if kind == "tensor" and text}
    match site.node:
        case ast.Call(func=ast.Name(id="len"), args=[argument]):
            known[ast.unparse(argument)] = TypeFact("tensor")
    return known


def _reads_what_is_a_tensor(candidate: Candidate, finding: Diagnostic, site: Site) -> bool:
    """Whether a rewritten condition or cast reads tensors by `.item()`, and doesn't read numbers a second time.

    Moves guess where nothing says; a guess is for verification to judge, and there is none here.
    """
    if finding.code not in _READING:
        return True
    kinds = dict(finding.kinds)
    asked = kinds.get("")
    if asked is None or (finding.code in _CASTS and asked == "bool"):
        return False
    tensors = _tensors(finding)
    if any(_is_bound_again(site, text) or _is_number_at_times(site, text) for text in tensors):
        return False
    if any(_SHAPES.search(edit.content) for edit in candidate.edits):
        return False  # Python compares shapes element by element, and asks at once
    if finding.code not in _COUNTED:
        return True
    source = site.source
    test = site.decision if site.decision is not None and finding.code not in _CASTS else None
    before = source.segment(test) if test is not None else "".join(source.segment(e.span) for e in candidate.edits)
    after = "".join(edit.content for edit in candidate.edits)
    if finding.code == "DDE104" and before in after:
        after = after.replace(f"assert {before}", "", 1)  # eager keeps the assert itself
    more = after.count(".item()") - before.count(".item()")
    return more > 0 if asked == "tensor" or tensors else more == 0


def _tensors(finding: Diagnostic) -> list[str]:
    """The texts of the tensors that a finding names."""
    return [text for text, kind in finding.kinds if kind == "tensor" and text]


def _is_number_at_times(site: Site, text: str) -> bool:
    """Whether what is a tensor in the statement on one path, or for one caller, is a number on another."""
    nodes = (node for node in ast.walk(site.statement) if isinstance(node, ast.expr) and ast.unparse(node) == text)
    return any(may_be_number(site.source, node) for node in nodes)


def _is_bound_again(site: Site, text: str) -> bool:
    """Whether a name gets several values in its function: on another path it may be no tensor."""
    if not text.isidentifier() or site.function is None:
        return False
    return bindings(site.function, text) > 1
