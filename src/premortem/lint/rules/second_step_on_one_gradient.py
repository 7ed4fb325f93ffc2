import ast
from collections.abc import Iterator
from itertools import permutations

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import BACKWARDS, Step, calls_in, helpers, is_test, one_cell, steps_in
from premortem.lint.tree import LOOPS, grouped, last_name

# Calls after which the gradients are other ones, or gone.
_RENEWS = (*BACKWARDS, "zero_grad")
MOST = 8  # steps of one optimizer in one loop that are compared with each other


class SecondStepOnOneGradient(Rule):
    """The optimizer steps twice on the same gradient: nothing goes backward between the two.

    ## Why it matters
    The weights move twice for every batch. Adam and momentum count the gradient twice as well. After
    `scaler.step(optimizer)` the second step is also the unguarded one: it takes the gradients that the scaler had refused
    because they were infinite.

    ## Usual causes
    - `scaler.step(optimizer)` was added for mixed precision, and the old `optimizer.step()` was left below it
    - a step inside the batch loop and one more behind a helper that steps itself

    ## What to do
    Remove one of them. With a `GradScaler` keep `scaler.step(optimizer)`.

    ## When it stays silent
    When a backward pass, `zero_grad()` or a function that runs one can come between the two, or a call of which this file does not show what
    it does; when no single path passes
    both, when the steps take a closure, and in tests.
    """

    card = Card("PM565", "second-step-on-one-gradient", "update-order", Severity.ERROR, preview=True)
    needs = (b".step(", b"torch")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch"):
            return
        for scope in dict.fromkeys(map(source.scope, source.calls_to("step"))):
            # Those of one optimizer in one loop; a script can have very many.
            together = grouped(
                steps_in(source, scope), lambda one: (one.optimizer, source.loops_around(one.call)[:1])
            )
            for steps in together.values():
                for first, second in permutations(steps[:MOST], 2):
                    if self._follows(source, project, scope, first, second):
                        yield self.report(
                            source,
                            second.call,
                            f"`{source.text(first.call)}` has used this gradient already: "
                            f"`{second.optimizer}` steps on it a second time",
                            remedy="Remove one of the two steps.",
                        )

    @staticmethod
    def _follows(source: Source, project: Facts, scope: ast.AST, first: Step, second: Step) -> bool:
        """Whether the second step comes after the first one in the same turn, with the same gradient."""
        loops = source.loops_around(first.call)
        if loops != source.loops_around(second.call) or is_test(source, first.call):
            return False
        if not one_cell(source, first.call, second.call):
            return False
        flow = source.flow(scope)
        walls: list[ast.AST] = [*calls_in(source, scope, *_RENEWS), *loops]
        walls += [one for one in source.within(scope, nested=False) if isinstance(one, LOOPS)]
        if not flow.reaches(first.call, second.call, avoiding=walls, raising=False):
            return False
        between = [
            call
            for call in calls_in(source, loops[0] if loops else scope)
            if first.call.lineno <= call.lineno <= second.call.lineno
        ]
        own = helpers(source, loops[0] if loops else scope)
        return all(last_name(call) not in own or _is_harmless(source, project, call) for call in between)


def _is_harmless(source: Source, project: Facts, call: ast.Call) -> bool:
    """Whether what is called stands in this file, and does not go backward. An engine's own method may do anything."""
    return source.callee(call) is not None and not any(
        project.does(last_name(call), verb) for verb in ("backward", "zero_grad")
    )
