"""What stands around an error: escapes, prefixes, quotes, notebooks, other encodings."""

from __future__ import annotations

import json

import pytest

from ddelint.explain.cleaning import NotText, clean, decode, streams, unwrapped

ERROR = "ValueError: Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4)."


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank0]: ",
        "[rank3]:",
        "[default0]:[rank0]: ",
        "[1,0]<stderr>:",
        "I0307 10:00:00.123000 99 torch/fx/experimental/symbolic_shapes.py:8249] ",
        "[rank1]:V0307 10:00:00.123000 99 torch/_dynamo/guards.py:5396] [0/1] [__recompiles] ",
        "[2024-02-06 11:16:47,415] [22/0] torch._dynamo.symbolic_convert: [DEBUG] ",
        "2026-01-07T09:12:44.1034567Z ",
        "2026-01-07 09:12:44,103 ERROR: ",
        "(EngineCore_0 pid=4411) ERROR 01-07 09:12:44 [core.py:700] ",
    ],
)
def test_prefixes_are_taken_off(prefix: str) -> None:
    assert clean(f"{prefix}{ERROR}")[0].text == ERROR


def test_indentation_behind_a_prefix_stays() -> None:
    assert clean('[rank0]:   File "a.py", line 1, in f')[0].text == '  File "a.py", line 1, in f'


def test_subscripts_are_no_prefixes() -> None:
    for text in ("[x for x in xs]", "x[0]", "table[3m]"):
        assert clean(text)[0].text == text


@pytest.mark.parametrize("colour", ["\x1b[31m", "\x1b[0;38;5;28m", "\x1b]8;;file://a\x07", "[93m"])
def test_colours_are_taken_off(colour: str) -> None:
    assert clean(f"{colour}{ERROR}")[0].text == ERROR


def test_rows_count_in_what_was_pasted() -> None:
    assert [(line.row, line.text) for line in clean("a\r\nb\rc\nd")] == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]


def test_quotes_are_taken_off_where_most_is_quoted() -> None:
    assert [line.text for line in clean("> a\n>   b\n>\nend")] == ["a", "  b", "", "end"]
    assert clean(">       if n > 4:\n\nmodel.py:3:\nrest")[0].text == ">       if n > 4:"


def test_lines_of_two_processes_are_told_apart() -> None:
    lines = clean("[rank0]: a\n[rank1]: b\n[rank0]: c\nplain")
    assert [[line.text for line in stream] for stream in streams(lines)] == [["a", "c"], ["b"], ["plain"]]


def test_records_of_json_and_pages_are_unwrapped() -> None:
    text = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
    assert text.strip() in unwrapped(json.dumps({"message": text}))
    assert 'File "a.py", line 1' in unwrapped("File &quot;a.py&quot;, line 1")


def test_a_broken_notebook_is_read_as_it_is() -> None:
    text = '{"cells": [{"outputs": [}'
    assert unwrapped(text) == text


def test_encodings() -> None:
    assert decode("\ufeffa".encode()) == "a"
    assert decode(ERROR.encode("utf-16")) == ERROR
    assert decode("é".encode("latin-1") + b"a" * 100).endswith("a" * 100)


@pytest.mark.parametrize("data", [b"\x7fELF\x00\x00\x01", bytes(range(128, 256)) * 8])
def test_bytes_that_are_no_text(data: bytes) -> None:
    with pytest.raises(NotText):
        decode(data)
