import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import backwards, is_test, names_in, steps
from premortem.lint.tree import argument, constant, last_name, receiver

VARIABLE = frozenset(("torch.autograd.Variable", "torch.autograd.variable.Variable"))
TENSOR = frozenset(("torch.tensor", "torch.as_tensor", "torch.FloatTensor"))
CUTS = frozenset(("detach", "item", "numpy"))


class LossMadeALeaf(Rule):
    """The loss is cut off from the model and then made to require a gradient, so that `backward()` runs.

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

    card = Card("PM553", "loss-made-a-leaf", "grad-flow", Severity.ERROR)
    needs = (b".backward(", b".step(", b"requires_grad")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        training = {source.scope(one.call) for one in steps(source)}
        reported: set[ast.AST] = set()
        for backward in backwards(source):
            scope = source.scope(backward.call)
            if not backward.name or scope not in training or is_test(source, backward.call):
                continue
            made = source.assigned_at(backward.loss)
            if not made or not all(_is_leaf(source, value) for value in made):
                continue
            for one in source.flow(scope).definitions(backward.loss):
                if one.statement not in reported:
                    reported.add(one.statement)
                    yield self.report(
                        source,
                        one.statement,
                        f"`{backward.name}` is made a new leaf here: backward() stops at it, and the model gets no "
                        "gradient",
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
