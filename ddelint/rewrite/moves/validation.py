"""What a library checks of its arguments on data: while compiling it doesn't, as `torch.compile` has it anyway."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.managers import origin
from ddelint.rewrite.writing.rewrites import Part, Rewrite, rewriting

_MESSAGE = "let the library check its arguments in eager alone: `torch.compile` switches these checks off, too"


@rewriting("validated_in_eager")
def validated_in_eager(context: Context) -> Iterator[Rewrite]:
    """`Normal(mean, std)` → `Normal(mean, std, validate_args=False if torch.compiler.is_compiling() else None)`."""
    source, write = context.site.source, context.write
    for call in around(context):
        if not isinstance(call, ast.Call) or not context.asks_in(call):
            continue
        option = _option(origin(call.func, source))
        given = [keyword.arg for keyword in call.keywords]
        if option is None or option in given or None in given:
            continue
        value = write.expr("False if torch.compiler.is_compiling() else None")
        arguments: list[Part] = [*call.args, *call.keywords, write.keyword(option, value)]
        yield Rewrite(
            _MESSAGE,
            {call: write.expr("{}({})", call.func, arguments)},
            Claim.GENERAL_PATH,
            ("the compiled program doesn't check them",),
        )


def _option(called: str) -> str | None:
    """The argument that switches off the checks of a class, by its dotted name."""
    known = operators().regions
    is_class = called.rpartition(".")[2][:1].isupper()
    ours = is_class and any(called.startswith(f"{library}.") for library in known["validating_libraries"])
    return min(known["validating_arguments"]) if ours else None
