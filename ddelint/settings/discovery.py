"""Which files a call is about, as git would list them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ddelint.errors import DdelintError
from ddelint.settings.options import CheckOptions
from ddelint.system.files import leads_out, read_regular, repository_of

if TYPE_CHECKING:
    from ddelint.settings.ignore_patterns import IgnorePatterns

STDIN = "-"


class DiscoveryError(DdelintError):
    """A path that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """The files of a call: absolute, without duplicates, sorted within each given path."""

    files: tuple[Path, ...]
    warnings: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    """What cannot be read, where the rest can."""


def python_files(paths: Sequence[str], options: CheckOptions) -> Discovered:
    """The Python files under `paths`: a file as given, a folder walked without what git or `exclude` leaves out.

    A file given by name is taken whatever it is called, and although it is excluded, unless `force_exclude`.
    Links to folders are not followed. Raises DiscoveryError for a path that does not exist.
    """
    found: dict[Path, None] = {}
    warnings: list[str] = []
    errors: list[str] = []
    reported: list[str] = []
    for text in paths:
        path = Path(os.path.abspath(text))
        if not os.path.exists(path):
            raise DiscoveryError(f"no such file or folder: {text}")
        if path.is_dir():
            before = len(found), len(errors)
            own = options.within(str(path))
            found.update(dict.fromkeys(_walk(path, _Exclusions.above(path, own, reported), own, errors)))
            if (len(found), len(errors)) == before:
                warnings.append(f"no Python files found under {text}")
        elif not is_left_out(path, options, reported):
            found[path] = None
    return Discovered(tuple(found), tuple(dict.fromkeys((*warnings, *reported))), tuple(errors))


def is_left_out(path: Path, options: CheckOptions, warnings: list[str]) -> bool:
    """Whether a file that was given by name (absolute; it need not be there) is left out all the same.

    `warnings` take what cannot be obeyed.
    """
    own = options.at(str(path))
    return own.force_exclude and _Exclusions.above(path, own, warnings).leave_out(path, folder=False)


def _walk(folder: Path, rules: _Exclusions, options: CheckOptions, errors: list[str]) -> Iterator[Path]:
    """The files of a folder in the order of their names, without recursion: folders nest as deep as paths are long."""
    listed = [_listed(folder, rules, options, errors)]
    while listed:
        found = next(listed[-1], None)
        if found is None:
            listed.pop()
            continue
        path, is_folder, within, own = found
        if is_folder:
            listed.append(_listed(path, within, own, errors))
        else:
            yield path


def _listed(
    folder: Path, rules: _Exclusions, options: CheckOptions, errors: list[str]
) -> Iterator[tuple[Path, bool, _Exclusions, CheckOptions]]:
    """What is not left out of a folder: each path, whether it is a folder, and what holds there."""
    own = options.within(str(folder))
    if own.exclude != options.exclude or own.root != options.root:
        rules = rules.configured_by(own)
    rules = rules.entering(folder) if own.respect_gitignore else rules
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        errors.append(f"cannot read {folder}: {error.strerror}")
        return
    for entry in entries:
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not (entry.name.endswith(".py") and _is_file(entry)):
            continue
        path = folder / entry.name
        if not rules.leave_out(path, is_folder):
            yield path, is_folder, rules, own


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link that leads to itself, as one that leads nowhere
        return False


@dataclass(frozen=True, slots=True)
class _Exclusions:
    """What is left out: the configured patterns, and ignore files from the repository's root inwards."""

    configured: tuple[Path, IgnorePatterns] | None
    ignore_files: tuple[tuple[Path, IgnorePatterns], ...]
    within: Path | None
    """The repository."""
    warnings: list[str]
    """What is to be said of patterns and files that cannot be obeyed."""

    @classmethod
    def above(cls, path: Path, options: CheckOptions, warnings: list[str]) -> _Exclusions:
        """What holds at `path`, before its own ignore file.

        Without `force_exclude`, whatever would leave out `path` itself does not count: it was asked for.
        """
        root = Path(options.root) if options.root and path.is_relative_to(options.root) else path.parent
        configured = _configured(root, options, warnings)
        ignore_files: list[tuple[Path, IgnorePatterns]] = []
        repository = repository_of(path) if options.respect_gitignore else None
        if repository is not None:
            exclude = repository / ".git" / "info" / "exclude"  # not checked in: it may lie elsewhere
            ignore_files += _ignore_file(repository, exclude, None, warnings)
            for folder in reversed([p for p in path.parents if p.is_relative_to(repository)]):
                ignore_files += _ignore_file(folder, folder / ".gitignore", repository, warnings)
        if options.force_exclude:
            return cls(configured, tuple(ignore_files), repository, warnings)
        is_folder = path.is_dir()
        return cls(
            None if _verdict(configured, path, is_folder) else configured,
            tuple(spec for spec in ignore_files if not _verdict(spec, path, is_folder)),
            repository,
            warnings,
        )

    def configured_by(self, options: CheckOptions) -> _Exclusions:
        """The same with the patterns of another configuration, which is nearer."""
        return replace(self, configured=_configured(Path(options.root), options, self.warnings))

    def entering(self, folder: Path) -> _Exclusions:
        """The same with the ignore file of `folder`, where it has one."""
        own = _ignore_file(folder, folder / ".gitignore", self.within or folder, self.warnings)
        return replace(self, ignore_files=(*self.ignore_files, *own)) if own else self

    def leave_out(self, path: Path, folder: bool) -> bool:
        """Whether `path` is left out; the innermost ignore file that has a word on it decides."""
        if self.configured is not None and _verdict(self.configured, path, folder):
            return True
        for spec in reversed(self.ignore_files):
            verdict = _verdict(spec, path, folder)
            if verdict is not None:
                return verdict
        return False


def _configured(root: Path, options: CheckOptions, warnings: list[str]) -> tuple[Path, IgnorePatterns]:
    patterns = _patterns(options.exclude)
    warnings += (f"the pattern `{pattern}` of `exclude` is not obeyed" for pattern in patterns.refused)
    return root, patterns


def _patterns(lines: Sequence[str]) -> IgnorePatterns:
    from ddelint.settings.ignore_patterns import ignore_patterns  # a file given by name doesn't pay for it

    return ignore_patterns(tuple(lines))


def _verdict(spec: tuple[Path, IgnorePatterns], path: Path, folder: bool) -> bool | None:
    base, patterns = spec
    if not path.is_relative_to(base) or path == base:
        return None
    return patterns.verdict(path.relative_to(base).as_posix(), folder)


def _ignore_file(base: Path, path: Path, within: Path | None, warnings: list[str]) -> list[tuple[Path, IgnorePatterns]]:
    """The patterns of an ignore file, as against `base`; one that is a link leads nowhere outside of `within`."""
    try:
        if within is not None and os.path.islink(path) and leads_out(path, within):
            raise OSError(f"it is a link that leads out of {within}")
        text = read_regular(path).decode(errors="replace")
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # a closed folder is the walk's to report
        return []
    except OSError as error:
        warnings.append(f"{path} is not obeyed: {error.strerror or error}")
        return []
    patterns = _patterns(text.splitlines())
    warnings += (f"{path}: the pattern `{pattern}` is not obeyed" for pattern in patterns.refused)
    return [(base, patterns)]
