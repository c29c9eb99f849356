"""shortcut_in_eager, skip_warning_while_compiling, guard_on_size, promise."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import Claim, TypeFact

TYPES = {"x": TENSOR, "n": COUNT, "mask": MASK, "flag": TypeFact("bool")}


def test_an_early_exit_on_emptiness_is_skipped_while_compiling_first() -> None:
    text = "def fn(x, n):\n    if n == 0:  # nothing\n        return x.new_zeros(0)\n    return x\n"
    found = rewritten("shortcut_in_eager", context_of(text, "n == 0", TYPES, "DDE102"))
    assert found == [
        text.replace("if n == 0:", "if not torch.compiler.is_compiling() and n == 0:"),
        text.replace("if n == 0:", "if torch.compiler.is_compiling() or n == 0:"),
    ]


def test_masked_work_is_always_done_while_compiling_first() -> None:
    text = "def fn(x, mask):\n    if mask.any():\n        x[mask] *= 2\n    return x\n"
    found = rewritten("shortcut_in_eager", context_of(text, "mask.any()", TYPES, "DDE105"))
    assert found[0] == text.replace("if mask.any():", "if torch.compiler.is_compiling() or mask.any():")


def test_what_is_known_stays_in_front() -> None:
    text = "def fn(x, mask=None):\n    if mask is not None and mask.any():\n        x[mask] *= 2\n    return x\n"
    found = rewritten("shortcut_in_eager", context_of(text, "mask.any()", TYPES, "DDE105"))
    assert found[0] == text.replace("mask.any():", "(torch.compiler.is_compiling() or mask.any()):")


OPTIONAL = """class M:
    n: int | None

    def fn(self, x):
"""
NUMBER = {**TYPES, "self.n": COUNT}


def test_where_a_number_may_be_missing_only_a_number_is_taken_for_the_general_path() -> None:
    text = OPTIONAL + "        if self.n:\n            x[:, : self.n] = 0\n        return x\n"
    always, never = rewritten("shortcut_in_eager", context_of(text, "self.n", NUMBER, "DDE101"))
    assert always == text.replace("if self.n:", "if self.n is not None and (torch.compiler.is_compiling() or self.n):")
    assert never == text.replace("if self.n:", "if not torch.compiler.is_compiling() and self.n:")

    text = OPTIONAL + "        if not self.n:\n            return x\n        return x[:, self.n :]\n"
    found = rewritten("shortcut_in_eager", context_of(text, "self.n", NUMBER, "DDE101"))
    never = "if self.n is None or not torch.compiler.is_compiling() and not self.n:"
    assert text.replace("if not self.n:", never) in found
    assert text.replace("if not self.n:", "if torch.compiler.is_compiling() or not self.n:") in found


@pytest.mark.parametrize("move", ["where_merge", "guard_on_size", "torch_cond"])
def test_nothing_compares_with_0_what_may_be_missing(move: str) -> None:
    text = (
        OPTIONAL + "        if self.n:\n            y = x * 2\n        else:\n            y = x * 3\n        return y\n"
    )
    there = text.replace("int | None", "int")
    assert rewritten(move, context_of(text, "self.n", NUMBER, "DDE101")) == []
    assert rewritten(move, context_of(there, "self.n", NUMBER, "DDE101"))


@pytest.mark.parametrize(
    ("test", "first"),
    [
        ("n > 4 or n == 0", "not torch.compiler.is_compiling() and (n > 4 or n == 0)"),
        ("x.numel() == 0", "not torch.compiler.is_compiling() and x.numel() == 0"),
        ("not mask.any()", "not torch.compiler.is_compiling() and not mask.any()"),
        ("len(x)", "torch.compiler.is_compiling() or len(x)"),
    ],
)
def test_precedence_and_polarity(test: str, first: str) -> None:
    text = f"def fn(x, n, mask):\n    y = x * 2 if {test} else x * 3\n    return y\n"
    found = rewritten("shortcut_in_eager", context_of(text, test, TYPES))
    assert found[0] == text.replace(test, first)


def test_brackets_over_lines_and_elif_survive() -> None:
    text = (
        "def fn(x, n):\r\n    if x is None:\r\n        return x\r\n    elif(\r\n        n > 4  # many\r\n"
        "        or n < 2\r\n    ):\r\n        return x * 2\r\n    else:\r\n        return x\r\n"
    )
    found = rewritten("shortcut_in_eager", context_of(text, "n > 4", TYPES))
    assert found
    assert all("# many\r\n" in one and one.count("\r\n") == text.count("\r\n") for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "def fn(n):\n    if n > 4:\n        raise ValueError(n)\n",
        "def fn(n):\n    if n > 4:\n        n = 1\n    else:\n        raise ValueError(n)\n",
        "def fn(n):\n    while n > 4:\n        n = n - 1\n",
        "def fn(n):\n    if torch.compiler.is_compiling() or n > 4:\n        n = 1\n",
        "def fn(n):\n    return [n > 4]\n",
        "def fn(x, n):\n    for _ in y:\n        x = cat([x, y])\n        if n > 4:\n            break\n    return x\n",
    ],
)
def test_shortcut_leaves_look_alikes_alone(text: str) -> None:
    assert candidates("shortcut_in_eager", context_of(text, "n > 4", TYPES)) == []


def test_a_block_that_only_warns_is_asked_for_in_eager() -> None:
    text = (
        "def fn(x, n):\n    if n > 4:\n        message = f'{n}'\n        if x is None:\n"
        "            logger.warning(message)\n    return x\n"
    )
    (found,) = candidates("skip_warning_while_compiling", context_of(text, "n > 4", TYPES, "DDE110"))
    assert found.claim is Claim.EQUIVALENT
    assert "the compiled program doesn't warn" in found.notes
    assert context_of(text, "n > 4").site.source.apply(found.edits) == text.replace(
        "if n > 4:", "if not torch.compiler.is_compiling() and n > 4:"
    )


def test_a_check_may_be_left_to_eager() -> None:
    text = "def fn(x, n):\n    if n <= 0:\n        raise ValueError(n)\n    return x[:n]\n"
    context = context_of(text, "n <= 0", TYPES, "DDE103")
    found = rewritten("validate_in_eager", context)
    assert found == [text.replace("if n <= 0:", "if not torch.compiler.is_compiling() and n <= 0:")]
    assert [c.claim for c in candidates("validate_in_eager", context)] == [Claim.GENERAL_PATH]
    warns = "import warnings\n\ndef fn(x, n):\n    if n <= 0:\n        warnings.warn('none')\n    return x\n"
    assert rewritten("validate_in_eager", context_of(warns, "n <= 0", TYPES, "DDE110")) == []


def test_a_question_inside_the_warning_skips_the_whole_block() -> None:
    text = "def fn(x, n, flag):\n    if flag:\n        if n > 4:\n            print('many')\n    return x\n"
    assert rewritten("skip_warning_while_compiling", context_of(text, "n > 4", TYPES, "DDE110")) == [
        text.replace("if flag:", "if not torch.compiler.is_compiling() and flag:")
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "    if flag:\n        print('a')\n    elif n > 4:\n        print('b')\n",
            "    if flag:\n        print('a')\n"
            "    elif not torch.compiler.is_compiling() and n > 4:\n        print('b')\n",
        ),
        (
            "    if flag:\n        print('a')\n    else:\n        if n > 4:\n            print('b')\n",
            "    if flag:\n        print('a')\n    else:\n"
            "        if not torch.compiler.is_compiling() and n > 4:\n            print('b')\n",
        ),
    ],
)
def test_what_is_asked_where_another_test_is_false_is_guarded_itself(before: str, after: str) -> None:
    text = f"import torch\n\ndef fn(x, n, flag):\n{before}    return x\n"
    context = context_of(text, "n > 4", TYPES, "DDE110")
    assert rewritten("skip_warning_while_compiling", context) == [text.replace(before, after)]


@pytest.mark.parametrize(
    "text",
    [
        "def fn(n):\n    if n > 4:\n        print(n)\n    else:\n        n = 1\n    return n\n",
        "def fn(n):\n    if n > 4:\n        warnings.warn('m')\n        n = 4\n    return n\n",
        "def fn(n):\n    if n > 4:\n        self.log = n\n",
    ],
)
def test_blocks_that_do_more_than_talk_are_left_alone(text: str) -> None:
    assert candidates("skip_warning_while_compiling", context_of(text, "n > 4", TYPES, "DDE110")) == []


@pytest.mark.parametrize(
    ("test", "asking", "first"),
    [
        ("n == 0", "n == 0", "guard_or_false(n == 0)"),
        ("n", "n", "guard_or_true(n != 0)"),
        ("not n", "not n", "not guard_or_true(n != 0)"),
        ("len(x) == 0", "len(x) == 0", "guard_or_false(x.shape[0] == 0)"),
        ("flag and n > 0", "n > 0", "flag and guard_or_true(n > 0)"),
        ("mask.any()", "mask.any()", "guard_or_true(mask.any().item())"),
        ("n % 2 == 0", "n % 2 == 0", "guard_or_false(n % 2 == 0)"),
    ],
)
def test_the_size_test_alone_is_guarded(test: str, asking: str, first: str) -> None:
    text = f"def fn(x, n, mask, flag):\n    if {test}:\n        return x * 2\n    return x\n"
    context = context_of(text, f"if {test}", TYPES) if asking == test else context_of(text, asking, TYPES)
    found = rewritten("guard_on_size", context)
    assert found[0] == text.replace(f"if {test}:", f"if {first}:")


@pytest.mark.parametrize("test", ["guard_or_false(n == 0)", "0 < n < 5", "isinstance(n, int)"])
def test_guard_leaves_look_alikes_alone(test: str) -> None:
    text = f"def fn(x, n):\n    if {test}:\n        return x * 2\n    return x\n"
    assert candidates("guard_on_size", context_of(text, test, TYPES)) == []


@pytest.mark.parametrize(
    "line",
    [
        "edge = mask.any() or x.any()",
        "return mask.any() and bool(x.any())",
        "return not (mask.any() or x.any())",
        "y = [mask.any() or x.any()]",
        "y = fn(mask.any() and flag, x)",
    ],
)
def test_a_truth_of_values_that_chooses_no_path_is_not_guessed(line: str) -> None:
    text = f"def fn(x, mask, flag):\n    {line}\n"
    assert candidates("guard_on_size", context_of(text, "mask.any()", TYPES, "DDE105")) == []


ENDLESS = [
    "if mask.any():\n            break",
    "if mask.any():\n            return x",
    "if not mask.any():\n            x = x + 1\n        else:\n            break",
    "if mask.any():\n            if flag:\n                x = x * 2\n            break",
    "mask = mask | True\n        if mask.any():\n            raise ValueError",
]


@pytest.mark.parametrize("body", ENDLESS)
def test_what_alone_ends_a_loop_is_not_left_to_eager(body: str) -> None:
    test = "not mask.any()" if "not mask" in body else "mask.any()"
    goes_on = f"torch.compiler.is_compiling() {'or' if 'not mask' in body else 'and'} {test}"
    for loop, is_endless in (("while True", True), ("while x.sum() < 9", False), ("for _ in range(9)", False)):
        text = (
            f"import torch\n\n\ndef fn(x, mask, flag):\n    {loop}:\n        {body}\n        x = x + 1\n    return x\n"
        )
        context = context_of(text, test, TYPES, "DDE105")
        assert any(goes_on in new for new in rewritten("shortcut_in_eager", context)) is not (
            is_endless or "raise" in body
        )
        assert not is_endless or candidates("guard_on_size", context) == []


def test_a_loop_that_ends_in_other_ways_too_may_leave_one_to_eager() -> None:
    ways = "".join(f"        if {test}:\n            break\n" for test in ("mask.any()", "x.sum() > 9"))
    text = f"def fn(x, mask):\n    while True:\n{ways}        x = x + 1\n    return x\n"
    found = rewritten("shortcut_in_eager", context_of(text, "mask.any()", TYPES, "DDE105"))
    assert any("not torch.compiler.is_compiling() and mask.any()" in new for new in found)


def test_a_promise_comes_for_both_sides_the_general_one_first() -> None:
    text = "def fn(x, n, flag):\n    if flag:\n        return x\n    elif n == 0:\n        return x * 2\n    return x\n"
    found = rewritten("promise", context_of(text, "n == 0", TYPES))
    assert found == [
        text.replace("    if flag:", "    torch._check(n != 0)\n    if flag:"),
        text.replace("    if flag:", "    torch._check(n == 0)\n    if flag:"),
    ]
    assert all(one.claim is Claim.PROMISE for one in candidates("promise", context_of(text, "n == 0", TYPES)))


def test_a_promise_about_what_the_framework_asks() -> None:
    text = "def fn(x, n):\n    return x.view(n, 4)\n"
    context = context_of(text, "x.view(n, 4)", TYPES, "DDE305", expression="n == x.shape[0]")
    assert (
        rewritten("promise", context)[0]
        == "def fn(x, n):\n    torch._check(n == x.shape[0])\n    return x.view(n, 4)\n"
    )


def test_no_promise_about_names_that_come_later() -> None:
    text = "def fn(x):\n    n = x.nonzero().shape[0]\n    return n\n"
    assert candidates("promise", context_of(text, "x.nonzero()", {}, expression="n >= 0")) == []


# ---------------------------------------------------------------------- run by torch


def samples() -> list[tuple[object, ...]]:
    import torch

    x = torch.arange(8.0).reshape(4, 2)
    return [(x, torch.tensor(mask)) for mask in ([True, False, True, False], [False] * 4, [True] * 4)]


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("x = x.clone()\n    if mask.any():\n        x[mask] *= 2\n    return x", "mask.any()"),
        ("y = x[mask]\n    if y.shape[0] == 0:\n        return x.new_zeros(0, 2)\n    return y * 2", "y.shape[0] == 0"),
        ("y = x[mask]\n    z = y * 2 if len(y) > 0 else y\n    return z", "len(y) > 0"),
    ],
)
@pytest.mark.parametrize("move", ["shortcut_in_eager", "guard_on_size"])
def test_the_first_choice_traces_and_agrees_on_both_sides(body: str, asking: str, move: str) -> None:
    text = f"import torch\n\n\ndef fn(x, mask):\n    {body}\n"
    types = {**TYPES, "y": TypeFact("tensor", "float32", ("u0", "2"))}
    found = with_imports(move, context_of(text, asking, types, "DDE105"))
    assert failures(text, found[0], samples()) == []


def test_the_other_choice_is_told_apart_by_running_it() -> None:
    text = (
        "import torch\n\n\ndef fn(x, mask):\n    x = x.clone()\n"
        "    if mask.any():\n        x[mask] *= 2\n    return x\n"
    )
    found = with_imports("shortcut_in_eager", context_of(text, "mask.any()", TYPES, "DDE105"))
    assert failures(text, found[1], samples(), ("export",)) != []


@pytest.mark.parametrize(
    ("kept", "first"),
    [
        ("all(len(r) <= 1 for r in rows)", "not torch.compiler.is_compiling() and all(len(r) <= 1 for r in rows)"),
        (
            "any(r.numel() == 0 for r in rows)",
            "not torch.compiler.is_compiling() and any(r.numel() == 0 for r in rows)",
        ),
        ("any([len(r) for r in rows])", "torch.compiler.is_compiling() or any([len(r) for r in rows])"),
    ],
)
@pytest.mark.parametrize("line", ["    alone = {}\n    return alone\n", "    return {}\n"])
def test_an_answer_that_is_kept_for_later_is_asked_only_in_eager(kept: str, first: str, line: str) -> None:
    text = "def fn(rows):\n" + line.format(kept)
    found = rewritten("shortcut_in_eager", context_of(text, kept, {}, "DDE108"))
    assert found[0] == text.replace(kept, first)


def test_a_number_that_is_kept_is_no_answer() -> None:
    text = "def fn(x, n):\n    longest = max(n)\n    return x\n"
    assert rewritten("shortcut_in_eager", context_of(text, "max(n)", TYPES, "DDE108")) == []


def test_operands_that_ask_alike_are_treated_alike() -> None:
    text = (
        "def fn(x, flag, a, b):\n    if flag and a.shape[0] > 0 and b.shape[0] > 0:\n        x = x + 1\n    return x\n"
    )
    sizes = {"x": TENSOR, "a": TENSOR, "b": TENSOR, "flag": TypeFact("bool")}
    both = [context_of(text, f"{name}.shape[0] > 0", sizes, "DDE102") for name in "ab"]
    context = replace(both[0], asked=tuple(one.site.span for one in both))
    (first, *_) = rewritten("shortcut_in_eager", context)
    assert "if flag and (torch.compiler.is_compiling() or a.shape[0] > 0 and b.shape[0] > 0):" in first
    (first, second) = rewritten("guard_on_size", context)
    assert "if flag and guard_or_true(a.shape[0] > 0) and guard_or_true(b.shape[0] > 0):" in first
    assert "if flag and guard_or_false(a.shape[0] > 0) and guard_or_false(b.shape[0] > 0):" in second
    (first, *_) = rewritten("guard_on_size", both[1])
    assert "if flag and a.shape[0] > 0 and guard_or_true(b.shape[0] > 0):" in first


@pytest.mark.parametrize(
    "line",
    [
        'print(f"at {count}")  # said',
        'log.info("at %d", count)',
        'self.logger.debug("at {}".format(count))',
        "warnings.warn(f'at {count:>3}')",
        'logging.warning(\n        f"at {count}"\n    )',
    ],
)
def test_a_line_that_only_says_a_number_is_said_in_eager(line: str) -> None:
    text = f"def fn(self, x, count):\n    {line}\n    return x[:2]\n"
    context = context_of(text, line.partition("  #")[0], {**TYPES, "count": COUNT}, "DDE208")
    (found,) = candidates("skip_warning_while_compiling", context)
    assert found.claim is Claim.EQUIVALENT
    moved = line.replace("\n", "\n    ")
    assert context.site.source.apply(found.edits) == (
        f"def fn(self, x, count):\n    if not torch.compiler.is_compiling():\n        {moved}\n    return x[:2]\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        "if not torch.compiler.is_compiling():\n        print(count)",
        "y = print(count)",
        "self.use(count)",
        "for row in x: print(count)",
    ],
)
def test_what_does_more_or_is_said_in_eager_stays(line: str) -> None:
    text = f"def fn(self, x, count):\n    {line}\n    return x[:2]\n"
    assert (
        candidates(
            "skip_warning_while_compiling",
            context_of(text, line.partition("  #")[0], {**TYPES, "count": COUNT}, "DDE208"),
        )
        == []
    )


@pytest.mark.parametrize(
    ("body", "asking"),
    [
        ("    if (top := x.max()) > 3:\n        x = x / top\n", "(top := x.max()) > 3"),
        ("    x = x / top if (top := x.sum()) else x\n", "top := x.sum()"),
        ("    if mask.any() and (top := x.max()) > 3:\n        x = x / top\n", "(top := x.max()) > 3"),
    ],
)
def test_a_test_that_gives_a_name_is_asked_while_compiling_too(body: str, asking: str) -> None:
    text = f"def fn(x, mask):\n{body}    return x\n"
    assert rewritten("shortcut_in_eager", context_of(text, asking, TYPES, "DDE105")) == []


@pytest.mark.parametrize(
    ("body", "unlikely"),
    [
        ("    if t.sum().item() % 4 == 0:\n        x = x / 2\n", True),
        ("    if (t.sum() % 4 == 0).item():\n        x = x / 2\n", True),
        ("    if not t.sum().item() % 4:\n        x = x / 2\n", True),
        ("    due = t.sum().item() % 4 == 0\n    if due and True:\n        x = x / 2\n", True),
        ("    if t.sum().item() % 4 == 0:\n        return x\n    x = x.flip(0)\n", False),
        ("    if t.sum().item() % 4 != 0:\n        x = x / 2\n", False),
        ("    if t.sum().item() == 0:\n        x = x / 2\n", False),
    ],
)
def test_what_is_done_now_and_then_is_no_shortcut(body: str, unlikely: bool) -> None:
    text = f"def fn(x, t):\n{body}    return x\n"
    asking = body.split("if ", 1)[1].split(":", 1)[0]
    found = candidates("shortcut_in_eager", context_of(text, asking, {"x": TENSOR, "t": INTEGERS}))
    assert {one.unlikely for one in found} == {unlikely}


def test_what_is_said_in_a_block_that_is_compiled_is_said_in_eager() -> None:
    text = (
        "import torch\n\n\ndef fn(x, m, n):\n    if torch.compiler.is_compiling() or m.any():\n"
        "        print(f'{x.dtype}')\n        x = x[m]\n    return x\n"
    )
    line = "print(f'{x.dtype}')"
    new = text.replace(line, f"if not torch.compiler.is_compiling():\n            {line}")
    assert rewritten("skip_warning_while_compiling", context_of(text, line, TYPES, "DDE005")) == [new]
    assert rewritten("skip_warning_while_compiling", context_of(new, line, TYPES, "DDE005")) == []
