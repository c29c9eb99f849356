"""What one call was asked to do: the command line merged over the configuration. Frozen, and cheap to import."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Protocol

DEFAULT_TARGETS = ("export", "compile")
TARGETS = ("export", "strict", "compile")
FORMATS = (
    "full", "concise", "json", "json-lines", "sarif", "github", "github-review", "gitlab", "junit", "markdown",
    "html",
)  # fmt: skip
DEVICES = ("auto", "cpu", "cuda")
SAVED_INPUTS = ".safetensors"
"""What a file of saved inputs ends in."""
REFERRED = (".py", SAVED_INPUTS)
"""What the FILE of a `FILE:NAME` ends in."""
CACHE_FOLDER = ".ddelint_cache"
MOST_PATTERNS = 1000
"""Of one ignore file or one setting: each is matched against each file."""
LONGEST_PATTERN = 4096
"""Characters of a glob; no path is longer."""
DEFAULT_EXCLUDES = (
    ".bzr", ".ddelint_cache", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", ".vscode", "__pycache__", "__pypackages__", "_build",
    "build", "dist", "node_modules", "site-packages", "venv",
)  # fmt: skip
"""What a folder's walk leaves out, as other Python linters do."""


class Mode(StrEnum):
    """Which passes run."""

    DEFAULT = "default"
    """Static, plus trace where a file offers an entry."""
    STATIC = "static"
    """Nothing of the user's code is executed."""
    TRACE = "trace"
    """As default, but a call without any entry is an error."""


@dataclass(frozen=True, slots=True)
class Reference:
    """`FILE.py:NAME` (or `FILE.safetensors:NAME`) taken apart; either half may be missing."""

    filename: str | None
    name: str | None

    @classmethod
    def parse(cls, text: str) -> Reference:
        """Read `FILE.py:NAME`, `FILE.py` or `NAME`. Raises ValueError where NAME is not a (dotted) name."""
        head, colon, name = text.rpartition(":")
        if not colon or not head.endswith(REFERRED):
            if text.endswith(REFERRED):
                return cls(text, None)
            head, name = "", text
        if not all(part.isidentifier() for part in name.split(".")):
            raise ValueError(f"`{text}` is neither FILE.py:NAME nor NAME")
        return cls(head or None, name)


@dataclass(frozen=True, slots=True)
class EntryOption:
    """An entry somebody named: on the command line (`name` empty) or under `[tool.ddelint.entries]`.

    `entry`, `inputs` and `init` read `FILE.py:NAME`, `FILE.py` or `NAME` (see Reference), FILE made absolute.
    None: as the file offers it.
    """

    name: str = ""
    entry: str | None = None
    inputs: str | None = None
    init: str | None = None
    unbacked: str | None = None
    """`none`, `all` or `NAME.DIM,…`; None: what the call as a whole says."""


@dataclass(frozen=True, slots=True)
class PerFileIgnore:
    """Codes (prefixes) that don't count in files matching `pattern`, a glob relative to the project's root."""

    pattern: str
    codes: tuple[str, ...]

    def applies(self, filename: str, root: str) -> bool:
        """Whether `filename` (absolute, or relative to the working directory) matches the pattern."""
        path = PurePath(filename)
        if root and path.is_absolute() and path.is_relative_to(root):
            path = path.relative_to(root)
        return matches(path, self.pattern)


class ByFolder(Protocol):
    """Options that differ between folders."""

    @property
    def entries(self) -> tuple[EntryOption, ...]:
        """Entries of the configurations that were met so far."""
        ...

    def options_for(self, folder: Path, call: CheckOptions) -> CheckOptions:
        """What holds for the files of `folder` in a call with these options."""
        ...


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """Everything `check` and `verify` must know. Paths in it are absolute unless said otherwise."""

    mode: Mode = Mode.DEFAULT
    fix: bool = False
    """Write the fixes."""
    unsafe_fixes: bool = False
    """Take unsafe fixes, too (with `fix`: write them; with `diff`: show them)."""
    suggest: bool = True
    """Work out fixes; without, findings are only found and explained."""
    timings: bool = False
    """Say where the time of traced runs went."""
    diff: bool = False
    """Compute the diff of what would be written; write nothing."""
    patch: bool = False
    """The patch of what would be written is asked for."""
    diff_base: str | None = None
    """A git revision: only findings on lines that have changed since count."""
    entry: EntryOption | None = None
    """From `--entry`, `--inputs`, `--init`; None where none of them was given."""
    entries: tuple[EntryOption, ...] = ()
    """From the configuration; they count only where `entry` is None."""
    targets: tuple[str, ...] = DEFAULT_TARGETS
    unbacked: str = ""
    """`none`, `all`, `NAME.DIM,…`; empty: as the entry's file says."""
    guards: bool = False
    """Report also which lines guard on input sizes, and what recompiles."""
    graph_breaks: bool = False
    """Where no rewrite helps and only `compile` is wanted, the region may leave the graph."""
    cpp: bool = False
    """Show the C++ functions between a call and a question."""
    samples: int = 64
    seed: int = 0
    device: str = "auto"
    gpu: str = ""
    """Whose code is made and interpreted where there is no device (`sm_90`, `H100`); empty: as `device` says."""
    python: str | None = None
    """The interpreter that traces; None: this one."""
    timeout: float = 300.0
    """Seconds for one entry."""
    memory: int = 8 * 2**30
    """Bytes that one request to the worker may add."""
    select: tuple[str, ...] = ("DDE",)
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_rules: tuple[str, ...] = ()
    """Rule files of others, absolute."""
    per_file_ignores: tuple[PerFileIgnore, ...] = ()
    assume_compiled: bool = False
    """The static pass treats every function as compiled, not only what `forward` or a decorator reaches."""
    compiled: tuple[str, ...] = ()
    """Patterns for the dotted names of functions and methods that are compiled, too."""
    public_functions: bool = True
    """Public functions of a package that take and give tensors count as compiled: its users do it."""
    exclude: tuple[str, ...] = DEFAULT_EXCLUDES
    """Patterns in gitignore syntax, relative to `root`."""
    force_exclude: bool = False
    respect_gitignore: bool = True
    cache: bool = True
    cache_folder: str = CACHE_FOLDER
    """Absolute once resolved by the configuration."""
    lasting: bool = True
    """Where `ddelint start` was called: torch is loaded once for several calls."""
    jobs: int = 1
    root: str = ""
    """The folder of the configuration file, else the working directory."""
    stdin: bytes | None = None
    """The source given on standard input (PATH `-`)."""
    stdin_filename: str | None = None
    """The name that `stdin` goes by; with it, and no other path, nothing is read from disk or written."""
    verbose: int = 0
    quiet: bool = False
    baseline: str | None = None
    """A file of known findings, which are not reported."""
    write_baseline: str | None = None
    """Where all that is found becomes known."""
    layers: ByFolder | None = field(default=None, repr=False, compare=False)
    """What other configurations say of the files that they are nearest to."""

    def at(self, filename: str) -> CheckOptions:
        """The options that hold for one file. Raises ConfigError where its configuration cannot be used."""
        return self.within(os.path.dirname(filename))

    def within(self, folder: str) -> CheckOptions:
        """The options that hold for the files of a folder, as `at`."""
        return self if self.layers is None else self.layers.options_for(Path(folder), self)

    def selects(self, code: str, filename: str = "") -> bool:
        """Whether findings of `code` in `filename` count: of two prefixes that match, the longer decides.

        A tie goes to `ignore`. The rules about the run itself (DDE001, DDE002) obey like all others.
        """
        return self._length(code, (*self.select, *self.extend_select)) >= 0 and not self.ignores(code, filename)

    def ignores(self, code: str, filename: str = "") -> bool:
        """Whether findings of `code` in `filename` are not wanted, as against not asked for."""
        ignored = self._length(code, self.ignore)
        if ignored >= max(0, self._length(code, (*self.select, *self.extend_select))):
            return True
        return any(
            code.startswith(prefix)
            for entry in self.per_file_ignores
            if entry.applies(filename, self.root)
            for prefix in entry.codes
        )

    @staticmethod
    def _length(code: str, prefixes: Iterable[str]) -> int:
        """Of the longest prefix that matches; -1 where none does."""
        return max((len(prefix) for prefix in prefixes if code.startswith(prefix)), default=-1)

    def names(self, code: str) -> bool:
        """Whether the rule, or a group that is smaller than all of ours, is chosen by name: `DDE3`, not `DDE`."""
        return any(
            code.startswith(prefix) and len(prefix) > len("DDE") for prefix in (*self.select, *self.extend_select)
        )


def matches(path: PurePath, pattern: str) -> bool:
    """Whether a relative path matches a glob: `tests/*`, `*.py`, `**/generated/**`, `__init__.py`.

    A pattern without a slash is held against each part of the path, one with a slash against the path from
    its root; `*` crosses folders only as `**`.
    """
    from ddelint.settings.globs import glob  # most configurations have none

    wanted = glob(pattern.strip("/"))
    if "/" not in pattern.strip("/"):
        return any(wanted.matches(part) for part in path.parts)
    return wanted.matches(path.as_posix(), or_inside=True)
