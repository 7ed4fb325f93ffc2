import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import (
    bound_in,
    calls_in,
    conditions,
    is_loader,
    is_test,
    owned_parameters,
    steps,
)
from premortem.lint.tree import argument, constant, dotted, last_name


class OptimizerBuiltInTheLoop(Rule):
    """The optimizer is built inside the batch loop, so it forgets its state at every step.

    ## Why it matters
    Adam without its moments is a sign-of-the-gradient method with a step of the full learning rate; momentum never
    builds up. Training is noisy and worse than it should be, and nothing fails.

    ## Usual causes
    - the line that builds the optimizer slipped into the loop
    - an attempt to change the learning rate per batch

    ## What to do
    Build the optimizer once, before the loop. Change its learning rate through a scheduler or `param_groups`.

    ## When it stays silent
    For plain SGD, which has no state; when the model is made in the loop too; when the building is conditional.
    """

    card = Card("PM540", "optimizer-built-in-the-loop", "optimizer-ownership", Severity.WARNING)
    needs = (b".backward(", b"optim", b"parameters()")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        every = steps(source)
        for built in source.bindings:
            value = built.value
            if not isinstance(value, ast.Call) or source.kinds.of_value(value) != "optimizer":
                continue
            loops = source.loops_around(built)
            optimizer = dotted(built.targets[0] if isinstance(built, ast.Assign) else built.target)
            if not loops or not optimizer or not self._has_state(value) or is_test(source, built):
                continue
            loop = loops[0]
            if isinstance(loop, ast.While) or not is_loader(source, loop.iter):
                continue
            if conditions(source, built, loop):
                continue
            models = owned_parameters(source, value)
            changed = bound_in(source, loop)
            if not models or any(model in changed or model.partition(".")[0] in changed for model in models):
                continue
            here = [
                one
                for one in every
                if one.optimizer == optimizer and source.loops_around(one.call)[:1] == (loop,)
            ]
            if here and any(
                source.loops_around(call)[:1] == (loop,) for call in calls_in(source, loop, "backward")
            ):
                yield self.report(
                    source,
                    value,
                    f"`{optimizer}` is built anew for every batch and loses its moments each time",
                    remedy="Build it once, before the loop.",
                )

    @staticmethod
    def _has_state(call: ast.Call) -> bool:
        if last_name(call) != "SGD":
            return True
        momentum = argument(call, "momentum", 2)
        return momentum is not None and constant(momentum) != 0
