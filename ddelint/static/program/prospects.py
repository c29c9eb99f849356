"""Which functions of a file may read data, themselves or through others, by their text: most are never parsed."""

from __future__ import annotations

import bisect
import re
from collections.abc import Collection, Sequence

from ddelint.knowledge.operators import operators
from ddelint.static.program import scan
from ddelint.static.program.outline import Body

_BOUND = re.compile(
    r"[ \t]*(?:self\.)?(\w++)(?:\[[^\]\n]{0,80}+\])?"
    r"(?:\.(?:append|extend|insert|update|setdefault)\(|[ \t]*[+|]?=[^=])"
)
"""A line that binds a name, or puts something into what it holds."""
_WORD = re.compile(r"\w++")
LONGEST_DISPLAY = 2_000
"""Characters between the beginning of a list or dict and what stands in it."""

_BY_NAME = re.compile(r"getattr(?<!\wgetattr)\(\s{0,20}+\w{1,80}+,\s{0,20}+f?[\"'](\w{1,80}+)")
"""A method that is picked by a name: what the name begins with."""


class Prospects:
    """What the functions of a text may do: its outermost ones, in which nested ones are included."""

    def __init__(
        self,
        text: str,
        functions: Sequence[Body],
        other_calls: Sequence[str] = (),
        tensor_calls: Sequence[str] = (),
        inherited: frozenset[str] = frozenset(),
    ) -> None:
        """`other_calls`: more ways to call what reads data, each with its parenthesis; `tensor_calls`: tensors.

        `inherited`: attributes that are tensors because of classes of other files.
        """
        self._text = text
        self._functions = functions
        self._rows = [function.row for function in functions]
        self._starts = [function.start for function in functions]
        self._kept = scan.kept_tensors(text) | inherited
        self._tensor_calls = tensor_calls
        calls = (*other_calls, *scan.imported_calls(text))
        self._asking = {number for number in range(len(functions)) if self._asks(number, calls)}
        self._spread()

    def _asks(self, number: int, other_calls: Sequence[str]) -> bool:
        function = self._functions[number]
        if function.name == "__init__" and "class " not in self._text[function.body : function.end]:
            return False  # a constructor runs in eager, and nobody calls it by its name
        text = self._text[function.start : function.end]
        return scan.asks(text, self._kept, self._tensor_calls) or any(call in text for call in other_calls)

    def _spread(self) -> None:
        """Those that use a name of one that asks may ask, too. Entries are not called by their names."""
        entries = operators().regions["entry_methods"]
        waiting = [name for number in sorted(self._asking) for name in self._called_by(number)]
        seen = set(entries)
        by_name = [(found[1], found.start()) for found in _BY_NAME.finditer(self._text)]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            picked = (place for prefix, place in by_name if name.startswith(prefix))
            for place in (*scan.places_that_use(name, self._text), *picked):
                user = self._at(place)
                if user is None or self._functions[user].name == "__init__":
                    bound = self._bound_at(place)
                    if bound is not None:
                        waiting.append(bound)  # another name of it, or of what it is in
                elif user not in self._asking and self._functions[user].name != name:
                    self._asking.add(user)
                    waiting += self._called_by(user)
        if any(self._functions[number].name in entries for number in self._asking):
            tests = operators().size_tests  # what modules return may have sizes that depend on data
            self._asking |= {n for n, f in enumerate(self._functions) if tests.search(self._text, f.body, f.end)}

    def _called_by(self, number: int) -> list[str]:
        """By what names a function is called: `Round.apply` runs the `forward` of a class `Round`."""
        function = self._functions[number]
        if function.name != "__call__" and function.name not in operators().regions["guessed_methods"]:
            return [function.name]
        header = self._text.rfind("\nclass ", 0, function.start) + len("\nclass ")
        named = _WORD.match(self._text, header)
        if function.name == "__call__":  # an object is called by the name of what holds it
            return [named[0]] if named else []
        calls = sorted(operators().regions["autograd_calls"])
        return [f"{named[0]}.{call}" for call in calls if f"{named[0]}.{call}" in self._text] if named else []

    def _bound_at(self, place: int) -> str | None:
        """The name that the statement around a place binds or adds to, which may have begun some lines above."""
        row = self._text.rfind("\n", 0, place) + 1
        found = _BOUND.match(self._text, row)
        if found is not None:
            return found[1]
        opening = max(
            self._text.rfind(bracket, max(row - LONGEST_DISPLAY, 0), row) for bracket in ("{\n", "[\n", "(\n")
        )
        if opening < 0:
            return None
        found = _BOUND.match(self._text, self._text.rfind("\n", 0, opening) + 1, opening + 1)
        return found[1] if found is not None else None

    def _at(self, place: int) -> int | None:
        number = bisect.bisect_right(self._starts, place) - 1
        return number if number >= 0 and place < self._functions[number].end else None

    def of_row(self, row: int) -> bool | None:
        """Whether the function around the row (from 1) may ask; None where there is none, or an unusual one."""
        number = bisect.bisect_right(self._rows, row) - 1
        if number < 0:
            return None
        function = self._functions[number]
        rows = self._text.count("\n", function.start, function.end) + (not self._text.endswith("\n", 0, function.end))
        return number in self._asking if row < function.row + rows else None

    def may_use(self, text: str) -> bool:
        """Whether code may ask that is in none of the functions."""
        return scan.asks(text, self._kept) or any(
            scan.places_that_use(name, text) for name in {self._functions[number].name for number in self._asking}
        )

    def nothing_asks(self, others: Collection[str] = ()) -> bool:
        """Whether certainly nothing asks in what is compiled for its name alone, whatever other names things have.

        `others`: functions that are compiled, too, by their names.
        """
        entries = operators().regions["entry_methods"] | set(others)
        if any(self._functions[number].name in entries or self._holds_an_entry(number) for number in self._asking):
            return False
        return not self.may_use(self._outside())

    def _holds_an_entry(self, number: int) -> bool:
        """Whether another function begins in what was taken for one, as a class in a function does."""
        function = self._functions[number]
        return any(
            f"def {name}(" in self._text[function.start : function.end] for name in operators().regions["entry_methods"]
        )

    def _outside(self) -> str:
        pieces: list[str] = []
        done = 0
        for function in self._functions:
            pieces.append(self._text[done : function.start])
            done = function.end
        return "".join([*pieces, self._text[done:]])
