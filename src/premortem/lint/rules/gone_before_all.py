import ast
from collections.abc import Iterator

from premortem.lint import drift
from premortem.lint.rule import Card, Diagnostic, Edit, Facts, Fix, Rule, Severity, Source
from premortem.lint.training import backwards, without_grad
from premortem.lint.tree import constant, dotted

RAISED = frozenset(("IndexError",))


class GoneBeforeAll(Rule):
    """The code does what no supported torch does any more: it was written for torch 0.3.

    ## Why it matters
    `loss.data[0]` raises IndexError, because a loss has no dimension since torch 0.4. `Variable(x, volatile=True)` only
    warns, and records the graph that it was meant to leave out.

    ## Usual causes
    Code from 2017.

    ## What to do
    `loss.item()`; `with torch.no_grad():` around what was volatile.

    ## When it stays silent
    When the project pins a torch before 0.4, and for `data[0]` of anything that is not surely a loss.
    """

    card = Card("PM586", "gone-before-all", "api-drift", Severity.ERROR, preview=True)
    triggers = (b".data[0]", b"volatile")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        pin = drift.pin(project, "torch")
        if pin.newest is None:
            return  # the project runs with something that is not known here
        losses = {(source.scope(one.call), one.name) for one in backwards(source) if one.name}
        for node in source.nodes(ast.Subscript):
            held = node.value
            if isinstance(held, ast.Attribute) and held.attr == "data" and constant(node.slice) == 0:
                name = dotted(held.value)
                known = (source.scope(node), name) in losses and not isinstance(constant(node.slice), bool)
                if known and not drift.is_guarded(source, node, RAISED):
                    yield self.report(
                        source,
                        node,
                        f"`{name}.data[0]` raises IndexError since torch 0.4: a loss has no dimension",
                        remedy=f"Write `{name}.item()`.",
                        fix=Fix((Edit(*source.range(node), f"{name}.item()"),)),
                    )
        for call in source.calls_to("Variable"):
            volatile = next((one for one in call.keywords if one.arg == "volatile"), None)
            if volatile is not None and constant(volatile.value) is True:
                if source.names.all_in(call.func, {"torch.autograd.Variable"}) and not (
                    without_grad(source, call) or drift.is_guarded(source, call, RAISED)
                ):
                    yield self.report(
                        source,
                        volatile,
                        "`volatile=True` does nothing since torch 0.4: the graph is recorded all the same",
                        remedy="Put it under `with torch.no_grad():`.",
                        severity=Severity.WARNING,
                    )
