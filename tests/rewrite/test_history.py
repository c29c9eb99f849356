"""Changes can be taken back alone, and spans find their way home."""

import pytest

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.rewrite.search.history import History
from ddelint.sources.source import SourceFile

TEXT = "a = 1\nb = 2\nc = 3\n"


def history() -> History:
    return History({"f.py": SourceFile("f.py", TEXT)})


def replace(row: int, column: int, end_column: int, content: str) -> Edit:
    return Edit(Span("f.py", row, column, row, end_column), content)


def test_a_change_alone_can_be_taken_back() -> None:
    first = history().add([replace(1, 5, 6, "100")], 1)
    both = first.add([replace(3, 5, 6, "300")], 2)
    assert both.current("f.py").text == "a = 100\nb = 2\nc = 300\n"
    without = both.without(1)
    assert without is not None
    assert without.current("f.py").text == "a = 1\nb = 2\nc = 300\n"


def test_a_change_that_another_rests_on_stays() -> None:
    both = history().add([replace(1, 5, 6, "f(1)")], 1).add([replace(1, 7, 8, "x")], 2)
    assert both.current("f.py").text == "a = f(x)\nb = 2\nc = 3\n"
    assert both.without(1) is None
    assert both.resting_on(1) == 2
    assert both.without(2) is not None
    assert both.resting_on(2) is None


def test_what_reads_a_definition_rests_on_it() -> None:
    above = Edit(Span("f.py", 1, 1, 1, 1), "def twice(x):\n    return 2 * x\n\n\n")
    first = history().add([above, replace(1, 5, 6, "twice(1)")], 1)
    both = first.add([replace(6, 5, 6, "twice(2)")], 2).add([replace(7, 5, 6, "300")], 3)
    assert both.without(1) is None
    assert both.resting_on(1) == 2
    alone = both.without(2)
    assert alone is not None
    assert alone.without(1) is not None


def test_what_begins_within_a_line_defines_nothing_for_the_module() -> None:
    first = history().add([replace(1, 5, 6, "n = 1")], 1)
    both = first.add([replace(3, 5, 6, "n + 3")], 2)
    without = both.without(1)
    assert without is not None
    assert without.current("f.py").text == "a = 1\nb = 2\nc = n + 3\n"


def test_a_name_that_joined_an_import_stays_with_what_reads_it() -> None:
    start = History({"f.py": SourceFile("f.py", "from other import one\n" + TEXT)})
    joined = Edit(Span("f.py", 1, 22, 1, 22), ", twice")
    both = start.add([joined, replace(2, 5, 6, "twice(1)")], 1).add([replace(3, 5, 6, "twice(2)")], 2)
    without = both.without(1)
    assert without is not None
    assert without.current("f.py").text == "from other import one, twice\na = 1\nb = twice(2)\nc = 3\n"


def test_an_import_stays_with_what_reads_it() -> None:
    above = Edit(Span("f.py", 1, 1, 1, 1), "from other import twice\n\n")
    both = history().add([above, replace(1, 5, 6, "twice(1)")], 1).add([replace(4, 5, 6, "twice(2)")], 2)
    without = both.without(1)
    assert without is not None
    assert without.current("f.py").text == "from other import twice\n\na = 1\nb = twice(2)\nc = 3\n"
    neither = without.without(2)
    assert neither is not None
    assert neither.current("f.py").text == TEXT


def test_what_stands_in_front_of_a_replaced_text_does_not_rest_on_it() -> None:
    both = history().add([replace(1, 5, 6, "one")], 1).add([replace(1, 5, 5, "not x and ")], 2)
    without = both.without(1)
    assert without is not None
    assert without.current("f.py").text == "a = not x and 1\nb = 2\nc = 3\n"


def outlined(body: str) -> History:
    """The first line changed, then the first two taken into a function, and something changed behind them."""
    taken = Edit(Span("f.py", 1, 1, 3, 1), body)
    return (
        history()
        .add([replace(1, 5, 6, "int(1)")], 1)
        .add([taken], 2)
        .add([Edit(Span("f.py", body.count("\n") + 1, 5, body.count("\n") + 1, 6), "300")], 3)
    )


def test_a_change_goes_from_lines_that_a_later_one_took_along() -> None:
    without = outlined("def f():\n    a = int(1)\n    return 2\n").without(1)
    assert without is not None
    assert without.current("f.py").text == "def f():\n    a = 1\n    return 2\nc = 300\n"
    alone = without.without(3)
    assert alone is not None
    assert alone.current("f.py").text == "def f():\n    a = 1\n    return 2\nc = 3\n"
    last = without.without(2)
    assert last is not None
    assert last.current("f.py").text == "a = 1\nb = 2\nc = 300\n"


def test_a_change_goes_from_a_function_that_its_lines_have_become() -> None:
    text = SourceFile("f.py", f"# first\n\n{TEXT}")
    first = History({"f.py": text}).add([replace(3, 5, 6, "int(1)")], 1)
    function = Edit(Span("f.py", 2, 1, 2, 1), "def f():\n    a = int(1)\n    return a\n")
    taken = first.add([function, replace(3, 1, 11, "f()")], 2).add([replace(7, 1, 1, "# operator\n")], 2)
    taken = taken.add([replace(9, 5, 6, "300")], 3)
    assert taken.current("f.py").text.endswith("f()\n# operator\nb = 2\nc = 300\n")
    without = taken.without(1)
    assert without is not None
    assert without.current("f.py").text == taken.current("f.py").text.replace("int(1)", "1")
    alone = without.without(2)
    assert alone is not None
    assert alone.current("f.py").text == "# first\n\na = 1\nb = 2\nc = 300\n"


@pytest.mark.parametrize("body", ["a = g(int(1))\n", "a = int(1)\na = int(1)\n", "a = 2\n"])
def test_a_change_stays_where_the_later_one_changed_its_line(body: str) -> None:
    assert outlined(body).without(1) is None


def test_inserted_lines_shift_spans_and_home_undoes_it() -> None:
    grown = history().add([replace(1, 1, 1, "import torch\n")], 1)
    assert grown.home(Span("f.py", 3, 1, 3, 6)) == Span("f.py", 2, 1, 2, 6)
    assert grown.home(Span("f.py", 1, 1, 1, 7)) == Span("f.py", 1, 1, 1, 1)


def test_a_row_follows_lines_that_were_put_before_it() -> None:
    grown = history().add([replace(2, 1, 1, "x = 0\n")], 1)
    assert [grown.row("f.py", row) for row in (1, 2, 3)] == [1, 3, 4]


def test_touched_follows_later_growth() -> None:
    both = history().add([replace(3, 5, 6, "33")], 1).add([replace(1, 1, 1, "# note\n")], 2)
    assert both.touched(1) == (Span("f.py", 4, 5, 4, 7),)


def test_several_edits_of_one_step_refer_to_the_same_text() -> None:
    changed = history().add([replace(1, 5, 6, "10"), replace(1, 1, 2, "aa"), replace(2, 5, 6, "20")], 1)
    assert changed.current("f.py").text == "aa = 10\nb = 20\nc = 3\n"
    undone = changed.without(1)
    assert undone is not None
    assert undone.current("f.py").text == TEXT


@pytest.mark.parametrize(
    "edits",
    [
        [replace(2, 1, 1, "inner\n"), replace(2, 1, 1, "outer\n")],
        [replace(2, 1, 1, "outer\n"), replace(2, 1, 1, "inner\n"), replace(2, 1, 1, "last\n")],
        [replace(2, 1, 1, "before\n"), replace(2, 1, 2, "bb")],
        [replace(2, 1, 2, "bb"), replace(2, 1, 1, "before\n")],
        [replace(3, 5, 6, "33"), replace(2, 6, 6, "2"), replace(2, 6, 6, "3"), replace(1, 1, 2, "")],
    ],
)
def test_edits_of_one_place_stand_in_the_order_of_the_file_text(edits: list[Edit]) -> None:
    changed = history().add(edits, 1)
    assert changed.current("f.py").text == SourceFile("f.py", TEXT).apply(edits)
    undone = changed.without(1)
    assert undone is not None
    assert undone.current("f.py").text == TEXT


def test_overlay_holds_only_what_differs() -> None:
    assert history().overlay == {}
    assert history().add([replace(1, 5, 6, "1")], 1).overlay == {}
    assert list(history().add([replace(1, 5, 6, "2")], 1).overlay) == ["f.py"]


def test_forward_is_the_other_way() -> None:
    grown = history().add([replace(1, 1, 1, "import torch\n"), replace(2, 5, 6, "22")], 1)
    assert grown.forward(Span("f.py", 3, 1, 3, 6)) == Span("f.py", 4, 1, 4, 6)
    assert grown.forward(Span("f.py", 2, 5, 2, 6)) == Span("f.py", 3, 5, 3, 7)


def test_an_import_goes_with_the_words_that_a_later_change_had_taken_along() -> None:
    imported = Edit(Span("f.py", 1, 1, 1, 1), "from helpers import both\n")
    first = history().add([imported, replace(2, 5, 6, "both(2)")], 1)
    function = Edit(Span("f.py", 2, 1, 2, 1), "def g():\n    b = both(2)\n    return b\n")
    taken = first.add([function, replace(3, 1, 12, "b = g()")], 2)
    left = taken.without(1)
    assert left is not None
    assert left.current("f.py").text == "def g():\n    b = 2\n    return b\na = 1\nb = g()\nc = 3\n"
