"""docs/shapes.schema.json says what `ddelint shapes --output-format json` prints, no key more and none less."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from closed_schemas import closed

from ddelint.nouns.contracts import Branch, Contract, Dimension, Requirement
from ddelint.nouns.dispatches import Cost, Dispatch, GraphPlan, Part, Tried
from ddelint.nouns.protocol import EntryFailure
from ddelint.nouns.size_readiness import Readiness, Share
from ddelint.nouns.size_specs import CheckedSpec, Outcome, SizeSpec, SpecFinding
from ddelint.nouns.size_streams import Cause, Compiled, Counted, Forecast, Remedy, StreamFinding
from ddelint.nouns.spans import Span
from ddelint.nouns.wire import to_wire
from ddelint.report.contracts import Told, render_json

jsonschema = pytest.importorskip("jsonschema")

CHECKOUT = Path(__file__).resolve().parents[2]
SCHEMA: dict[str, Any] = json.loads((CHECKOUT / "docs" / "shapes.schema.json").read_text("utf-8"))
X = "x.shape[0]"
SPAN = Span("/m.py", 3, 8, 3, 20)
CONTRACT = Contract(
    "m.py:fn",
    "/m.py",
    SPAN,
    (Dimension(X, 4, "bounded", (f"{X} <= 8",)),),
    (Requirement(f"{X} <= 8", "raise", SPAN, f"{X} > 8", (f"{X} >= 1",), "ValueError", {X: 9}),),
    (Branch(f"{X} >= 7", SPAN, f"{X} > 6", ("7..",), ("0..6",), {X: 7}, {X: 6}),),
    {"x": 1},
)
SPEC = SizeSpec({"n": (0, None)}, {X: "n"}, ("n % 2 == 0",), "SHAPES (m.py)")
OUTCOME = Outcome({X: 9}, "raised", "ValueError", "ValueError")
EVERYTHING = Told(
    CONTRACT,
    [CheckedSpec(SPEC, (SpecFinding("DDE408", f"{X} <= 8", "it allows", {X: 9}, OUTCOME, 3, f"{X} > 8"),))],
    Forecast(
        "sizes.jsonl",
        2,
        2,
        (Compiled(1, {X: 4}), Compiled(2, {X: 9}, (Cause("DDE401", f"{X} < 7", SPAN, f"{X} > 6"),))),
        Counted((1, 2), (X,), (), "call 3"),
        Remedy(("mark_unbacked(x, 0)",), 0, ("goes both ways",), ({X: 1},)),
        (StreamFinding("DDE401", "a branch", (f"{X} < 7",), (2,), "/m.py", 3),),
    ),
    Dispatch(
        (X,),
        (GraphPlan(Part(f"{X}: 0..6", (f"{X} <= 6",), "x_0_to_6"), SPEC, {X: 4}, ({X: 0},), ({X: 6},)),),
        "/m_dispatch.py",
        Tried((OUTCOME,), 1, (1,), (OUTCOME,), failure=EntryFailure("timeout", "too slow", SPAN)),
        (Cost("all", 1, 0.5, {"all": 0.25}, ("code",)),),
    ),
)


def is_valid(found: Any) -> bool:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return bool(jsonschema.Draft202012Validator(closed(SCHEMA)).is_valid(found))


def test_the_schema_is_what_the_nouns_say() -> None:
    script = str(CHECKOUT / "scripts" / "generate_shapes_schema.py")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}: run scripts/generate_shapes_schema.py"


def test_it_holds_for_all_that_can_be_printed() -> None:
    failed = Told(Contract("m.py", failure=EntryFailure("raised", "no", SPAN, "Traceback")))
    assert is_valid(json.loads(render_json([EVERYTHING, failed, Told(CONTRACT)])))
    shares = {"entries": to_wire((Readiness("m.py:fn", Share(1, 2), Share(3, 3), (("/m.py", 3, "x"),)),))}
    assert is_valid({**shares, "dimensions": to_wire(Share(1, 2)), "lines": to_wire(Share(3, 3))})


def test_it_refuses_what_is_not_printed() -> None:
    (right,) = json.loads(render_json([EVERYTHING]))
    for change in ("more", "less", "other"):
        found = copy.deepcopy(right)
        if change == "more":
            found["stream"]["findings"][0]["more"] = 1
        elif change == "less":
            del found["dispatch"]["graphs"][0]["spec"]["variables"]
        else:
            found["dimensions"][0]["size"] = "4"
        assert not is_valid([found]), change
