"""What a function's text or name says that no compiler follows: it reads files, hands tensors on to NumPy, trains."""

from __future__ import annotations

import re

from ddelint.knowledge import extensions
from ddelint.knowledge.operators import operators
from ddelint.static.program import scan
from ddelint.static.program.always_run import is_always_run

_WORD_OF_NAME = re.compile(r"[a-z0-9]++")

Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def is_eager(text: str, start: int = 0) -> bool:
    """Whether a function does what no compiler follows; its body begins at `start`."""
    return _holds(_eager(), text) and _holds(_eager(), scan.without_prose(text[start:]))


def is_always_eager(text: str, more: Patterns = ()) -> bool:
    """Whether each call of it does so, and with it whoever calls it; `more`: what else no compiler follows."""
    return _always((*_eager_for_callers(), *more), text, each=True)


def trains(text: str, *, each: bool = False) -> bool:
    """Whether a function trains something whatever its settings are: nobody compiles it as one graph.

    `each`: each call of it does, also one that returns before anything is asked.
    """
    return _always(_training(), text, each)


def may_train(text: str) -> bool:
    """Whether anything in a file may train something."""
    return _holds(_training(), text)


def makes_parameters(text: str) -> bool:
    """Whether a function makes parameters: it prepares a module."""
    return _holds(_preparing(), text)


def _always(patterns: Patterns, text: str, each: bool = False) -> bool:
    if not _holds(patterns, text) or text.count('"""') % 2:  # which begins in the example of a docstring
        return False
    text = scan.without_prose(text)
    found = (match for _, pattern in patterns for match in pattern.finditer(text))
    return any(is_always_run(text, match.end(), each=each) for match in found)


def reads_files(name: str) -> bool:
    """Whether a function's name says that it makes something of a file: `from_json`, `load_database`."""
    return bool(words_in(name) & operators().regions["file_words"])


def keeps_states(name: str) -> bool:
    """Whether a function's name says that it makes or reads the states of modules: `convert_state_dict`."""
    return any(kept in name for kept in operators().regions["kept_states"])


def is_test(name: str) -> bool:
    """Whether a function's name says that it tests what was computed: `test_outputs`."""
    return name.startswith(tuple(operators().regions["testing"]))


def is_fit(name: str) -> bool:
    """Whether a method's name is that of one of scikit-learn's that fit: it keeps numbers on its object."""
    return name in operators().regions["fitting"]


def words_in(name: str) -> frozenset[str]:
    """The words in a name."""
    return frozenset(_WORD_OF_NAME.findall(name.lower()))


def _holds(patterns: Patterns, text: str) -> bool:
    return any(literal in text and pattern.search(text) is not None for literal, pattern in patterns)


@extensions.remembered
def _eager() -> Patterns:
    return _patterns("eager_text")


@extensions.remembered
def _eager_for_callers() -> Patterns:
    return _patterns("eager_text", "eager_alone")


@extensions.remembered
def _preparing() -> Patterns:
    return _patterns("preparing_text")


@extensions.remembered
def _training() -> Patterns:
    return _patterns("training_text")


def _patterns(key: str, without: str = "") -> Patterns:
    """Each with a text that each match holds, where that is plain: to look for it costs a tenth."""
    found: list[tuple[str, re.Pattern[str]]] = []
    regions = operators().regions
    for pattern in sorted(regions[key] - (regions[without] if without else frozenset())):
        escaped = pattern.replace(r"\b", "")
        literal = escaped.replace("\\", "")
        found.append((literal if re.escape(literal) == escaped else "", re.compile(pattern)))
    return tuple(found)
