"""In a repository of several projects, each file obeys the configuration that is nearest to it.

That holds for what is decided file by file (which rules, what is left out, what counts as compiled). Settings of the
call as a whole (targets, samples, time limits) come from the configuration that all given paths share.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ddelint.settings import config
from ddelint.settings.options import CheckOptions, EntryOption

BY_FILE = (
    "select",
    "extend_select",
    "ignore",
    "per_file_ignores",
    "assume_compiled",
    "compiled",
    "public_functions",
    "exclude",
    "force_exclude",
    "respect_gitignore",
    "root",
)
"""What the nearest configuration decides."""


@dataclass
class Layers:
    """The configurations below (and above) the one of the call."""

    path: Path | None
    """The call's own configuration file."""
    overrides: Mapping[str, Any]
    """What the command line says, which goes on top of each."""
    extend_exclude: tuple[str, ...] = ()
    _files: dict[Path, Path | None] = field(default_factory=dict)
    _options: dict[Path, CheckOptions] = field(default_factory=dict)
    _entries: dict[Path, tuple[EntryOption, ...]] = field(default_factory=dict)

    @property
    def entries(self) -> tuple[EntryOption, ...]:
        """The entries of all configurations that were met so far, the call's own not among them."""
        return tuple(entry for entries in self._entries.values() for entry in entries)

    def options_for(self, folder: Path, call: CheckOptions) -> CheckOptions:
        """The options that hold in `folder`. Raises ConfigError for a configuration that cannot be used."""
        path = self._nearest(folder)
        if path is None or (self.path is not None and os.path.samefile(path, self.path)):
            return call
        known = self._options.get(path)
        if known is None:
            nearest = config.resolve(config.load(path), self.overrides, self.extend_exclude)
            known = replace(call, **{name: getattr(nearest, name) for name in BY_FILE})
            self._options[path] = known
            self._entries[path] = nearest.entries
        return known

    def _nearest(self, folder: Path) -> Path | None:
        """As `config.nearest`, each folder looked at once."""
        if folder not in self._files:
            here = config.here(folder)
            above = self._nearest(folder.parent) if here is None and folder.parent != folder else None
            self._files[folder] = here if here is not None else above
        return self._files[folder]


def with_layers(
    found: config.Config, overrides: Mapping[str, Any], extend_exclude: tuple[str, ...], pinned: bool
) -> CheckOptions:
    """The call's options; unless `pinned` to one configuration, with what holds for each file."""
    options = config.resolve(found, overrides, extend_exclude)
    return options if pinned else replace(options, layers=Layers(found.path, overrides, extend_exclude))
