import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.tree import argument, constant

_SWITCH = "torch._dynamo.config.suppress_errors"
_CONFIG = "torch._dynamo.config"


class SuppressErrors(Rule):
    """`torch._dynamo.config.suppress_errors = True`: code that cannot be compiled silently runs uncompiled.

    ## Why it matters
    The run goes on at eager speed, or at a mix of both, and the only trace is a warning that scrolls by. A real fault
    of the model that shows up while compiling is hidden as well.

    ## Usual causes
    An error message of torch.compile that proposes this line; a reentrant checkpoint inside a compiled model.

    ## What to do
    Take the line out and look at the first error. `checkpoint(..., use_reentrant=False)` cures the commonest one;
    compile single blocks, or mark a function with `torch.compiler.disable`, where the rest cannot be compiled.
    """

    card = Card("PM511", "suppress-errors", "compile", Severity.WARNING)
    triggers = (b"suppress_errors",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for statement in source.nodes(ast.Assign):
            if constant(statement.value) is True and any(
                isinstance(target, ast.Attribute) and source.names.all_in(target, {_SWITCH})
                for target in statement.targets
            ):
                yield self._hidden(source, statement)
        for call in source.calls_to("setattr"):
            if (
                source.names.all_in(argument(call, "", 0), {_CONFIG})
                and constant(argument(call, "", 1)) == "suppress_errors"
                and constant(argument(call, "", 2)) is True
            ):
                yield self._hidden(source, call)

    def _hidden(self, source: Source, node: ast.AST) -> Diagnostic:
        return self.report(
            source,
            node,
            "code that torch.compile fails on now runs uncompiled, without an error",
            remedy="Remove the line and fix the first error, or use `torch.compiler.disable` on that part.",
        )
