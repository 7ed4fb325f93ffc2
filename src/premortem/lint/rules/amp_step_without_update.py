import ast
from collections.abc import Iterator

from premortem.lint.kinds import SCALER
from premortem.lint.provenance import functions_called
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.amp_clip_before_unscale import enabled, same_scaler
from premortem.lint.source import once_per_file
from premortem.lint.training import Step, backwards, calls_in, is_test, steps
from premortem.lint.tree import Loop, dotted, grouped, receiver


class AmpStepWithoutUpdate(Rule):
    """The gradient scaler steps (or unscales) and goes into the next iteration without `update()`.

    ## Why it matters
    A `GradScaler` allows one `unscale_` and one `step` for each optimizer between two calls of `update()`. The next
    iteration raises `RuntimeError: step() has already been called since the last update()`, in the middle of the
    run where the way without `update()` is a rare one.

    ## Usual causes
    - `scaler.update()` was forgotten
    - a `continue` for a bad batch jumps over it after `scaler.unscale_(optimizer)`

    ## What to do
    Call `scaler.update()` once per iteration, also before such a `continue`.

    ## When it stays silent
    When `update()` is called on that scaler anywhere else in the file, or the scaler is handed to another function.
    """

    card = Card("PM531", "amp-step-without-update", "update-order", Severity.ERROR)
    needs = (b".backward(", b".step(", b".scale(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        scaling = {one.scaler.rpartition(".")[2] for one in backwards(source) if one.scaler}
        reported: set[ast.AST] = set()
        for step in steps(source):
            if step.scaler.rpartition(".")[2] not in scaling or not enabled(source, step.scaler):
                continue
            loops = source.loops_around(step.call)
            # A function that is not in this file can update a scaler that it gets.
            if is_test(source, step.call) or step.scaler in _given_away(source):
                continue
            updates = _updates(source).get(step.scaler.rpartition(".")[2], [])
            # A step in a function of its own is repeated too when this file owns the scaler.
            if not loops and not source.kinds.surely(step.scaler, SCALER):
                continue
            if not updates:
                yield self.report(
                    source,
                    step.call,
                    f"`{step.scaler}.step()` is called and `{step.scaler}.update()` never: the second step raises",
                    remedy=f"Call `{step.scaler}.update()` after the step, once per iteration.",
                )
                continue
            for jump in self._jumps(source, step, loops[0], updates) if loops else ():
                if jump not in reported:
                    reported.add(jump)
                    yield self.report(
                        source,
                        jump,
                        f"this `continue` leaves the iteration after `{step.scaler}` has unscaled or stepped and "
                        "before its update(): the next iteration raises",
                        remedy=f"Call `{step.scaler}.update()` before `continue`.",
                    )

    @staticmethod
    def _jumps(source: Source, step: Step, loop: Loop, updates: list[ast.Call]) -> Iterator[ast.AST]:
        flow = source.flow(source.scope(step.call))
        used = [
            step.call,
            *(call for call in calls_in(source, loop, "unscale_") if same_scaler(call, step.scaler)),
        ]
        for jump in source.within(loop, nested=False):
            if not isinstance(jump, ast.Continue) or source.loops_around(jump)[:1] != (loop,):
                continue
            for call in used:
                always = not flow.reaches(loop, jump, [call])
                updated = any(
                    flow.reaches(call, update, [loop]) and flow.reaches(update, jump, [loop])
                    for update in updates
                )
                if always and flow.reaches(call, jump, [loop]) and not updated:
                    yield jump


@once_per_file
def _updates(source: Source) -> dict[str, list[ast.Call]]:
    """Calls of `update()` by the last name of what they are called on."""
    return grouped(source.calls_to("update"), lambda call: dotted(receiver(call)).rpartition(".")[2])


@once_per_file
def _given_away(source: Source) -> frozenset[str]:
    """Every name that is handed to a function that is not in this file."""
    return frozenset(
        text
        for call in source.nodes(ast.Call)
        if (call.args or call.keywords) and not functions_called(source, call)
        for value in (*call.args, *(keyword.value for keyword in call.keywords))
        if (text := dotted(value))
    )
