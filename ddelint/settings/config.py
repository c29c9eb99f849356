"""The configuration file: `[tool.ddelint]` in pyproject.toml, or ddelint.toml, whichever is nearest."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddelint.errors import DdelintError
from ddelint.knowledge import extensions
from ddelint.settings import rule_files
from ddelint.settings.options import (
    CACHE_FOLDER,
    DEFAULT_EXCLUDES,
    DEVICES,
    LONGEST_PATTERN,
    MOST_PATTERNS,
    TARGETS,
    CheckOptions,
    EntryOption,
    PerFileIgnore,
    Reference,
)
from ddelint.system.files import CONFIGURATIONS, leads_out, project_of, read_regular, read_toml

if TYPE_CHECKING:
    from ddelint.knowledge import catalog

OWN_FILE, SHARED_FILE = CONFIGURATIONS
MOST_EXTENDED = 20
"""Configurations on top of each other."""
_SIZE = r"\w++(?:\[[^\[\],]*+\]|\.[^\W\d]\w*+)*\.\d+"  # tokens.0, batch['tokens'].0


class ConfigError(DdelintError):
    """A setting (from a file or the command line) that cannot be used; the message is one line."""


@dataclass(frozen=True, slots=True)
class Config:
    """A configuration file as read: its settings under the names of `CheckOptions`."""

    path: Path | None
    root: Path
    settings: Mapping[str, Any] = field(default_factory=dict)
    extend_exclude: tuple[str, ...] = ()
    extends: tuple[Path, ...] = ()
    """The files that it builds on, nearest first."""


def suggestion(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` for the nearest known word, or nothing; of several, the one that begins alike."""
    import difflib  # slow to load

    near = difflib.get_close_matches(word, list(known), n=5, cutoff=0.6)
    if not near:
        return ""
    ratios = [difflib.SequenceMatcher(None, other, word).ratio() for other in near]
    nearest = [other for other, ratio in zip(near, ratios) if ratio == max(ratios)]
    best = max(nearest, key=lambda other: next((i for i, (a, b) in enumerate(zip(other, word)) if a != b), len(word)))
    return f" (did you mean `{best}`?)"


def code_prefixes(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """Check rule codes, prefixes of codes, rule names and `ALL`; return codes and prefixes.

    Raises ConfigError naming `where` for anything that matches no rule.
    """
    from ddelint.knowledge import catalog  # many calls name no rule

    codes = catalog.codes()
    found: list[str] = []
    for text in texts:
        word = text.strip()
        if word.upper() == "ALL":
            found += extensions.prefixes()
        elif word and any(code.startswith(word.upper()) for code in codes):
            found.append(word.upper())
        else:
            by_name = {rule.name: code for code, rule in catalog.rules().items()}
            if word.lower() not in by_name:
                raise ConfigError(f"{where}: no rule matches `{word}`{suggestion(word, [*codes, *by_name])}")
            found.append(by_name[word.lower()])
    return tuple(dict.fromkeys(found))


def known_rule(text: str) -> catalog.Rule:
    """The rule with this code or name. Raises ConfigError, with the nearest one, where there is none."""
    from ddelint.knowledge import catalog

    try:
        return catalog.rule(text.upper())
    except KeyError:
        by_name = {rule.name: rule for rule in catalog.rules().values()}
        if text.lower() in by_name:
            return by_name[text.lower()]
        near = suggestion(text.upper(), catalog.rules()) or suggestion(text.lower(), by_name)
        raise ConfigError(f"there is no rule `{text}`{near}") from None


def targets(texts: Iterable[str], where: str) -> tuple[str, ...]:
    """Check a list of targets. Raises ConfigError for an unknown one or an empty list."""
    chosen = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
    for text in chosen:
        if text not in TARGETS:
            raise ConfigError(f"{where}: unknown target `{text}`{suggestion(text, TARGETS)}")
    if not chosen:
        raise ConfigError(f"{where}: no target given, choose from {', '.join(TARGETS)}")
    return tuple(target for target in TARGETS if target in chosen)


def unbacked(text: str, where: str) -> str:
    """Check `none`, `all` or `NAME.DIM,…`; blanks are dropped. Raises ConfigError for anything else."""
    if not re.fullmatch(rf"none|all|{_SIZE}(?:,\s*+{_SIZE})*", text.strip()):
        raise ConfigError(f"{where}: `{text}` is neither `none`, `all` nor NAME.DIM,…")
    return re.sub(r",\s++", ",", text.strip())


def here(folder: Path) -> Path | None:
    """The configuration file in `folder` itself."""
    own, shared = folder / OWN_FILE, folder / SHARED_FILE
    if os.path.exists(own) and not os.path.isdir(own):  # not in a folder that cannot be read
        return _of_the_project(own)
    there = os.path.exists(shared) and not os.path.isdir(shared)
    return _of_the_project(shared) if there and _mentions_us(shared) and "ddelint" in _tools(shared) else None


def _of_the_project(path: Path) -> Path:
    """The file that nobody named. Raises ConfigError where it is a link that leads out of the project."""
    if os.path.islink(path) and leads_out(path, within := project_of(path.parent)):
        raise ConfigError(f"{path} is a link that leads out of {within}: name the file itself (--config FILE)")
    return path


def nearest(folder: Path) -> Path | None:
    """The configuration file that holds for `folder`: the first one found on the way up to the root."""
    return next((found for place in (folder, *folder.parents) if (found := here(place)) is not None), None)


def load(path: Path, below: tuple[Path, ...] = ()) -> Config:
    """Read one configuration file and what it extends. Raises ConfigError where it, or any key in it, cannot be used.

    `below`: the files that extend this one.
    """
    table = _table(_tools(path), "ddelint", f"{path}: `tool.ddelint`") if path.name == SHARED_FILE else _parse(path)
    root = path.resolve().parent
    settings: dict[str, Any] = {}
    extend_exclude: tuple[str, ...] = ()
    extended: Config | None = None
    if "extend-rules" in table:  # its rules may be selected
        extensions.add(_rule_files(table["extend-rules"], f"{path.name}: `extend-rules`", root))
    for key, value in table.items():
        where = f"{path.name}: `{key}`"
        if key == "extend":
            extended = _extended(path, value, where, root, below)
            continue
        if key not in _KEYS:
            raise ConfigError(f"{path}: unknown key `{key}`{suggestion(key, (*_KEYS, 'extend'))}")
        read = _KEYS[key](value, where, root)
        if key == "extend-exclude":
            extend_exclude = read
        else:
            settings["targets" if key == "target" else key.replace("-", "_")] = read
    return _over(extended, Config(path, root, settings, extend_exclude))


def _extended(path: Path, value: Any, where: str, root: Path, below: tuple[Path, ...]) -> Config:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be the name of a file")
    target = Path(os.path.normpath(root / Path(os.path.expanduser(value))))
    _require_inside(target, where, root)
    if not target.exists():
        raise ConfigError(f"{where}: no such file: {target}")
    chain = (*below, path.resolve())
    if target.resolve() in chain:
        raise ConfigError(f"{where}: {' extends '.join(str(file) for file in (*chain, target.resolve()))}")
    if len(chain) > MOST_EXTENDED:
        raise ConfigError(f"{where}: more than {MOST_EXTENDED} files that extend each other")
    return load(target, chain)


def _require_inside(path: Path, where: str, root: Path) -> None:
    """Raises ConfigError for a path, named in a configuration in `root`, that leads out of the project."""
    if leads_out(path, within := project_of(root)):
        raise ConfigError(f"{where}: {path} is outside of {within}, where a configuration may name no file")


def _over(extended: Config | None, own: Config) -> Config:
    """A configuration on top of the one that it extends: tables and `extend-…` add up, everything else is replaced."""
    if extended is None:
        return own
    settings = {**extended.settings, **own.settings}
    for name in ("extend_select", "per_file_ignores", "extend_rules"):
        settings[name] = (*extended.settings.get(name, ()), *own.settings.get(name, ()))
    entries = {entry.name: entry for config in (extended, own) for entry in config.settings.get("entries", ())}
    settings["entries"] = tuple(entries.values())
    exclude = (*extended.extend_exclude, *own.extend_exclude)
    files = tuple(file for file in (extended.path, *extended.extends) if file is not None)
    return Config(own.path, own.root, settings, exclude, files)


def discover(folder: Path) -> Config:
    """The nearest configuration for `folder`, or an empty one rooted there."""
    path = nearest(folder)
    return load(path) if path is not None else Config(None, folder)


def of_paths(paths: Sequence[str]) -> Config:
    """The configuration that holds for what all paths have in common."""
    places = [Path(os.path.abspath(path)) for path in paths]
    return discover(Path(os.path.commonpath([str(place if place.is_dir() else place.parent) for place in places])))


def resolve(config: Config, overrides: Mapping[str, Any], extend_exclude: tuple[str, ...] = ()) -> CheckOptions:
    """The command line's `overrides` (None: not given) over the file's settings over the defaults.

    A `select` on the command line starts afresh; without it, its `ignore` and `extend_select` add to the file's.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    settings = {**config.settings, **given}
    for name in ("ignore", "extend_select"):
        before = () if "select" in given else config.settings.get(name, ())
        settings[name] = (*before, *given.get(name, ()))
    named = [Path(path) for path in settings.get("extend_rules", ())]
    settings.setdefault("select", ("DDE", *extensions.codes_in(named)))
    exclude = (*settings.get("exclude", DEFAULT_EXCLUDES), *config.extend_exclude, *extend_exclude)
    settings["exclude"] = tuple(dict.fromkeys(exclude))
    options = replace(CheckOptions(root=str(config.root), cache_folder=str(config.root / CACHE_FOLDER)), **settings)
    if "jobs" not in settings:
        options = replace(options, jobs=os.cpu_count() or 1)
    return options


def to_toml(options: CheckOptions, source: Path | None, extends: Sequence[Path] = ()) -> str:
    """The resolved configuration as a ddelint.toml that would have the same effect."""
    origin = ", which extends ".join(str(path) for path in (source, *extends))
    lines = [f"# from {origin}" if source else "# no configuration file: these are the defaults"]
    values: dict[str, object] = {
        "select": options.select,
        "extend-select": options.extend_select,
        "ignore": options.ignore,
        "exclude": options.exclude,
        "force-exclude": options.force_exclude,
        "respect-gitignore": options.respect_gitignore,
        "assume-compiled": options.assume_compiled,
        "compiled": options.compiled,
        "public-functions": options.public_functions,
        "target": options.targets,
        "graph-breaks": options.graph_breaks,
        "samples": options.samples,
        "seed": options.seed,
        "device": options.device,
        "timeout": options.timeout,
    }
    values |= {"baseline": options.baseline} if options.baseline is not None else {}
    values |= {"extend-rules": options.extend_rules} if options.extend_rules else {}
    values |= {"gpu": options.gpu} if options.gpu else {}
    values |= {"unbacked": options.unbacked} if options.unbacked else {}
    values |= {"python": options.python} if options.python is not None else {}
    lines += [f"{key} = {_toml(value)}" for key, value in values.items()]
    lines += ["", "[per-file-ignores]"]
    lines += [f"{_toml(entry.pattern)} = {_toml(entry.codes)}" for entry in options.per_file_ignores]
    for entry in options.entries:
        lines += ["", f"[entries.{_toml(entry.name)}]"]
        for key in ("entry", "inputs", "init", "unbacked"):
            if (value := getattr(entry, key)) is not None:
                lines.append(f"{key} = {_toml(value)}")
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case tuple():
            return "[" + ", ".join(_toml(item) for item in value) + "]"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'


def _parse(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except ValueError as error:
        raise ConfigError(f"{path}: {error}") from error


def _mentions_us(path: Path) -> bool:
    try:
        return b"ddelint" in read_regular(path)
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path}: {error.strerror} (--config FILE takes another, --isolated none)")


def _tools(path: Path) -> dict[str, Any]:
    """The table `tool` of a file that several tools share."""
    return _table(_parse(path), "tool", f"{path}: `tool`")


def _table(parent: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    value = parent.get(key, {})
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table")
    return value


Reader = Callable[[Any, str, Path], Any]


def _strings(value: Any, where: str, root: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ConfigError(f"{where} must be a list of strings")
    return tuple(value)


def _codes(value: Any, where: str, root: Path) -> tuple[str, ...]:
    return code_prefixes(_strings(value, where, root), where)


def _targets(value: Any, where: str, root: Path) -> tuple[str, ...]:
    return targets(value.split(",") if isinstance(value, str) else _strings(value, where, root), where)


def _unbacked(value: Any, where: str, root: Path) -> str:
    if isinstance(value, list):
        value = ",".join(_strings(value, where, root))
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a string")
    return unbacked(value, where)


def _boolean(value: Any, where: str, root: Path) -> bool:
    if not isinstance(value, bool):
        raise ConfigError(f"{where} must be true or false")
    return value


def _integer(least: int) -> Reader:
    def read(value: Any, where: str, root: Path) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ConfigError(f"{where} must be an integer of at least {least}")
        return value

    return read


def _seconds(value: Any, where: str, root: Path) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
        raise ConfigError(f"{where} must be a number of seconds above 0")
    return float(value)


def gpu(value: str, where: str) -> str:
    """A GPU that is described, as it is called there. Raises ConfigError with all that are."""
    from ddelint.knowledge import gpus

    try:
        found = gpus.gpu_of(value)
    except gpus.UnknownGpu as error:
        raise ConfigError(f"{where}: {error}") from None
    return found.name if value.lower().replace(" ", "") == found.name.lower().replace(" ", "") else found.target


def _gpu(value: Any, where: str, root: Path) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a text, such as sm_90")
    return gpu(value, where)


def _device(value: Any, where: str, root: Path) -> str:
    if value not in DEVICES:
        raise ConfigError(f"{where} must be one of {', '.join(DEVICES)}")
    return str(value)


def _file(value: Any, where: str, root: Path) -> str:
    if not isinstance(value, str) or not value:
        raise ConfigError(f"{where} must be the name of a file")
    path = root / Path(os.path.expanduser(value))
    _require_inside(path, where, root)
    return str(path)


def _interpreter(value: Any, where: str, root: Path) -> str:
    if not isinstance(value, str):
        raise ConfigError(f"{where} must be a string")
    return str(root / value) if os.sep in value else value


def _per_file_ignores(value: Any, where: str, root: Path) -> tuple[PerFileIgnore, ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of pattern = [codes]")
    _require_few(value, where)
    _require_short(value, where)
    return tuple(PerFileIgnore(pattern, _codes(codes, f"{where}.{pattern}", root)) for pattern, codes in value.items())


def _patterns(value: Any, where: str, root: Path) -> tuple[str, ...]:
    patterns = _strings(value, where, root)
    _require_few(patterns, where)
    return patterns


def _require_few(patterns: Collection[str], where: str) -> None:
    """Raises ConfigError for more patterns than can be matched against each file."""
    if len(patterns) > MOST_PATTERNS:
        raise ConfigError(f"{where}: more than {MOST_PATTERNS} patterns")


def _require_short(patterns: Iterable[str], where: str) -> None:
    """Raises ConfigError for a pattern that is longer than any path."""
    if (long := next((pattern for pattern in patterns if len(pattern) > LONGEST_PATTERN), None)) is not None:
        raise ConfigError(f"{where}: `{long[:40]}…` has more than {LONGEST_PATTERN} characters")


def _entries(value: Any, where: str, root: Path) -> tuple[EntryOption, ...]:
    if not isinstance(value, dict):
        raise ConfigError(f"{where} must be a table of name = {{ entry = …, inputs = … }}")
    return tuple(_entry(name, table, f"{where}.{name}", root) for name, table in value.items())


def _entry(name: str, table: Any, where: str, root: Path) -> EntryOption:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} must be a table")
    known = ("entry", "inputs", "init", "unbacked")
    read: dict[str, str] = {}
    for key, value in table.items():
        if key not in known:
            raise ConfigError(f"{where}: unknown key `{key}`{suggestion(key, known)}")
        if key == "unbacked":
            read[key] = _unbacked(value, f"{where}.{key}", root)
        elif not isinstance(value, str):
            raise ConfigError(f"{where}.{key} must be a string")
        else:
            read[key] = absolute_reference(value, f"{where}.{key}", root)
    if "entry" not in read:
        raise ConfigError(f"{where} needs `entry`")
    if Reference.parse(read["entry"]).filename is None:
        raise ConfigError(f"{where}.entry must say its file: FILE.py:NAME")
    return EntryOption(name=name, **read)


def absolute_reference(text: str, where: str, root: Path) -> str:
    """`text` with its file made absolute. Raises ConfigError where it cannot be read."""
    try:
        reference = Reference.parse(text)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error
    if reference.filename is None:
        return text
    path = str(root / reference.filename)
    return f"{path}:{reference.name}" if reference.name else path


def _rule_files(value: Any, where: str, root: Path) -> tuple[Path, ...]:
    """The files that the patterns stand for. Raises ConfigError for a pattern that finds none, or leads outside."""
    patterns = _strings(value, where, root)
    _require_short(patterns, where)
    for pattern in patterns:
        _require_inside(rule_files.start(pattern, root), where, root)
    found = rule_files.matching(patterns, root)
    for pattern, files in found.items():
        if not files:
            raise ConfigError(f"{where}: no rule file matches `{pattern}` in {root}")
        for path in files:
            _require_inside(path, where, root)
    return tuple(dict.fromkeys(path for files in found.values() for path in files))


def _rule_names(value: Any, where: str, root: Path) -> tuple[str, ...]:
    return tuple(str(path) for path in _rule_files(value, where, root))


_KEYS: dict[str, Reader] = {
    "extend-rules": _rule_names,
    "select": _codes,
    "ignore": _codes,
    "extend-select": _codes,
    "per-file-ignores": _per_file_ignores,
    "exclude": _patterns,
    "extend-exclude": _patterns,
    "force-exclude": _boolean,
    "respect-gitignore": _boolean,
    "target": _targets,
    "graph-breaks": _boolean,
    "unbacked": _unbacked,
    "samples": _integer(1),
    "seed": _integer(0),
    "device": _device,
    "gpu": _gpu,
    "timeout": _seconds,
    "entries": _entries,
    "python": _interpreter,
    "baseline": _file,
    "assume-compiled": _boolean,
    "compiled": _strings,
    "public-functions": _boolean,
}
