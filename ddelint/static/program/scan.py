"""The scan that comes before any parsing: can this text hold a source or a sink at all?

Each expression begins with a literal or runs once over the text, which is what makes it fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators

LONGEST_TEST = 500
"""Characters of a test before what it compares."""

_WORD = re.compile(r"\w")
_WORDS = re.compile(r"\w++")
_HANDED_ON = re.compile(r"\s*[(,)\[\]}]|[ \t]*(?:#[^\n]*)?(?:\r?\n|$)")
_TESTED_ATTRIBUTE = re.compile(
    r"\b(?:if|while|assert|and|or|not) [^\n]{0,500}?\bself\.(\w++)"
    r"(?:[^\S\n]{0,99}+\n|\s{0,99}+(?:[<>:]|[=!]=|%|and\b|or\b|else\b))"
)
_NOQA = re.compile(rb"noqa:[^\n]{0,1000}?\bDDE\d", re.IGNORECASE)
_FROM_TORCH = re.compile(r"from torch[\w.]{0,100}+ import (\([^)]{0,4000}+\)|[^(\n]{1,1000}+)")
_NAMED = re.compile(r"(\w++)(?:[ \t]{1,20}+as[ \t]{1,20}+(\w++))?")
_GIVE_ONE_NUMBER = frozenset(("reduction", "zero_dimensional"))
"""Shapes of answers, as in operators.toml."""
_GIVEN_NOTHING = re.compile(r"[\"'],\s{0,99}+(?:\w++=)?(?:None\b|\[)")
_PROSE = re.compile(
    r'''"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|"(?:[^"\\\n]|\\[\s\S])*"|'(?:[^'\\\n]|\\[\s\S])*'|#[^\n]*'''
)
"""Strings and comments: words in them call nothing."""


def might_matter(data: bytes, assume_compiled: bool = False) -> bool:
    """Whether a file's bytes can hold a finding (or a suppression) at all. False is certain, True is a guess.

    With `assume_compiled` nothing in the file needs to say that it is compiled.
    """
    return (assume_compiled or may_be_compiled(data)) and may_read(data)


def may_be_compiled(data: bytes) -> bool:
    """Whether a file's bytes say that something in it is compiled, or hold what is found wherever it stands."""
    known = operators()
    return any(token in data for token in (*known.region_tokens, *known.always_tokens)) or holds_comments(data)


def may_read(data: bytes) -> bool:
    """Whether a file's bytes can hold a finding, whoever compiles it."""
    known = operators()
    if holds_comments(data):
        return True
    if not any(token in data for token in known.framework_tokens):
        return False
    if any(token in data for token in known.always_tokens):
        return True
    text = data.decode("latin-1")
    return asks(text, kept_tensors(text)) or any(call in text for call in imported_calls(text))


def holds_comments(data: bytes) -> bool:
    """Whether a file's bytes may hold comments that silence findings, or words that some rule finds anywhere."""
    if any(token in data for token in operators().comment_tokens):
        return True
    return (b"noqa" in data or b"NOQA" in data) and _NOQA.search(data) is not None


def asks(text: str, kept: frozenset[str] = frozenset(), tensor_calls: Sequence[str] = ()) -> bool:
    """Whether the text may read data; `kept`: as `kept_tensors` says of its file; `tensor_calls` give tensors."""
    text = text.replace("\r\n", "\n")
    read = _reads(text) and _reads(without_prose(text))
    return read or _tested_tensor(text, tensor_calls) or tests_one_of(kept, text)


def _reads(text: str) -> bool:
    known = operators()
    if known.source_calls.search(text) is not None:
        return True
    if any(pattern.search(text) for pattern in known.source_patterns):
        return True
    return _iterates(text) or _tested_element(text) or _kept(text)


def _iterates(text: str) -> bool:
    """Whether rows of a tensor may be gone through: not where the name is only bound to what the object holds."""
    names = {match.group(1) for pattern in operators().iterations for match in pattern.finditer(text)}
    return any(not name or not _is_held(name, text) for name in names)


def _is_held(name: str, text: str) -> bool:
    """Whether a name is bound, and everywhere to an attribute of the object: `blocks = self.blocks[:3]`."""
    bound = f"{name} = "
    places = [place for place in _places(bound, text) if not _WORD.match(text, max(place - 1, 0), place)]
    return bool(places) and all(text.startswith("self.", place + len(bound)) for place in places)


def _places(words: str, text: str) -> Iterator[int]:
    """The offsets at which the words stand."""
    place = text.find(words)
    while place >= 0:
        yield place
        place = text.find(words, place + 1)


def unvalidated(text: str) -> bool:
    """Whether a file switches off what else asks whether arguments fit: `set_default_validate_args(False)`."""
    switches = operators().regions["validating_switches"]
    return any(f"{name}(False)" in text and f"{name}(False)" in without_prose(text) for name in switches)


def imported_calls(text: str) -> tuple[str, ...]:
    """How a file calls functions of torch that it imports by name, and that may give one number: `norm(`."""
    known = operators()
    return tuple(
        f"{alias or name}("
        for names in _FROM_TORCH.findall(text)
        for name, alias in _NAMED.findall(names)
        if name in known.source_names or known.returns.get(name) in _GIVE_ONE_NUMBER
    )


@lru_cache(maxsize=256)
def without_prose(text: str) -> str:
    """The text with empty strings in place of its strings, and without comments; f-strings hold expressions."""

    def kept(match: re.Match[str]) -> str:
        found, start = match.group(), match.start()
        if found[0] == "#":
            return ""
        prefix = text[max(start - 2, 0) : start].lower()
        return found if prefix.endswith("f") or prefix == "fr" else '""'

    return _PROSE.sub(kept, text)


def kept_tensors(text: str) -> frozenset[str]:
    """The attributes that a file makes buffers or parameters, or declares: they are tensors in every method."""
    return frozenset(
        match.group(1)
        for makers, pattern in _kept_tensor()
        if any(maker in text for maker in makers)
        for match in pattern.finditer(text)
    )


def made_tensors(text: str) -> frozenset[str]:
    """The attributes that a class surely makes buffers or parameters wherever it sets them."""
    *makers, _ = _kept_tensor()  # what is declared on a line of its own may be a parameter
    found = {
        match.group(1)
        for words, pattern in makers
        if any(word in text for word in words)
        for match in pattern.finditer(text)
        if not _GIVEN_NOTHING.match(text, match.end())
    }
    sets = makers[-1][1]
    return frozenset(
        name
        for name in found
        if all(
            sets.match(text, place) and " if " not in text[place : text.find("\n", place)]
            for place in _places(f"self.{name} = ", text)
        )
    )


@extensions.remembered
def _kept_tensor() -> list[tuple[list[str], re.Pattern[str]]]:
    """How one is made, each way with words of which one stands in any such text: to look for these costs little."""
    regions = operators().regions
    made = sorted({name.rpartition(".")[2] for name in regions["parameters"]})
    assigned = rf"self\.(\w++)(?::[^=\n]{{0,300}}+| )(?<= )= (?:\w++\.)*(?:{'|'.join(made)})\("
    tensors = "|".join(sorted(operators().annotations["tensor"]))
    return [
        *(([name], re.compile(rf"{name}\(\s*[\"'](\w+)")) for name in sorted(regions["buffer_methods"])),
        ([f"{name}(" for name in made], re.compile(assigned)),
        (["Tensor"], re.compile(rf"\n[ \t]++(\w++): (?:\w++\.)*(?:{tensors})\b")),
    ]


def tests_one_of(names: frozenset[str], text: str) -> bool:
    """Whether a test is about one of these attributes, as it is or compared: `if self.steps > 10`."""
    return bool(names) and any(match.group(1) in names for match in _TESTED_ATTRIBUTE.finditer(text))


def places_that_use(name: str, text: str) -> list[int]:
    """The offsets at which a name is called, handed on, or looked up in an object."""
    found: list[int] = []
    length = len(name)
    place = text.find(name)
    while place >= 0:
        end = place + length
        if not _WORD.match(text, max(place - 1, 0), place) and (
            _HANDED_ON.match(text, end) or (text[max(place - 1, 0) : place] == "." and not _WORD.match(text, end))
        ):
            found.append(place)
        place = text.find(name, end)
    return found


def _kept(text: str) -> bool:
    """Elements chosen by a name that holds a comparison: `keep = scores > 0.5`, `boxes[keep]`."""
    for match in operators().comparisons.finditer(text):
        name = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if name.isidentifier() and (f"[{name}]" in text or f"[{name}," in text):
            return True
    return False


@cache
def _element() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(r"\]\s*(?:[<>]|[=!]=)"), re.compile(r"\b(?:if|while|assert)\b")


def _tested_element(text: str) -> bool:
    """An element compared in a test, which may go over several lines: `if tokens[0] == end:`."""
    element, test = _element()
    searched = 0
    for match in element.finditer(text):
        opened = text.rfind("[", 0, match.start())
        if text.endswith("shape", 0, opened):
            continue
        start = max(text.rfind(":\n", searched, opened) + 1, opened - LONGEST_TEST, searched)
        if test.search(text, start, match.start()):
            return True
        searched = match.start()
    return False


def _tested_tensor(text: str, tensor_calls: Sequence[str]) -> bool:
    """What is declared or given as a tensor, or computed from one, as a test or a count: `while a - b > 1`."""
    tensor, declared, computed, tests = _declared_tensors()
    names: set[str] = set()
    for match in tensor.finditer(text):
        start = match.start()
        parameter = declared.search(text, max(text.rfind("\n", 0, start), start - 80), start)
        if parameter is not None:
            names.add(parameter.group(1))
    for call in tensor_calls:
        for place in _places(call, text):
            bound, equal, _ = text[text.rfind("\n", 0, place) + 1 : place].partition(" = ")
            names.update(_WORDS.findall(bound) if equal else ())
    if not names:
        return False
    for match in computed.finditer(text):
        if not names.isdisjoint(_WORDS.findall(match.group(2))):
            names.update(_WORDS.findall(match.group(1)))
    return any(match.group(1) in names for test in tests for match in test.finditer(text))


@cache
def _declared_tensors() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str], list[re.Pattern[str]]]:
    """Their type, what stands before it, assignments of arithmetic and elements, and tests and counts of a name."""
    tested = r" \(*(?:not )?(\w+)(?:\[[^\[\]\n]{0,99}+\])?(?=\s*(?:[-+*/%@<>:),]|[=!]=|\n|and\b|or\b|else\b))"
    tests = [re.compile(word + tested) for word in ("if", "while", "assert", "and", "or", "not")]
    return (
        re.compile(r"Tensor\b"),
        re.compile(r"(?<!\w)(\w++)\s*+:\s*+[\"']?(?:[\w.]++\[)?[\w.]*+$"),
        re.compile(r"\n[ \t]+(\w[\w, ]*?) = ([\w +\-*/%@<>=!.,:\[\]]+)(?=\n)"),
        [*tests, re.compile(r"range\((?:[^()\n]*\W)?(\w+)\)")],
    )
