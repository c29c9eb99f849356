"""The caches of a call: what the static pass found in its files, and the fixes that their texts alone support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ddelint.knowledge.cache import Cache, Content, content_of, stamp_of
from ddelint.nouns.readings import Reading
from ddelint.static.program.distributed import is_distributed
from ddelint.system.files import LARGE, read_regular

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic
    from ddelint.pipeline.gathering import Run
    from ddelint.static.program.project import Project


class Caches:
    """The caches of a call: one for each folder and set of options that findings depend on."""

    def __init__(self, run: Run, named: frozenset[str], project: Project | None) -> None:
        self._run = run
        self._named = named
        self._project = project
        self._caches: dict[tuple[str, str], Cache] = {}
        self._digests: dict[str, str | None] = {}

    def assumes(self, path: str) -> bool:
        """Whether all functions of the file are taken as compiled."""
        return self._run.options.at(path).assume_compiled

    def is_named(self, path: str) -> bool:
        """Whether somebody named the file: it is parsed in any case."""
        return path in self._named

    def _of(self, path: str, what: str = "") -> Cache:
        """The cache that holds `what` of the file: findings if nothing is said."""
        enabled = self._run.options.cache
        among = self._project.signature if self._project is not None and enabled else ""
        salt = f"assume compiled: {self.assumes(path)}, parse: {self.is_named(path)}, among: {among}"
        options = self._run.options.at(path)
        if not options.public_functions:
            salt += ", public functions: not compiled"
        elif enabled and is_distributed(path):
            salt += ", distributed"
        if options.compiled:
            salt += f", compiled: {options.compiled} in {options.root}"
        salt += what
        key = (options.cache_folder, salt)
        if key not in self._caches:
            self._caches[key] = Cache(options.cache_folder, salt, enabled)
        return self._caches[key]

    def known(self, path: str) -> tuple[Reading | None, tuple[str, ...]] | None:
        """What was read in the file, and which functions were taken as compiled by others; None: read it."""
        cache = self._of(path)
        if not cache.enabled:
            return None
        try:
            stamp = stamp_of(path)
            value = cache.get(path, stamp)
            if value is None and cache.holds(path):
                value = cache.get(path, stamp, read_regular(path, LARGE))
            if value is None:
                return None
            reading = _reading(value["reading"]) if "reading" in value else None
            roots = tuple(map(str, value.get("roots", ())))
        except (OSError, TypeError, ValueError, KeyError, AttributeError):
            return None
        return (reading, roots) if reading is None or self.are_as_they_were(reading.consulted) else None

    def are_as_they_were(self, consulted: Mapping[str, str | None]) -> bool:
        """Whether files have these digests still; None: whether there still is no such file in this call."""
        return all(self._is_as_it_was(*item) for item in consulted.items())

    def _is_as_it_was(self, path: str, digest: str | None) -> bool:
        held = self._project is not None and self._project.holds(path)
        if digest is None:
            return not held
        if not held:  # left out of this call: nothing is taken from it
            return False
        if path not in self._digests:
            self._digests[path] = self._digest(path)
        return self._digests[path] == digest

    def _digest(self, path: str) -> str | None:
        for cache in self._caches.values():
            try:
                known = cache.digest(path, stamp_of(path))
                if known is not None:
                    return known
            except OSError:
                return None
        try:
            return content_of(read_regular(path, LARGE), None).digest
        except OSError:
            return None

    def take(self, path: str, content: Content | None, reading: Reading | None, roots: tuple[str, ...]) -> None:
        """Remember what was read, with these functions taken as compiled by others."""
        cache = self._of(path)
        if content is None or not cache.enabled:
            return
        value: dict[str, Any] = {}
        if reading is not None:
            from ddelint.nouns.wire import to_wire

            value["reading"] = to_wire(reading)
        if roots:
            value["roots"] = list(roots)
        cache.put(path, content, value)

    def offers(self, path: str) -> Cache:
        """What holds the fixes that the text of the file supports (see known_offers)."""
        return self._of(path, ", offers")

    def save(self) -> None:
        """Write what is new."""
        problems: dict[str, None] = {}
        for cache in self._caches.values():
            cache.save()
            if cache.problem:
                problems[cache.problem] = None
        for problem in problems:
            self._run.progress.debug(f"the cache is not used: {problem}")


def _reading(value: Any) -> Reading:
    findings: tuple[Diagnostic, ...] = ()
    if value["findings"]:
        from ddelint.nouns.diagnostics import Diagnostic
        from ddelint.nouns.wire import from_wire

        findings = tuple(from_wire(Diagnostic, found) for found in value["findings"])
    reaches = tuple((own, file, function) for own, file, function in value["reaches"])
    return Reading(findings, value["comments"], reaches, value["consulted"])
