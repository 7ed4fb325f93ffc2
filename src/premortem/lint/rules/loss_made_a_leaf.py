from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.project_facts import Facts
from premortem.lint.rule import Rule
from premortem.lint.source import Source, argument, constant, last_name, receiver
from premortem.lint.training import Backward, backwards, is_test, names_in, steps

VARIABLE = frozenset(("torch.autograd.Variable", "torch.autograd.variable.Variable"))
TENSOR = frozenset(("torch.tensor", "torch.as_tensor", "torch.FloatTensor"))
CUTS = frozenset(("detach", "item", "numpy"))


class LossMadeALeaf(Rule):
    """The loss is cut off from the model and then told to require a gradient, so that `backward()` runs.

    ## Why it matters
    `loss = Variable(loss, requires_grad=True)`, `torch.tensor(loss, requires_grad=True)` and
    `loss.detach().requires_grad_()` make a new tensor that knows nothing of the model. `backward()` no longer
    complains, gives every parameter no gradient, and the run learns nothing.

    ## Usual causes
    - a way around "element 0 of tensors does not require grad": the true cause lies before, where the graph is lost
      (`.item()`, `.detach()`, `argmax`, `no_grad`, numpy)

    ## What to do
    Take the line away, and find where the loss loses its graph.

    ## When it stays silent
    For constants, outside of training steps, and when the name is bound in other ways too.
    """

    card: ClassVar[Card] = Card(
        code="PM553", name="loss-made-a-leaf", family="grad-flow", severity=Severity.ERROR
    )

    def wants(self, data: bytes) -> bool:
        return b"requires_grad" in data and b".backward(" in data and b".step(" in data

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        training = {source.scope(one.call) for one in steps(source)}
        told: set[ast.AST] = set()
        for backward in backwards(source):
            scope = source.scope(backward.call)
            if not backward.name or scope not in training or is_test(source, backward.call):
                continue
            definitions = source.flow(scope).definitions(backward.loss)
            made = [one.value for one in definitions if one.how == "assign"]
            if made and len(made) == len(definitions) and all(_is_leaf(source, value) for value in made):
                for one in definitions:
                    if one.statement not in told:
                        told.add(one.statement)
                        yield self._told(source, one.statement, backward)

    def _told(self, source: Source, statement: ast.AST, backward: Backward) -> Diagnostic:
        return self.report(
            source,
            statement,
            f"`{backward.name}` is made a new leaf here: backward() stops at it, and the model gets no gradient",
            remedy="Remove this line and look for the place where the loss loses its graph.",
        )


def _is_leaf(source: Source, value: ast.expr | None) -> bool:
    """Whether this turns something computed into a tensor without a past that requires a gradient."""
    if not isinstance(value, ast.Call):
        return False
    if source.names.all_in(value.func, VARIABLE | TENSOR):
        held = argument(value, "data", 0)
        wanted = constant(argument(value, "requires_grad", 1)) is True
        return wanted and held is not None and bool(names_in(source, held))
    if last_name(value) == "requires_grad_" and constant(argument(value, "requires_grad", 0)) is not False:
        inner: ast.expr | None = receiver(value)
        while inner is not None:
            if last_name(inner) in CUTS or (isinstance(inner, ast.Attribute) and inner.attr == "data"):
                return True
            if isinstance(inner, ast.Call):
                inner = receiver(inner)
            else:
                inner = inner.value if isinstance(inner, ast.Attribute) else None
    return False
