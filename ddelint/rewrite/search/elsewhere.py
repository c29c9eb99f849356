"""Who takes a function that a candidate rewrites, or what it calls or raises, in another way than was run."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.reading.callers import compiled_callers, keeps_nothing_for_numbers, other_callers
from ddelint.rewrite.reading.handlers import may_be_caught
from ddelint.rewrite.reading.namespaces import gone_through
from ddelint.rewrite.reading.neighbours import Importers, is_test
from ddelint.rewrite.reading.overriding import overridden
from ddelint.rewrite.reading.scripting import scripted
from ddelint.rewrite.reading.tensor_classes import own_tensors
from ddelint.sources.sites import Block, Site
from ddelint.sources.source import SourceFile

CAUGHT = "something in the project may catch what is raised, which is another exception once compiled, or none"


def others_not_run(site: Site, candidate: Candidate, run: Collection[str], importing: Importers) -> str:
    """Which others take it otherwise, in words; empty where nobody does. `run`: the functions that were run."""

    def importing_but_tests(filename: str, name: str) -> Iterator[tuple[SourceFile, str]]:
        return ((file, called) for file, called in importing(filename, name) if not is_test(file.filename))

    if (also := scripted(site)) != "":
        return also
    is_checked = candidate.claim in (Claim.GENERAL_PATH, Claim.RESTRUCTURED)
    if is_checked and (heir := overridden(site, run, importing, calls_alone=candidate.claim is Claim.RESTRUCTURED)):
        return heir
    if (place := gone_through(candidate, site.source, importing)) != "":
        return place
    if is_checked and keeps_nothing_for_numbers(candidate) and (tensors := own_tensors(site, run, importing)) != "":
        return tensors
    raises = isinstance(site.statement, ast.Assert) or site.block is Block.RAISES
    if raises and may_be_caught(site, (), importing_but_tests):
        return CAUGHT
    if keeps_nothing_for_numbers(candidate):
        is_shortcut = candidate.claim is Claim.GENERAL_PATH
        return "" if is_shortcut else other_callers(site, run, importing)
    return compiled_callers(site, run, importing) if is_checked else ""
