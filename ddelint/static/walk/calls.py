"""Calls: of operators, of built-ins, of containers' methods, and of the file's own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ddelint.operators import dotted_name, operators, terminal_name
from ddelint.source import descend
from ddelint.static.domain.facts import NONNEGATIVE
from ddelint.static.domain.state import Frame, State, join_states
from ddelint.static.domain.summaries import Signature, Summaries
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    ClassReference,
    Constant,
    Function,
    Instance,
    Known,
    Linear,
    Method,
    Module,
    Optional,
    Parent,
    Partial,
    Path,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    bare,
    fresh_symbol,
    join,
    replace,
    series,
)
from ddelint.static.program.regions import ClassInfo, FunctionNode
from ddelint.static.transfer.shapes import OperatorCall, Shapes
from ddelint.static.walk import hints
from ddelint.static.walk.evidence import Evidence, gather
from ddelint.static.walk.following import Following

if TYPE_CHECKING:
    from ddelint.static.walk.interpreter import Interpreter

SHORT = 40
"""Functions of at most so many lines are followed even without a source or sink in them."""

Arguments = list[Value]
Keywords = dict[str, Value]


class Calls:
    """Evaluates calls for an interpreter."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self.shapes = Shapes(interpreter)
        self.following = Following()
        self._evidence: dict[ast.AST, Evidence] = {}
        self._kept: list[object] = []
        self._summaries = Summaries(interpreter.derived)
        self._nonlocals: dict[ast.AST, tuple[str, ...]] = {}
        self._builtins: dict[str, Callable[[ast.Call, Arguments, Keywords, State], Value]] = {
            "cast": self._cast,
            "truth": self._truth,
            "length": self._length,
            "count_up": self._range,
            "keeps": self._keeps,
            "extremes": self._extremes,
            "asks_all": self._asks_all,
            "compares": self._compares,
            "text": self._text,
            "enumerate": self._enumerate,
            "zip": self._zip,
            "copies": self._copies,
            "hashes": self._hashes,
            "reversed": self._reversed,
            "map": self._map,
            "type_test": self._type_test,
            "attribute_test": lambda node, arguments, keywords, state: KNOWN,
            "attribute": self._getattr,
            "parent": self._parent,
            "silent": lambda node, arguments, keywords, state: UNKNOWN,
            "table": lambda node, arguments, keywords, state: Table(dict(keywords), UNKNOWN),
        }

    def evaluate(self, node: ast.Call, function: Value, state: State) -> Value:
        """The value of a call of `function`."""
        if isinstance(function, Optional):
            function = function.inner
        if isinstance(function, Path) and function.name.rsplit(".", 1)[-1] in operators().checks:
            return self._check(node, state)
        arguments: Arguments = []
        nodes: list[ast.expr] = []
        for argument in node.args:
            value = self._interpreter.evaluate(argument, state)
            if isinstance(argument, ast.Starred):
                inner = bare(value)
                if isinstance(inner, Series) and inner.items is not None:
                    arguments += inner.items
                    nodes += [argument] * len(inner.items)
                    continue
                value = UNKNOWN
            arguments.append(value)
            nodes.append(argument)
        keywords: Keywords = {}
        for keyword in node.keywords:
            value = self._interpreter.evaluate(keyword.value, state)
            if keyword.arg is not None:
                keywords[keyword.arg] = value
        return self.dispatch(function, node, arguments, nodes, keywords, state)

    def dispatch(
        self,
        function: Value,
        node: ast.Call,
        arguments: Arguments,
        nodes: list[ast.expr],
        keywords: Keywords,
        state: State,
    ) -> Value:
        """Call `function` with evaluated arguments."""
        if isinstance(function, Method):
            if isinstance(function.receiver, Tensor):
                return self._tensor_method(function, node, arguments, nodes, keywords, state)
            return self._container_method(function, node, arguments, keywords, state)
        if isinstance(function, Path):
            return self._path(function, node, arguments, nodes, keywords, state)
        if isinstance(function, Function):
            return self.invoke(function, arguments, keywords, state, node)
        if isinstance(function, ClassReference):
            return self._interpreter.records.built(function.cls, arguments, keywords, node, state)
        if isinstance(function, Instance):
            return self._call_instance(function, node, arguments, keywords, state)
        if isinstance(function, Module):
            return self._call_module(function, arguments)
        if isinstance(function, Series) and function.modules:
            return self._call_in_turn(function, node, arguments, nodes, state)
        if isinstance(function, Partial):
            given = function.arguments
            places = [*[node.func] * len(given), *nodes]
            return self.dispatch(function.function, node, [*given, *arguments], places, keywords, state)
        return self._reduced_and_read(node, state)

    def _reduced_and_read(self, node: ast.Call, state: State) -> Value:
        """`anything.max().item()`: what has both methods is a tensor. `get_ctx().new_dynamic_size()`: a size."""
        match node.func:
            case ast.Attribute(attr=made) if made in operators().regions["new_sizes"]:
                step = Step(node, operators().says["new_sizes"], None)
                return self._interpreter.new_size(node, state, step)
            case ast.Attribute(attr=read, value=ast.Call(func=ast.Attribute(attr=reduction, value=receiver))):
                known = operators()
                reads = known.returns.get(read) == "item"
                reduces = known.returns.get(reduction, "").startswith("reduction")
                if reads and reduces and self._interpreter.evaluate(receiver, state.copy()) == UNKNOWN:
                    mask = known.returns[reduction] == "reduction_mask"
                    return self.shapes.number(node, Tensor((), True, True if mask else None), state, "item")
        return UNKNOWN

    # ---- tensors and the framework

    def _tensor_method(
        self,
        method: Method,
        node: ast.Call,
        arguments: Arguments,
        nodes: list[ast.expr],
        keywords: Keywords,
        state: State,
    ) -> Value:
        tensor = method.receiver
        assert isinstance(tensor, Tensor)
        if method.name in operators().known_methods:
            return KNOWN
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        call = OperatorCall(
            node, method.name, tensor, arguments, nodes, keywords, state, True, arguments, nodes, receiver
        )
        answer = self.shapes.answer(call)
        if method.name.endswith("_") and isinstance(receiver, ast.Name) and receiver.id in state.names:
            state.names[receiver.id] = answer if isinstance(answer, Tensor) else tensor.renewed()
        return answer

    def _path(
        self, path: Path, node: ast.Call, arguments: Arguments, nodes: list[ast.expr], keywords: Keywords, state: State
    ) -> Value:
        known = operators()
        name = path.name.rsplit(".", 1)[-1]
        if path.name.startswith("builtins."):
            behaviour = known.builtins.get(name)
            handler = self._builtins.get(behaviour) if behaviour else None
            return handler(node, arguments, keywords, state) if handler else UNKNOWN
        if name in known.while_compiling:
            return Constant(known.while_compiling[name])
        if path.name in known.conversions:
            return self._conversion(node, arguments, state)
        if path.name in known.keeps:
            return self._keeps(node, arguments, keywords, state)
        if path.name in known.regions["record_factories"]:
            return self._interpreter.records.named(arguments)
        if path.name in known.regions["record_changes"] and arguments and isinstance(arguments[0], Instance):
            return self._interpreter.records.changed(arguments[0], keywords)
        if path.name in known.regions["tables"]:
            return self._builtins["table"](node, arguments, keywords, state)
        if path.name == "functools.partial" and arguments:
            return Partial(arguments[0], tuple(arguments[1:]))
        if path.name in known.regions["launch_wrappers"] and arguments:
            return arguments[0]
        if path.name in known.regions["launch_arithmetic"]:
            return self._symbolic("arithmetic", node, arguments, state)
        library = path.name.split(".")[0]
        if library != "torch" and path.name not in known.of_others:
            # what NumPy or the standard library gives is no tensor, and is known while tracing
            return KNOWN if library in known.regions["eager_libraries"] else self._elsewhere(node, arguments, keywords)
        if path.name in known.regions["passes_through"] and arguments:
            return self.dispatch(arguments[0], node, arguments[1:], nodes[1:], {}, state)
        module = self._module(path, arguments, keywords)
        if module is not None:
            return module
        if name in known.symbolic:
            return self._symbolic(known.symbolic[name], node, arguments, state)
        if (
            path.name not in known.of_others
            and path.name.rpartition(".")[0] not in known.regions["operator_namespaces"]
        ):
            return UNKNOWN
        return self._operator(name, node, arguments, nodes, keywords, state)

    def _elsewhere(self, node: ast.Call, arguments: Arguments, keywords: Keywords) -> Value:
        """What a function of another file returns."""
        index, name = self._interpreter.index, dotted_name(node.func)
        if index.context.elsewhere is None or not name:
            return UNKNOWN
        return index.context.elsewhere.returned(index.source.filename, name, arguments, keywords, node)

    def _operator(
        self, name: str, node: ast.Call, arguments: Arguments, nodes: list[ast.expr], keywords: Keywords, state: State
    ) -> Value:
        plain = [bare(value) for value in arguments]
        tensor_node: ast.expr | None
        if plain and isinstance(plain[0], Tensor):
            tensor, tensor_node, rest, rest_nodes = plain[0], nodes[0], arguments[1:], nodes[1:]
        elif "input" in keywords or "tensor" in keywords:
            given = bare(keywords.get("input", keywords.get("tensor", UNKNOWN)))
            tensor = given if isinstance(given, Tensor) else Tensor()
            tensor_node = next((k.value for k in node.keywords if k.arg in ("input", "tensor")), None)
            rest, rest_nodes = arguments, nodes
        else:
            tensor, tensor_node = Tensor(), nodes[0] if nodes else None
            rest, rest_nodes = arguments[1:], nodes[1:]
            numbers = bool(plain) and all(isinstance(value, (Constant, Known)) for value in plain[:2])
            if numbers and operators().returns.get(name, "").startswith(("broadcast", "reduction", "same")):
                return UNKNOWN
        call = OperatorCall(node, name, tensor, rest, rest_nodes, keywords, state, False, arguments, nodes, tensor_node)
        return self.shapes.answer(call)

    def _module(self, path: Path, arguments: Arguments, keywords: Keywords) -> Value | None:
        """An object of one of torch.nn's classes, where the path names one."""
        known = operators().regions
        if path.name in known["parameters"]:
            given = bare(arguments[0]) if arguments else UNKNOWN
            return replace(given.renewed(), offsets=False) if isinstance(given, Tensor) else Tensor(boolean=False)
        if path.name in known["module_lists"]:
            given = bare(arguments[0]) if len(arguments) == 1 else series(tuple(arguments))
            if isinstance(given, Series):
                return replace(given, kind="list", modules=True)
            return Series("list", None, UNKNOWN, KNOWN, True)
        if path.name in known["module_tables"]:
            given = bare(arguments[0]) if arguments else UNKNOWN
            return given if isinstance(given, Table) else Table()
        if path.name.startswith("torch.nn.") and path.name.rsplit(".", 1)[-1][:1].isupper():
            return Module(path.name)
        return None

    def _call_module(self, module: Module, arguments: Arguments) -> Value:
        if module.path.rsplit(".", 1)[-1] not in operators().regions["tensor_modules"]:
            return UNKNOWN
        given = bare(arguments[0]) if arguments else UNKNOWN
        if isinstance(given, Tensor):
            return Tensor(given.dims[:1] if given.unbacked_dims else (), False, False, trail=given.trail)
        return Tensor(boolean=False)

    def _call_in_turn(
        self, modules: Series, node: ast.Call, arguments: Arguments, nodes: list[ast.expr], state: State
    ) -> Value:
        """`nn.Sequential`: each module gets what the one before it gave."""
        value: Value = UNKNOWN
        for module in modules.items if modules.items is not None else (modules.element,):
            value = self.dispatch(module, node, arguments, nodes, {}, state)
            arguments = [value]
        return value

    def _symbolic(self, behaviour: str, node: ast.Call, arguments: Arguments, state: State) -> Value:
        values = [bare(value) for value in arguments]
        if len(values) == 1 and isinstance(values[0], Series):
            values = [bare(values[0].each)]
        unbacked = [value for value in values if isinstance(value, Unbacked)]
        if behaviour == "never_asks":
            return KNOWN
        if not unbacked:
            return KNOWN
        source = unbacked[0]
        if behaviour == "conjunction":
            known = tuple(c for value in unbacked for c in value.comparisons)
            complete = all(value.comparisons for value in unbacked)
            return replace(source, form=None, comparisons=known if complete else ())
        if behaviour == "negation" and len(source.comparisons) == 1:
            return replace(source, form=None, comparisons=(source.comparisons[0].negated(),))
        if behaviour == "arithmetic":
            forms = tuple(getattr(value, "form", None) for value in values)
            key = (ast.dump(node.func), forms)
            form = Linear.of(self._interpreter.derived.setdefault(key, fresh_symbol())) if None not in forms else None
            return replace(source, form=form, comparisons=())
        return replace(source, form=None, comparisons=())

    def _check(self, node: ast.Call, state: State) -> Value:
        """`torch._check(condition, …)`: what it states holds from here on."""
        interpreter = self._interpreter
        if not node.args:
            return NONE
        condition = node.args[0]
        value = bare(interpreter.evaluate(condition, state))
        if isinstance(value, Unbacked) and not value.comparisons and value.topic != "bool":
            # _check_is_size(n)
            if value.form is not None:
                state.facts.learn_bounds(value.form, NONNEGATIVE)
            return NONE
        interpreter.quiet += 1
        true, _ = interpreter.branch(condition, state.copy())
        interpreter.quiet -= 1
        if true is not None:
            state.facts = true.facts
        return NONE

    def noted_read(self, node: ast.expr, tensor: Tensor, state: State) -> None:
        """A number was read from a tensor that the expression computes: the second time it is another symbol."""
        interpreter = self._interpreter
        if interpreter.quiet:
            return
        source = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
        if source is None and isinstance(node, ast.Call) and len(node.args) == 1:
            source = node.args[0]
        if not isinstance(source, (ast.Call, ast.Subscript, ast.BinOp)):
            return
        text = interpreter.source.segment(source)
        names: list[tuple[str, int]] = []
        for part in ast.walk(source):
            if isinstance(part, ast.Name) and part.id in state.names:
                value = state.names[part.id]
                self._kept.append(value)
                names.append((part.id, id(value)))
            elif isinstance(part, ast.Call) and terminal_name(part.func) in operators().random:
                return
        key = (text, tuple(names), id(interpreter.frames[-1]))
        self._kept.append(interpreter.frames[-1])
        first = state.reads.get(key)
        if first is None:
            state.reads[key] = node
        elif first is not node:
            value = Unbacked("number", first, None, trail=Step(first, "the same value is read here", None))
            interpreter.record(node, "other", value, rule="DDE205", parts=((source, value),))

    # ---- built-ins

    def _cast(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        interpreter = self._interpreter
        value = bare(arguments[0]) if arguments else KNOWN
        subject = node.args[0] if node.args else None
        if isinstance(value, Tensor):
            if value.literal:
                return KNOWN
            interpreter.record(node, "integer", value, parts=((subject, value),) if subject is not None else ())
            number = self.shapes.number(node, value, state, "cast")
            return replace(number, topic="number") if isinstance(number, Unbacked) else number
        if isinstance(value, Unbacked):
            parts = interpreter.parts(subject, state) if subject is not None else ()
            interpreter.record(node, "integer", value, parts=parts)
            return value
        return KNOWN

    def _conversion(self, node: ast.Call, arguments: Arguments, state: State) -> Value:
        """A library function that turns its argument into a float."""
        for value, argument in zip(map(bare, arguments), node.args):
            if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
                self._interpreter.record(
                    node, "integer", value, parts=self._interpreter.parts(argument, state), rule="DDE201"
                )
                if isinstance(value, Unbacked):
                    return replace(value, form=None, comparisons=(), topic="number")
                return Unbacked("number", node, None, trail=Step(node, operators().says["cast"], None))
        return KNOWN

    def _truth(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        value = bare(arguments[0]) if arguments else KNOWN
        interpreter = self._interpreter
        verdict = interpreter.decide(value, state)
        if verdict is not None:
            return Constant(verdict)
        if isinstance(value, (Tensor, Unbacked)) and not (isinstance(value, Tensor) and value.literal):
            interpreter.record(node, "truth", value, parts=interpreter.parts(_argument(node), state))
        return KNOWN

    def _length(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        value = bare(arguments[0]) if arguments else UNKNOWN
        interpreter = self._interpreter
        if isinstance(value, Tensor):
            size = interpreter.size_of(value, 0, state)
            if isinstance(size, Unbacked):
                interpreter.record(node, "integer", size, parts=((_argument(node), value),))
            return size
        if isinstance(value, Series):
            return value.length
        return KNOWN

    def _range(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        values = [bare(value) for value in arguments]
        interpreter = self._interpreter
        for value, argument in zip(values, node.args):
            if isinstance(value, Unbacked) or (isinstance(value, Tensor) and not value.literal):
                subject = argument if len(node.args) == 1 else None
                interpreter.record(
                    node, "integer", value, subject=subject, parts=interpreter.parts(argument, state), rule="DDE203"
                )
                break
        if len(values) == 1 and isinstance(values[0], Constant):
            return Series("range", None, KNOWN, values[0])
        return Series("range", None, KNOWN, KNOWN)

    def _keeps(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        values = [bare(value) for value in arguments]
        if len(values) == 1 and isinstance(values[0], Series):
            values = [bare(values[0].each)]
        for value in values:
            if isinstance(value, Tensor):
                return Tensor(value.dims, value.complete)
        for value in values:
            if isinstance(value, Unbacked):
                return replace(value, form=None, comparisons=())
        return KNOWN if all(isinstance(value, (Constant, Known)) for value in values) else UNKNOWN

    def _extremes(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        """`max` and `min`: of symbols they stay symbolic, of tensors they are traced."""
        values = [bare(value) for value in arguments]
        interpreter = self._interpreter
        if len(values) == 1:
            only = values[0]
            values = [bare(only.each)] if isinstance(only, Series) else [only]
            if isinstance(only, Series) and isinstance(only.length, Constant) and only.length.value == 1:
                return values[0]
        for value in values:
            if isinstance(value, Tensor):
                scalar = all(not isinstance(each, Tensor) or each.scalar for each in values)
                return Tensor((), scalar, value.boolean)
        unbacked = [value for value in values if isinstance(value, Unbacked)]
        if not unbacked:
            return KNOWN if all(isinstance(value, (Constant, Known)) for value in values) else UNKNOWN
        source = unbacked[0]
        fraction = any(isinstance(value, Constant) and type(value.value) is float for value in values)
        if fraction and source.topic == "number" and not source.loose:  # integers stay symbolic, what else is compared
            self._interpreter.record(node, "truth", source, parts=tuple(zip(node.args, values)), rule="DDE108")
        forms = tuple(getattr(value, "form", None) for value in values)
        form = None
        if None not in forms and len(arguments) > 1:
            form = Linear.of(interpreter.derived.setdefault((ast.dump(node.func), forms), fresh_symbol()))
            if all(state.facts.bounds(each)[0] >= 0 for each in forms if each is not None):
                state.facts.learn_bounds(form, NONNEGATIVE)
        return replace(source, form=form, comparisons=())

    def _asks_all(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        interpreter = self._interpreter
        value = bare(arguments[0]) if arguments else UNKNOWN
        if isinstance(value, Tensor):
            interpreter.record(node, "truth", value, parts=((_argument(node), value),))
            return KNOWN
        if isinstance(value, Series):
            for item in value.items if value.items is not None else (value.element,):
                item = bare(item)
                if interpreter.asks(item) and interpreter.decide(item, state) is None:
                    self._interpreter.record(node, "truth", item, parts=((_argument(node), item),))
                    break
        return KNOWN

    def _compares(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        value = bare(arguments[0]) if arguments else UNKNOWN
        if isinstance(value, Series):
            each = bare(value.each)
            if isinstance(each, (Tensor, Unbacked)) and "key" not in keywords:
                subject, rule = _argument(node), ""
                if not node.args and isinstance(node.func, ast.Attribute):  # `values.sort()`
                    subject, rule = node.func.value, "DDE108" if isinstance(each, Unbacked) else ""
                self._interpreter.record(node, "truth", each, parts=((subject, each),), rule=rule)
            return Series("list", None, value.each, value.length)
        return UNKNOWN

    def _text(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        for value, argument in zip(map(bare, arguments), node.args):
            if isinstance(value, Unbacked):
                self._interpreter.record(
                    node,
                    "failure",
                    value,
                    subject=argument,
                    parts=self._interpreter.parts(argument, state),
                    rule="DDE208",
                )
        return KNOWN

    def _enumerate(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        value = bare(arguments[0]) if arguments else UNKNOWN
        if node.args:
            self._interpreter.iterated(node.args[0], value, state)
        element = self._interpreter.element_of(value, state)
        if isinstance(value, Series) and value.items is not None:
            return series(tuple(series((Constant(i), item), "tuple") for i, item in enumerate(value.items)))
        return Series("list", None, series((KNOWN, element), "tuple"), self._interpreter.length_of(value))

    def _zip(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        values = [bare(value) for value in arguments]
        for value, argument in zip(values, node.args):
            self._interpreter.iterated(argument, value, state)
        elements = tuple(self._interpreter.element_of(value, state) for value in values)
        return Series("list", None, series(elements, "tuple"), KNOWN)

    def _copies(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        if not arguments:
            return series(())
        value = bare(arguments[0])
        self._interpreter.iterated(_argument(node), value, state)
        if isinstance(value, Series):
            return replace(value, kind="list") if value.kind != "shape" else value
        if isinstance(value, Tensor):
            return Series("list", None, self._interpreter.element_of(value, state), self._interpreter.length_of(value))
        return UNKNOWN

    def _hashes(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        """`set(values)`: a symbol has no hash."""
        if not arguments:
            return Series("set", (), UNKNOWN, Constant(0))
        value = bare(arguments[0])
        self._interpreter.iterated(_argument(node), value, state)
        if isinstance(value, Series):
            each = bare(value.each)
            if isinstance(each, Unbacked):
                subject = _argument(node)
                self._interpreter.record(node, "failure", each, subject=subject, parts=((subject, each),))
            return Series("set", None, each, KNOWN)
        return UNKNOWN

    def _reversed(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        value = bare(arguments[0]) if arguments else UNKNOWN
        if isinstance(value, Series) and value.items is not None:
            return replace(value, items=tuple(reversed(value.items)), kind="list")
        return value if isinstance(value, Series) else UNKNOWN

    def _map(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        if len(arguments) != 2:
            return UNKNOWN
        iterable = bare(arguments[1])
        element = self._interpreter.element_of(iterable, state)
        function = arguments[0]
        result: Value = UNKNOWN
        if isinstance(function, Path) and operators().builtins.get(function.name.rsplit(".", 1)[-1]) == "cast":
            plain = bare(element)
            if isinstance(plain, (Unbacked, Tensor)):
                self._interpreter.record(node, "integer", plain, parts=((_argument(node, 1), plain),), rule="DDE201")
                result = plain if isinstance(plain, Unbacked) else self.shapes.number(node, plain, state, "cast")
            else:
                result = KNOWN
        elif isinstance(function, Function):
            result = self.invoke(function, [element], {}, state, node)
        return Series("list", None, result, self._interpreter.length_of(iterable))

    def _type_test(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        if len(arguments) != 2 or len(node.args) != 2:
            return KNOWN  # `isinstance(*both)`
        value = arguments[0]
        tensor = hints.names_tensor(node.args[1], self._interpreter.index)
        if value == NONE and tensor is not None:
            return Constant(False)
        if tensor is True:
            if isinstance(value, Tensor):
                return Constant(True)
            if isinstance(value, (Unbacked, Series, Table, Known, Constant)):
                return Constant(False)
        if tensor is False and isinstance(value, Tensor):
            return KNOWN
        return KNOWN

    def _getattr(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        if len(arguments) >= 2 and isinstance(arguments[1], Constant) and isinstance(arguments[1].value, str):
            attribute = ast.Attribute(_argument(node), arguments[1].value, ast.Load())
            return self._interpreter.attribute_of(arguments[0], ast.copy_location(attribute, node), state)
        return UNKNOWN

    def _parent(self, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State) -> Value:
        owner = self._interpreter.frames[-1].owner
        if owner is None:
            return UNKNOWN
        self_value = next(iter(state.names.values()), UNKNOWN)
        return Parent(owner, self_value)

    # ---- methods of containers and text

    def _container_method(
        self, method: Method, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State
    ) -> Value:
        receiver, name = method.receiver, method.name
        root = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(receiver, Series):
            return self._list_method(receiver, name, root, node, arguments, keywords, state)
        if isinstance(receiver, Table):
            return self._table_method(receiver, name, root, node, arguments, state)
        if isinstance(receiver, Constant) and isinstance(receiver.value, str) and name == "format":
            return self._text(node, arguments, keywords, state)
        if isinstance(receiver, Instance):
            records = self._interpreter.records
            return records.changed(receiver, keywords) if keywords else records.as_table(receiver)
        if isinstance(receiver, Unbacked):
            return receiver if name in ("item", "tolist") else KNOWN
        return KNOWN if isinstance(receiver, Constant) else UNKNOWN

    def _list_method(
        self,
        receiver: Series,
        name: str,
        root: ast.expr | None,
        node: ast.Call,
        arguments: Arguments,
        keywords: Keywords,
        state: State,
    ) -> Value:
        interpreter = self._interpreter
        changed: Series | None = None
        result: Value = NONE
        if name == "append" and arguments:
            if receiver.items is not None and len(receiver.items) < 16:
                changed = replace(series((*receiver.items, arguments[0]), receiver.kind), modules=receiver.modules)
            else:
                changed = Series(receiver.kind, None, join(receiver.each, arguments[0]), KNOWN, receiver.modules)
        elif name in ("extend", "insert") and arguments:
            other = arguments[-1]
            element = interpreter.element_of(bare(other), state) if name == "extend" else other
            each = element if receiver.items == () else join(receiver.each, element)
            changed = Series(receiver.kind, None, each, KNOWN, receiver.modules)
        elif name == "pop":
            changed = Series(receiver.kind, None, receiver.each, KNOWN, receiver.modules)
            result = receiver.each
        elif name == "sort":
            self._compares(node, [receiver], keywords, state) if not node.args and root is not None else None
        elif name == "copy":
            result = receiver
        elif name == "numel":
            return interpreter.product(receiver.items, state) if receiver.items is not None else KNOWN
        elif name in ("items", "keys", "values"):
            return UNKNOWN
        elif name in ("index", "count", "remove"):
            for value in (bare(receiver.each), *map(bare, arguments[:1])):
                if isinstance(value, (Unbacked, Tensor)):
                    parts = ((root, value),) if root is not None else ()
                    rule = "DDE108" if isinstance(value, Unbacked) else ""
                    interpreter.record(node, "truth", value, parts=parts, rule=rule)
                    break
            result = KNOWN
        else:
            result = UNKNOWN
        if changed is not None and root is not None:
            interpreter.mutated(root, changed, state)
        return result

    def _table_method(
        self, receiver: Table, name: str, root: ast.expr | None, node: ast.Call, arguments: Arguments, state: State
    ) -> Value:
        each: Value = receiver.element
        for value in receiver.entries.values():
            each = value if each == UNKNOWN and len(receiver.entries) > 0 else join(each, value)
        if name in ("get", "pop", "setdefault") and arguments:
            key = bare(arguments[0])
            if isinstance(key, Unbacked):
                parts = self._interpreter.parts(node.args[0], state)
                self._interpreter.record(node, "failure", key, subject=node.args[0], parts=parts, rule="DDE202")
                return each
            if isinstance(key, Constant) and isinstance(key.value, (str, int, float, bool)):
                if key.value in receiver.entries:
                    return receiver.entries[key.value]
                return UNKNOWN if receiver.element == UNKNOWN else receiver.element
            return UNKNOWN
        if name == "items":
            return Series("list", None, series((UNKNOWN, each), "tuple"))
        if name == "values":
            return Series("list", None, each)
        if name == "keys":
            return Series("list", None, UNKNOWN)
        if name == "copy":
            return receiver
        if name == "update" and root is not None:
            self._interpreter.mutated(root, Table({}, UNKNOWN), state)
        return UNKNOWN

    # ---- the file's own functions

    def _call_instance(
        self, instance: Instance, node: ast.Call, arguments: Arguments, keywords: Keywords, state: State
    ) -> Value:
        index = self._interpreter.index
        for name in ("__call__", *sorted(operators().regions["entry_methods"])):
            found = index.method(instance.cls, name)
            if found is not None:
                return self.invoke(Function(found[0], instance, None, found[1]), arguments, keywords, state, node)
        return UNKNOWN

    def invoke(
        self, function: Function, arguments: Arguments, keywords: Keywords, state: State, node: ast.AST
    ) -> Value:
        """Interpret a function of the file with these arguments; its annotation answers where that leads too far."""
        interpreter = self._interpreter
        definition = function.node
        promised = hints.value_of(getattr(definition, "returns", None), interpreter.index)
        if isinstance(definition, FunctionNode):
            if interpreter.index.excluded(definition):
                self._compile_time_constants(definition, arguments, keywords, state, node)
                return promised
            if interpreter.index.decorated(definition, operators().regions["cached"]):
                self._hashed(node, arguments, state)
            lines = (definition.end_lineno or definition.lineno) - definition.lineno
            followed = lines <= SHORT and definition.name not in operators().regions["entry_methods"]
            followed = followed or not interpreter.frames or interpreter.index.matters(definition)
            if not followed and not any(map(demanding, (*arguments, *keywords.values()))):
                return promised
        at_home = bool(interpreter.frames) and function.home is interpreter.frames[-1]
        seen = state.names if at_home else function.closure
        names = self._parameters(function, arguments, keywords, node, interpreter)
        own = self._is_own(function, node, state)
        signature: Signature | None = None
        if seen is None and not (own and state.attributes):
            signature = Signature(definition, names, interpreter.quiet > 0)
            found = self._summaries.find(signature, state.facts)
            if found is not None:
                return found
        entry = State({**seen, **names} if seen else names, state.facts)
        if own:
            entry.attributes = dict(state.attributes)
        if not self._may_follow(definition, names):
            if not interpreter.quiet:
                self.following.postpone(function, entry.copy())
            return promised
        floor, refusals = fresh_symbol(), self.following.refusals
        before = entry.facts.older_than(floor) if signature is not None and signature.key is not None else None
        returned, end = self._execute(definition, function, entry)
        if end is not None:
            state.facts = end.facts
            if own:
                state.attributes = end.attributes
            if at_home:
                self._written_outside(definition, end, state)
        if returned is None:
            return promised
        if bare(returned) == UNKNOWN and promised != UNKNOWN:
            returned = promised
        if before is not None and signature is not None and end is not None and not (own and end.attributes):
            alone = self.following.refusals == refusals and before == end.facts.older_than(floor)
            if alone:
                self._summaries.keep(signature, returned, floor, end.facts)
        return returned

    def follow_late(self, function: Function, entry: State) -> None:
        """Interpret a function whose calls led too deep, with what holds at its first line."""
        self._execute(function.node, function, entry)

    def _written_outside(self, definition: FunctionNode | ast.Lambda, end: State, state: State) -> None:
        """Names of the surrounding function that the called one has bound anew."""
        if isinstance(definition, ast.Lambda):
            return
        if definition not in self._nonlocals:
            found = (node.names for node in descend(definition) if isinstance(node, ast.Nonlocal))
            self._nonlocals[definition] = tuple(name for names in found for name in names)
        for name in self._nonlocals[definition]:
            if name in end.names:
                state.names[name] = end.names[name]
                state.forget_choices(name)

    def constructed(
        self,
        found: tuple[FunctionNode, ClassInfo],
        cls: ClassInfo,
        arguments: Arguments,
        keywords: Keywords,
        state: State,
        node: ast.Call,
    ) -> dict[str, Value] | None:
        """What a constructor that runs with these arguments leaves in the object; None where that leads too far."""
        interpreter = self._interpreter
        definition = found[0]
        function = Function(definition, Instance(cls), None, found[1])
        names = self._parameters(function, arguments, keywords, node, interpreter)
        if not definition.args.args or not self._may_follow(definition, names):
            return None
        entry = State(names, state.facts)
        _, end = self._execute(definition, function, entry)
        if end is None:
            return None
        state.facts = end.facts
        prefix = definition.args.args[0].arg + "."
        own = {chain.removeprefix(prefix): v for chain, v in end.attributes.items() if chain.startswith(prefix)}
        return {name: value for name, value in own.items() if "." not in name and value != UNKNOWN}

    def _may_follow(self, definition: FunctionNode | ast.Lambda, names: dict[str, Value]) -> bool:
        active = [frame.node for frame in self._interpreter.frames]
        return self.following.may(definition, active, names, self._interpreter.quiet > 0)

    def quietly(self, definition: FunctionNode, cls: ClassInfo, state: State) -> State | None:
        """Interpret a function body without recording anything; the state at its end."""
        interpreter = self._interpreter
        if any(frame.node is definition for frame in interpreter.frames):
            return None
        interpreter.quiet += 1
        try:
            return self._execute(definition, Function(definition, None, None, cls), state)[1]
        finally:
            interpreter.quiet -= 1

    def _execute(
        self, definition: FunctionNode | ast.Lambda, function: Function, entry: State
    ) -> tuple[Value | None, State | None]:
        interpreter = self._interpreter
        frame = Frame(definition, function.owner)
        interpreter.frames.append(frame)
        try:
            if isinstance(definition, ast.Lambda):
                return interpreter.evaluate(definition.body, entry), entry
            end = interpreter.block(definition.body, entry)
        finally:
            interpreter.frames.pop()
        if frame.generator:
            return UNKNOWN, end
        ends = [reached for _, reached in frame.returned] + ([end] if end is not None else [])
        result: Value | None = None
        for value, _ in frame.returned:
            result = value if result is None else join(result, value)
        if end is not None and result is not None:
            result = join(result, NONE)
        elif end is not None:
            result = NONE
        return result, join_states(ends)

    def _is_own(self, function: Function, node: ast.AST, state: State) -> bool:
        """Whether the call is of a method of the object that the calling frame is about."""
        if not isinstance(function.bound, Instance) or not isinstance(node, (ast.Call, ast.Attribute)):
            return False
        target = node.func if isinstance(node, ast.Call) else node
        if not isinstance(target, ast.Attribute):
            return False
        if isinstance(target.value, ast.Name):
            return target.value.id == "self"
        return isinstance(target.value, ast.Call) and terminal_name(target.value.func) == "super"

    def _compile_time_constants(
        self, definition: FunctionNode, arguments: Arguments, keywords: Keywords, state: State, node: ast.AST
    ) -> None:
        """A Triton kernel's parameters (and its launch's options) that must be known when it is compiled."""
        if not isinstance(node, ast.Call):
            return
        declared = [*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs]
        constants = {parameter.arg for parameter in declared if _is_constexpr(parameter.annotation)}
        if not constants:
            return
        places = {k.arg: k.value for k in node.keywords if k.arg is not None}
        constants |= places.keys() - {parameter.arg for parameter in declared}
        given = dict(zip((parameter.arg for parameter in declared), zip(arguments, node.args)))
        given |= {name: (keywords[name], place) for name, place in places.items() if name in keywords}
        for name, (value, place) in given.items():
            value = bare(value)
            if name in constants and isinstance(value, (Unbacked, Tensor)):
                parts = self._interpreter.parts(place, state)
                self._interpreter.record(place, "integer", value, parts=parts, rule="DDE209")

    def _hashed(self, node: ast.AST, arguments: Arguments, state: State) -> None:
        if not isinstance(node, ast.Call):
            return
        for value, argument in zip(map(bare, arguments), node.args):
            if isinstance(value, Unbacked):
                parts = self._interpreter.parts(argument, state)
                self._interpreter.record(node, "failure", value, subject=argument, parts=parts, rule="DDE208")

    def _parameters(
        self, function: Function, arguments: Arguments, keywords: Keywords, node: ast.AST, interpreter: Interpreter
    ) -> dict[str, Value]:
        """The parameters' values: what is passed, else what the declaration and its use say."""
        declared = function.node.args
        positional = [*declared.posonlyargs, *declared.args]
        names: dict[str, Value] = {}
        given = list(arguments)
        if function.bound is not None and positional:
            given.insert(0, function.bound)
        elif isinstance(function.node, FunctionNode) and _is_classmethod(function.node) and positional:
            given.insert(0, UNKNOWN)
        defaults: dict[str, ast.expr] = {}
        for parameter, default in zip(reversed(positional), reversed(declared.defaults)):
            defaults[parameter.arg] = default
        for parameter, keyword_default in zip(declared.kwonlyargs, declared.kw_defaults):
            if keyword_default is not None:
                defaults[parameter.arg] = keyword_default
        called = isinstance(node, ast.Call) and bool(interpreter.frames)
        for position, parameter in enumerate((*positional, *declared.kwonlyargs)):
            value: Value | None = None
            if position < len(given) and position < len(positional):
                value = given[position]
            elif parameter.arg in keywords:
                value = keywords[parameter.arg]
            elif called and parameter.arg in defaults and not _spreads(node):
                value = interpreter.settled(defaults[parameter.arg])
                default_node = defaults[parameter.arg]
                if isinstance(default_node, ast.Constant):
                    value = Constant(default_node.value)
            if value is None or value == UNKNOWN:
                value = self._declared(parameter, defaults.get(parameter.arg), function.node, function.owner)
                if isinstance(tensor := bare(value), Tensor):
                    interpreter.given.add(tensor.outline)
            elif isinstance(value, Unbacked) and isinstance(node, ast.Call) and called:
                name = getattr(function.node, "name", "a lambda")
                if value.trail is None or value.trail.node is not node:
                    step = Step(node, f"it is passed to `{name}` as `{parameter.arg}`", value.trail)
                    value = replace(value, trail=step)
            names[parameter.arg] = value
        if declared.vararg is not None:
            rest = given[len(positional) :]
            names[declared.vararg.arg] = series(tuple(rest), "tuple") if rest else Series("tuple")
        if declared.kwarg is not None:
            names[declared.kwarg.arg] = Table({}, UNKNOWN)
        return names

    def _declared(
        self, parameter: ast.arg, default: ast.expr | None, function: ast.AST, owner: ClassInfo | None
    ) -> Value:
        """A parameter of which the caller says nothing."""
        if parameter.annotation is not None:
            value = hints.value_of(parameter.annotation, self._interpreter.index)
            if isinstance(value, Tensor) and isinstance(default, ast.Constant):
                return Optional(value) if default.value is None else UNKNOWN  # `flag: Tensor = False` is none
            return value
        if parameter.arg in self.evidence(function, owner).parameters:
            if isinstance(default, ast.Constant) and default.value is None:
                return Optional(Tensor())
            return Tensor() if default is None else UNKNOWN
        if isinstance(default, ast.Constant) and isinstance(default.value, (bool, int, float, str)):
            return KNOWN
        return UNKNOWN

    def evidence(self, function: ast.AST, owner: ClassInfo | None = None) -> Evidence:
        """What a function's text says of its names."""
        found = self._evidence.get(function)
        if found is None:
            found = self._evidence[function] = gather(function, owner, self._interpreter)
        return found


def demanding(value: Value) -> bool:
    """Whether a function that gets the value may ask about it though nothing in its text says so."""
    value = bare(value)
    if isinstance(value, Series):
        return any(map(demanding, value.items if value.items is not None else (value.element,)))
    if isinstance(value, Instance):
        return value.fields is not None and any(map(demanding, value.fields.values()))
    return isinstance(value, Unbacked) or (isinstance(value, Tensor) and (value.scalar or bool(value.unbacked_dims)))


def _is_constexpr(annotation: ast.expr | None) -> bool:
    """Whether a parameter is declared as a compile-time constant, also as text."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        name = annotation.value.rpartition(".")[2]
    else:
        name = "" if annotation is None else terminal_name(annotation)
    return name in operators().regions["constexpr"]


def _argument(node: ast.Call, position: int = 0) -> ast.expr:
    """An argument as it is written; the call itself where it is not: `isinstance(*both)`, `partial(len, x)()`."""
    return node.args[position] if position < len(node.args) else node


def _is_classmethod(node: FunctionNode) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "classmethod" for d in node.decorator_list)


def _spreads(node: Any) -> bool:
    """Whether the call hands on arguments that aren't written out."""
    return any(isinstance(a, ast.Starred) for a in node.args) or any(k.arg is None for k in node.keywords)
