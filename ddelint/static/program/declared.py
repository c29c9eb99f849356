"""What the lines of a file declare for others: imports, classes, functions, each read off the line it begins with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ddelint.static.program import scan
from ddelint.static.program.typed import declared_types
from ddelint.system.digests import digest_of


@dataclass(frozen=True, slots=True)
class Imported:
    """`from module import name` (`name` empty: the module itself), at a level of dots."""

    level: int
    module: str
    name: str


class ClassOutline:
    """A module-level class: the names of its bases, and its methods."""

    def __init__(self, bases: tuple[str, ...], text: str) -> None:
        self.bases = bases
        self._text = text
        self._asks: dict[str, bool] = {}

    @cached_property
    def methods(self) -> dict[str, str]:
        """Method → its text, from `def` to the next one."""
        found = [(indentation, place) for indentation, place in _first_on_lines(_FUNCTION, self._text) if indentation]
        if not found:
            return {}
        places = [place for indentation, place in found if indentation == found[0][0]]
        ends = [place.start() for place in places[1:]] + [len(self._text)]
        return {place.group(1): self._text[place.start() : end] for place, end in zip(places, ends, strict=True)}

    @cached_property
    def _kept(self) -> frozenset[str]:
        return scan.kept_tensors(self._text)

    @cached_property
    def made(self) -> frozenset[str]:
        """The attributes that it makes tensors: see `scan.made_tensors`."""
        return scan.made_tensors(self._text)

    def asks(self, method: str) -> bool:
        """Whether the text of a method may read or demand data."""
        if method not in self._asks:
            self._asks[method] = scan.asks(self.methods[method], self._kept)
        return self._asks[method]

    @cached_property
    def held(self) -> dict[str, frozenset[str]]:
        """Attribute → the (dotted) names of what is called to make it (`self.matcher = Matcher()`), or of its types."""
        found: dict[str, frozenset[str]] = dict(declared_types(self._text, self.methods.get("__init__", "")))
        for attribute, made in _HELD.findall(self._text):
            found[attribute] = found.get(attribute, frozenset()) | {made}
        return found

    @cached_property
    def declared(self) -> frozenset[str]:
        """The (dotted) names in what its attributes are declared to be, in its own body."""
        return frozenset(name for names in declared_types(self._text, "").values() for name in names)

    @cached_property
    def stored(self) -> dict[str, frozenset[str]]:
        """Attribute → the (dotted) names that stand where it is set and are not called there: `self.op = Fn.apply`."""
        found: dict[str, set[str]] = {}
        for attribute, value in _STORED.findall(self._text):
            found.setdefault(attribute, set()).update(_MENTIONED.findall(value))
        return {attribute: frozenset(names) for attribute, names in found.items()}

    @cached_property
    def set_to(self) -> dict[str, frozenset[str]]:
        """Attribute, or name of a method → the (dotted) names in all that it is set to, called there or not."""
        found: dict[str, set[str]] = {}
        for name, value in _STORED.findall(self._text):
            found.setdefault(name, set()).update(_NAMED.findall(value))
        return {name: frozenset(names) for name, names in found.items() if names}

    def returned(self, method: str) -> frozenset[str]:
        """The (dotted) names of what a method calls to make what it returns."""
        return frozenset(name for line in _RETURNED.findall(self.methods[method]) for name in _MADE.findall(line))


LONGEST_LIST = 10_000
"""Characters of an import's names in parentheses: what is longer was opened in a comment, and closes elsewhere."""

# An expression that begins with a word is looked for much faster than one that begins with a line. Each repeat is
# possessive or bounded: nothing is tried a second time, and an unfinished match ends soon.
_FROM = re.compile(r"from(?=[ \t.])[ \t]*+(\.*+)[ \t]*+(?:(?!import\b)([\w.]{1,500}+)[ \t]++)?import\b[ \t]*+")
_LISTED = re.compile(r"\((?:[^()#]++|#[^\n]*+)*\)|(?:[^\n#;\\]|\\\r?\n)*")
_IMPORT = re.compile(r"import[ \t]++([^\n#;]++)")
_NO_NAME = re.compile(r"#[^\n]*|\\")
_CLASS = re.compile(r"class[ \t]++(\w++)[ \t]*+(?:\(([^)]{0,4000}+)\)[ \t]*+)?:")
_FUNCTION = re.compile(r"def[ \t]++(\w++)")
_NEXT_STATEMENT = re.compile(r"\n[^\s#)\]}\"']")
_HELD = re.compile(r"self\.(\w++)(?::[^=\n]{0,300}+| )(?<= )= ([\w.]++)\(")


_STORED = re.compile(
    r"\n[ \t]++(?:self\.)?(\w++)(?::[^=\n]{0,300}+| )(?<= )"
    r"= (\{[^}]{0,4000}+\}|\[[^\]]{0,4000}+\]|[^\n]++)"
)
"""An attribute of an object or a class, and what it is set to."""
_BOUND = re.compile(r"\n(\w++)(?::[^=\n]{0,300}+| )(?<= )= (\{[^}]{0,4000}+\}|\[[^\]]{0,4000}+\]|[^\n]++)")
"""Likewise a name of the module."""
_LISTED_NAMES = re.compile(
    r"__all__(?<=\n__all__)(?::[^=\n]{0,200}+| )(?<= )= [\[(]([^\[\]()*]{0,50000}+)[\])][ \t]*+(?=#|\n|$)"
)
_QUOTED = re.compile(r"[\"'](\w++)[\"']")
_MENTIONED = re.compile(r"(?<![\w.\"'])([A-Za-z_][\w.]*+)(?![\w.(\"'])")
_NAMED = re.compile(r"(?<![\w.\"'])([A-Za-z_][\w.]*+)(?![\"'])")
_RETURNED = re.compile(r"\breturn ([^\n]++)")
_MADE = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*+)\(")


def _first_on_lines(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The matches that begin their line (or stand behind `async`), each with its indentation."""
    for match in pattern.finditer(text):
        start, end = _before_blanks(text, match.start()), match.start()
        if text[max(start - len("async"), 0) : start] == "async":
            end = start - len("async")
            start = _before_blanks(text, end)
        if not start or text[start - 1] == "\n":
            yield text[start:end], match


def _before_blanks(text: str, place: int) -> int:
    while place and text[place - 1] in " \t":
        place -= 1
    return place


def _at_the_margin(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return (match for indentation, match in _first_on_lines(pattern, text) if not indentation)


def _imports_in(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    """Imports, those at the margin last: where a name is bound twice they count, not an example in a docstring.

    Before one there may be other statements on its line, or `try:`.
    """
    indented: list[re.Match[str]] = []
    others: list[re.Match[str]] = []
    for match in pattern.finditer(text):
        before = _before_blanks(text, match.start())
        if not before or text[before - 1] in "\n;:":
            line = text.rfind("\n", 0, match.start()) + 1
            (indented if text[line] in " \t" else others).append(match)
    return [*indented, *others]


class Outline:
    """The lines of a file that other files may ask about."""

    def __init__(self, data: bytes) -> None:
        self.text = data.decode("utf-8", errors="replace").replace("\r\n", "\n")
        self.digest = digest_of(data)
        self._asks: dict[str, bool] = {}

    @cached_property
    def imports(self) -> dict[str, Imported]:
        """Name → where it comes from. Star imports are in `stars`."""
        found: dict[str, Imported] = {}
        for match in _imports_in(_IMPORT, self.text):
            for part in match.group(1).split(","):
                name, _, alias = (word.strip() for word in part.partition(" as "))
                bound = alias or name.partition(".")[0]
                found[bound] = Imported(0, name if alias else bound, "")
        for dots, module, names in self._froms:
            for name, alias in names:
                if name != "*":
                    found[alias or name] = Imported(len(dots), module, name)
        return found

    @cached_property
    def stars(self) -> list[Imported]:
        """The modules of which everything is imported."""
        return [Imported(len(d), m, "") for d, m, names in self._froms if ("*", "") in names]

    @cached_property
    def _froms(self) -> list[tuple[str, str, list[tuple[str, str]]]]:
        found = []
        for match in _imports_in(_FROM, self.text):
            found_list = _LISTED.match(self.text, match.end(), match.end() + LONGEST_LIST)
            listed = _NO_NAME.sub("", found_list.group() if found_list else "").strip("() \t\r\n")
            names = [part.split() for part in listed.split(",")]
            pairs = [(words[0], words[2] if len(words) == 3 else "") for words in names if words]
            found.append((match.group(1), match.group(2) or "", pairs))
        return found

    @cached_property
    def classes(self) -> dict[str, ClassOutline]:
        """The module-level classes."""
        found: dict[str, ClassOutline] = {}
        for match in _at_the_margin(_CLASS, self.text):
            end = _NEXT_STATEMENT.search(self.text, match.end())
            bases = [base.partition("[")[0].strip() for base in (match.group(2) or "").split(",")]
            named = [base for base in bases if base and "=" not in base]
            names = tuple(base if re.fullmatch(r"[\w.]+", base) else "?" for base in named)  # ?: anything
            found[match.group(1)] = ClassOutline(names, self.text[match.start() : end.start() + 1 if end else None])
        return found

    @cached_property
    def bound(self) -> dict[str, frozenset[str]]:
        """Name of the module → the (dotted) names in what it is bound to that are not called: `OPS = {"a": one}`."""
        found: dict[str, set[str]] = {}
        for name, value in _BOUND.findall(self.text):
            found.setdefault(name, set()).update(_MENTIONED.findall(value))
        return {name: frozenset(names) for name, names in found.items() if names}

    @cached_property
    def listed(self) -> frozenset[str] | None:
        """What the file says is for others, `__all__`; None where it does not say, or computes that."""
        if self.text.count("__all__") != 1:
            return None
        found = _LISTED_NAMES.search(self.text)
        return frozenset(_QUOTED.findall(found[1])) or None if found is not None else None

    @cached_property
    def functions(self) -> frozenset[str]:
        """The names of the module-level functions."""
        return frozenset(match.group(1) for match in self._functions)

    @cached_property
    def _functions(self) -> list[re.Match[str]]:
        return list(_at_the_margin(_FUNCTION, self.text))

    @cached_property
    def function_texts(self) -> dict[str, str]:
        """Module-level function → its text, from `def` to the next statement; that of the last one of a name."""
        found: dict[str, str] = {}
        for match in self._functions:
            header = self.text.find(":", match.end())  # behind a `)` at the margin, too
            end = _NEXT_STATEMENT.search(self.text, header if header > 0 else match.end())
            found[match.group(1)] = self.text[match.start() : end.start() + 1 if end else None]
        return found

    def called(self, function: str) -> frozenset[str]:
        """The names that a module-level function calls."""
        return frozenset(_MADE.findall(scan.without_prose(self.function_texts.get(function, ""))))

    def asks(self, function: str) -> bool:
        """Whether the text of a module-level function may read or demand data."""
        if function not in self._asks:
            self._asks[function] = scan.asks(self.function_texts.get(function, ""), self._kept)
        return self._asks[function]

    @cached_property
    def _kept(self) -> frozenset[str]:
        return scan.kept_tensors(self.text)
