"""An occurrence, reported as a diagnostic: at its place in the source, or else in the text that reports it."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ddelint.explain import asking, suggestions
from ddelint.explain.births import Birth
from ddelint.explain.cleaning import rows
from ddelint.explain.frames import RawFrame
from ddelint.explain.occurrences import Occurrence
from ddelint.explain.ownership import is_entrance, is_framework, is_installed, is_ours, is_standard, normal
from ddelint.explain.places import Places, Spot
from ddelint.knowledge.catalog import rule
from ddelint.knowledge.classification import rule_for
from ddelint.knowledge.operators import operators, terminal_name
from ddelint.nouns.diagnostics import Diagnostic, Frame, Question, Span, Symbol, TypeFact
from ddelint.sources.sites import Role, Site, site_of
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

_WITHOUT_SITE = {
    "truth": "DDE101",
    "integer": "DDE206",
    "operator": "DDE206",
    "failure": "DDE208",
    "text": "DDE208",
    "guard": "DDE401",
}
"""Rules by kind, where no source line says more."""
_TESTS = frozenset((Role.IF_TEST, Role.WHILE_TEST, Role.ASSERT_TEST, Role.TERNARY_TEST, Role.COMPREHENSION_TEST))
_READS = frozenset(("item", "list_of_items"))
"""Shapes of answers (operators.toml) that are numbers read from a tensor."""


@dataclass
class Diagnosing:
    """Turns occurrences into diagnostics. `name` and `lines` are of the text that reports them."""

    name: str
    text: str
    paths: tuple[str, ...]
    places: Places
    quoted: dict[str, dict[int, str]] = field(default_factory=dict)
    """Filename → what the text quotes of it, by row: for code frames of files that aren't at hand."""
    missing: dict[str, None] = field(default_factory=dict)
    """Files that findings are in and that are not at hand."""

    def diagnostic(self, occurrence: Occurrence) -> Diagnostic:
        """The finding, with advice."""
        frame = occurrence.frame or (occurrence.frames[0] if occurrence.frames else None)
        spot = self.places.spot(frame) if frame is not None else None
        if frame is not None and not frame.filename:  # a source line without its file
            diagnostic = self._at_spot(occurrence, spot) if spot is not None else None
            found = diagnostic or self._without_site(occurrence, None)
            return self._advised(replace(found, span=self._in_text(occurrence), symbols=()), None, occurrence)
        if frame is None:
            return self._advised(self._without_site(occurrence, None), None, occurrence)
        self._note(frame, spot)
        if spot is None or not occurrence.traced or (occurrence.code and occurrence.frame is None):
            return self._advised(self._without_site(occurrence, frame), None, occurrence)
        deepest = self._asking(occurrence)
        deeper = self.places.spot(deepest) if deepest is not None else None
        where = deeper or spot
        diagnostic = self._at_spot(occurrence, where)
        site = _site(where, diagnostic.span) if where.at_hand else None
        advised = self._advised(diagnostic, site, occurrence)
        return advised if deeper is None else replace(advised, span=spot.span)

    def _asking(self, occurrence: Occurrence) -> RawFrame | None:
        """The frame of somebody else's code that asks, where ours only calls it."""
        if occurrence.blamed is None:
            return None
        deeper = [
            frame
            for frame in occurrence.frames[occurrence.blamed + 1 :]
            if not is_framework(frame.filename) and not is_standard(frame.filename)
        ]
        return deeper[-1] if deeper else None

    def texts(self) -> dict[str, str]:
        """Filename → text for code frames: the pasted text, and of files not at hand what it quotes of them."""
        found = {self.name: self.text}
        for filename, known in self.quoted.items():
            found[filename] = "\n".join(known.get(row, "") for row in range(1, max(known) + 1)) + "\n"
        return found

    # ------------------------------------------------------------------ with a source line

    def _at_spot(self, occurrence: Occurrence, spot: Spot) -> Diagnostic:
        node = asking.narrowed(spot, occurrence.kind or "operator")
        if occurrence.kind == "operator":
            node = _called(node, occurrence.operator) or node
        source = spot.source
        span = source.span(node) if node is not None else spot.span
        symbols = self._symbols(occurrence, node, spot)
        if occurrence.code:
            return self._coded(occurrence, occurrence.code, span, source, symbols, self._frames(occurrence))
        site = site_of(source, node) if node is not None else None
        kind = occurrence.kind
        made_elsewhere = any(symbol.created is not None and symbol.created.row != span.row for symbol in symbols)
        tensor = occurrence.value == "tensor" or (
            kind == "truth" and not made_elsewhere and asking.is_tensor_truth(occurrence.raw, node)
        )
        tensor = tensor or (kind == "integer" and node is not None and self._is_implicit(occurrence, node, source))
        if kind == "guard":
            return self._guard(occurrence, site, span, source, symbols)
        if site is not None and self._is_read(occurrence, site):
            read = replace(occurrence, operator="", raw="")
            return self._coded(read, occurrence.read, span, source, symbols, self._frames(occurrence))
        if kind == "operator" and _casts(node):
            kind = "integer"
        elif site is not None and site.role in _TESTS and not _asks_itself(node):
            if kind == "operator":
                kind, tensor = "truth", True
            elif occurrence.read:  # the number that is read is compared
                kind, tensor = "truth", False
        if kind == "truth" and site is not None and _is_computed(site):
            asked = replace(occurrence, operator="", raw="")
            return self._coded(asked, "DDE304", span, source, symbols, self._frames(occurrence))
        text = " ".join(source.segment(span).split())
        unknown = Span(source.filename, 1, 1, 1, 1)
        question = Question(
            span=span,
            kind=kind,
            expression="" if site is not None else asking.worded(occurrence.raw, occurrence.names),
            raw=occurrence.raw or occurrence.operator,
            symbols=tuple(_as_asked(symbol, occurrence, unknown) for symbol in symbols),
            frames=self._frames(occurrence),
            asks=occurrence.asks,
            operator=occurrence.operator,
            detail=occurrence.message,
            types={text: TypeFact("tensor")} if tensor else {},
        )
        diagnostic = diagnose(question, source)
        expression = " ".join(diagnostic.expression.split())
        message = rule(diagnostic.code).message.format(expression=expression)
        return replace(diagnostic, expression=expression, message=message, symbols=symbols)

    def _is_read(self, occurrence: Occurrence, site: Site) -> bool:
        """Whether the place is nothing but an explicit read that the mode doesn't capture."""
        if not occurrence.read or site.role in _TESTS or _casts(site.node):
            return False
        if occurrence.flag and _is_own_call(site.node):
            return True  # what is read is read inside of it
        if occurrence.kind == "operator":
            parts = set(occurrence.operator.split("."))
            known = operators()
            return parts.isdisjoint(known.questions | known.tensor_offsets | known.static_arguments)
        return isinstance(site.node, ast.Call) and operators().returns.get(terminal_name(site.node.func)) in _READS

    def _is_implicit(self, occurrence: Occurrence, node: ast.AST, source: SourceFile) -> bool:
        """Whether a number is read from a tensor at the very place that wants it."""
        if _reads(node):
            return False
        if asking.is_parameter(source, node):
            return True
        births = [occurrence.births.get(name) for name in asking.symbols_in(occurrence.raw)]
        frame = occurrence.frame
        return frame is not None and any(
            birth is not None
            and birth.frame is not None
            and (birth.frame.filename, birth.frame.line) == (frame.filename, frame.line)
            for birth in births
        )

    def _guard(
        self, occurrence: Occurrence, site: Site | None, span: Span, source: SourceFile, symbols: tuple[Symbol, ...]
    ) -> Diagnostic:
        """A guard on an input's size: two sizes that must be equal, a size that became a constant, or a branch."""
        code = _code_of_guard(occurrence.raw)
        if code == "DDE401" and site is not None and site.role in _TESTS:
            code = rule_for(site, "input", symbols=symbols)
        return self._coded(occurrence, code, span, source, symbols, self._frames(occurrence))

    def _coded(
        self,
        occurrence: Occurrence,
        code: str,
        span: Span,
        source: SourceFile | None,
        symbols: tuple[Symbol, ...],
        frames: tuple[Frame, ...],
    ) -> Diagnostic:
        expression = _subject_of(occurrence) or (" ".join(source.segment(span).split()) if source is not None else "")
        expression = expression or f"{os.path.basename(normal(span.filename))}:{span.row}"
        return Diagnostic(
            code=code,
            message=rule(code).message.format(expression=expression),
            span=span,
            severity=rule(code).severity,
            origin=("trace",),
            expression=expression,
            symbols=symbols,
            frames=frames,
            asks=occurrence.asks,
            detail=occurrence.message,
        )

    # ------------------------------------------------------------------ without one

    def _without_site(self, occurrence: Occurrence, frame: RawFrame | None) -> Diagnostic:
        kind = occurrence.kind
        code = occurrence.code or (
            _code_of_guard(occurrence.raw) if kind == "guard" else _WITHOUT_SITE.get(kind, "DDE005")
        )
        if kind == "operator":
            parts = set(occurrence.operator.split("."))
            code = "DDE101" if parts & operators().questions else occurrence.read or code
        elif not occurrence.code and occurrence.read:
            code = occurrence.read
        elif kind == "truth" and occurrence.value == "tensor":
            code = "DDE105"
        span = self.places.span(frame) if frame is not None else self._in_text(occurrence)
        symbols = self._symbols(occurrence, None, None)
        return self._coded(occurrence, code, span, None, symbols, self._frames(occurrence))

    def _in_text(self, occurrence: Occurrence) -> Span:
        lines = rows(self.text)
        row = occurrence.row
        line = lines[row - 1] if 1 <= row <= len(lines) else ""
        start = len(line) - len(line.lstrip()) + 1
        return Span(self.name, row, start, row, max(len(line.rstrip()) + 1, start + 1))

    # ------------------------------------------------------------------ what belongs to it

    def _symbols(self, occurrence: Occurrence, node: ast.AST | None, spot: Spot | None) -> tuple[Symbol, ...]:
        names = asking.symbols_in(occurrence.raw)
        found = []
        for torch_name in names:
            birth = occurrence.births.get(torch_name)
            expression, target, created = self._born(birth)
            name = occurrence.names.get(torch_name) or ""
            if not name and len(names) == 1 and spot is not None:
                name = asking.name_at(node, spot.source)
                if not expression and spot.at_hand and node is not None:
                    name, expression, created = _defined(name, node, spot)
            name = name or target or torch_name
            if (
                torch_name in occurrence.sizes
                and not asking.looks_like_size(name)
                and spot is not None
                and node is not None
            ):
                name = next((text for text in _sizes(node, spot.source)), name)
            bounds = (birth.lower, birth.upper) if birth is not None else (None, None)
            found.append(Symbol(name, expression, created, torch_name, *bounds))
        return tuple(found)

    def _born(self, birth: Birth | None) -> tuple[str, str, Span | None]:
        """What made a symbol, the name that it was given there, and the place."""
        if birth is None or birth.frame is None:
            return "", "", None
        spot = self.places.spot(birth.frame)
        if spot is None:
            return birth.frame.code, "", None
        self._note(birth.frame, spot)
        node = spot.source.at(spot.span)
        target = ""
        if isinstance(node, (ast.If, ast.While, ast.Assert, ast.Return)):
            node = asking.narrowed(spot, "truth")
        if isinstance(node, ast.Assign):
            if isinstance(node.targets[0], (ast.Name, ast.Attribute)) and _reads(node.value):
                target = ast.unparse(node.targets[0])
            node = node.value
        if node is None or (isinstance(node, ast.stmt) and not isinstance(node, ast.Expr)):
            return birth.frame.code, "", spot.span
        return " ".join(spot.source.segment(node).split()), target, spot.source.span(node)

    def _frames(self, occurrence: Occurrence) -> tuple[Frame, ...]:
        """The way to the question through everybody's code, without those frames that only call the compiler."""
        frames = occurrence.frames
        entrance = next((at for at, frame in enumerate(frames) if is_entrance(frame)), -1)
        if occurrence.blamed is None or occurrence.blamed <= entrance:
            entrance = -1
        shown = []
        for frame in frames[entrance + 1 :]:
            if is_framework(frame.filename) or is_standard(frame.filename) or not frame.filename:
                continue
            inside = is_ours(frame.filename, self.paths) if self.paths else not is_installed(frame.filename)
            shown.append(Frame(self.places.span(frame), frame.function or "?", inside or frame == occurrence.frame))
        return tuple(shown)

    def _note(self, frame: RawFrame, spot: Spot | None) -> None:
        """Remember what the text quotes of a file that is not at hand."""
        if spot is not None and spot.at_hand:
            return
        if not frame.filename.startswith("<"):
            self.missing[frame.filename] = None
        rows = self.quoted.setdefault(frame.filename, {})
        rows.update(frame.context)
        if frame.code:
            rows[max(frame.line, 1)] = frame.code
        rows.setdefault(max(frame.line, 1), "")

    def _advised(self, diagnostic: Diagnostic, site: Site | None, occurrence: Occurrence) -> Diagnostic:
        if diagnostic.code == occurrence.read:  # a read that stopped tracing, and nothing more
            flag, what = occurrence.flag, f"`{diagnostic.expression}`"
            message = (
                f"{what} breaks the graph: Dynamo captures it with `{flag}` only"
                if flag
                else f"{what} stops tracing: what it gives depends on data"
            )
            advice = suggestions.capture(flag) if flag else suggestions.example(diagnostic.code)
            return replace(diagnostic, message=message, fix=advice, hints=occurrence.hints)
        diagnostic = replace(diagnostic, hints=_hints(occurrence))
        fix = (
            suggestions.rewrite(diagnostic, site, occurrence.kind or "operator", occurrence.operator) if site else None
        )
        if fix is None:
            return replace(diagnostic, fix=suggestions.example(diagnostic.code))
        return replace(diagnostic, fix=fix, evidence=suggestions.unverified())


def _hints(occurrence: Occurrence) -> tuple[str, ...]:
    """What torch advises, and the flag that helps where it does not name that."""
    if not occurrence.flag or any(occurrence.flag in hint for hint in occurrence.hints):
        return occurrence.hints
    return (*occurrence.hints, f"torch._dynamo.config.{occurrence.flag} = True captures the read itself")


def _as_asked(symbol: Symbol, occurrence: Occurrence, unknown: Span) -> Symbol:
    """A symbol with what classification goes by: a number of unknown birth is no input, and a size looks like one."""
    name = symbol.name
    if symbol.torch_name in occurrence.sizes and not asking.looks_like_size(name.replace("len(", "")):
        name += ".shape[0]"
    return replace(symbol, name=name, created=symbol.created or unknown)


def _defined(name: str, node: ast.AST, spot: Spot) -> tuple[str, str, Span | None]:
    """The one number of a question by its definition in the same function: (name, what made it, where)."""
    names = [name] if name else [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    for candidate in dict.fromkeys(names):
        value = asking.definition(spot.source, node, candidate) if candidate.isidentifier() else None
        if value is not None and _reads(value):
            return candidate, " ".join(spot.source.segment(value).split()), spot.source.span(value)
    return name, "", None


def _site(spot: Spot, span: Span) -> Site | None:
    node = spot.source.at(span)
    return site_of(spot.source, node) if node is not None else None


def _subject_of(occurrence: Occurrence) -> str:
    """The subject of a text that names one: an operator, a size, a pair of sizes."""
    groups: Mapping[str, str] = occurrence.groups
    if occurrence.operator:
        return occurrence.operator
    if "left" in groups:
        return " == ".join(_subject(groups[side]) for side in ("left", "right"))
    if "subject" in groups:
        subject = _subject(groups["subject"])
        return f"{subject} == {groups['answer']}" if groups.get("answer") else subject
    return asking.worded(occurrence.raw, occurrence.names) if occurrence.raw else ""


def _subject(text: str) -> str:
    """`batch = L['x'].size()[0]` → `x.shape[0]`."""
    return asking.worded(text.rpartition(" = ")[2].rstrip("."), {})


def _code_of_guard(raw: str) -> str:
    try:
        tree = ast.parse(raw, mode="eval").body
    except SyntaxError:
        return "DDE401"
    if isinstance(tree, ast.Call) and terminal_name(tree.func) == "Eq" and len(tree.args) == 2:
        constants = sum(isinstance(part, ast.Constant) for part in tree.args)
        return "DDE404" if constants else "DDE405"
    return "DDE401"


def _casts(node: ast.AST | None) -> bool:
    """Whether a node is a built-in that demands a concrete value."""
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in operators().python_builtins
    )


def _is_own_call(node: ast.AST) -> bool:
    """Whether a node calls a function of the user's: `self.step(x)`, `step(x)`."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"))):
            return True
        case ast.Call(func=ast.Name(id=name)):
            return name not in operators().python_builtins
    return False


def _is_computed(site: Site) -> bool:
    """Whether a place computes with tensors, and no yes or no is in it: the operator itself asks for a fact."""
    return isinstance(site.node, (ast.BinOp, ast.Subscript)) and site.role not in (*_TESTS, Role.BOOLEAN_OPERAND)


def _asks_itself(node: ast.AST | None) -> bool:
    """Whether a test is an operator that answers about data."""
    return node is not None and any(
        isinstance(part, ast.Call) and terminal_name(part.func) in operators().questions for part in ast.walk(node)
    )


def _reads(node: ast.AST) -> bool:
    """Whether an expression ends in a read of a number."""
    return isinstance(node, ast.Call) and (operators().returns.get(terminal_name(node.func)) in _READS or _casts(node))


def _called(node: ast.AST | None, operator: str) -> ast.expr | None:
    """The call of `operator` inside a node; of a test only the test itself counts."""
    if node is None:
        return None
    parts = set(operator.replace("::", ".").split("."))
    return next(
        (part for part in ast.walk(node) if isinstance(part, ast.Call) and terminal_name(part.func) in parts), None
    )


def _sizes(node: ast.AST, source: SourceFile) -> list[str]:
    """Expressions in a node that are sizes by their look."""
    parts = [part for part in ast.walk(node) if isinstance(part, (ast.Subscript, ast.Call))]
    return [text for part in parts if asking.looks_like_size(text := source.segment(part))]
