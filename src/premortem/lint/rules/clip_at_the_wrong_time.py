import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import (
    BACKWARDS,
    CLIPPING,
    CLIPS,
    Step,
    calls_in,
    helpers,
    inside,
    one_cell,
    steps_in,
)
from premortem.lint.tree import argument, last_name


class ClipAtTheWrongTime(Rule):
    """Gradients are clipped when there is nothing to clip: before `backward()`, after `step()`, or with a used-up generator.

    ## Why it matters
    The optimizer steps on unclipped gradients. The line is there, so the gradients seem to be bounded
    when the loss explodes.

    ## Usual causes
    - the clipping was added at the end of the loop
    - it stands between `zero_grad()` and `backward()`
    - `parameters = model.parameters()` before the loop: it can be gone through once

    ## What to do
    `backward()`, then the clipping, then `step()`.

    ## When it stays silent
    When the returned norm is used (a way to measure it), with several optimizers in one function, and when a
    function of the project that computes gradients or steps is called nearby.
    """

    card = Card("PM550", "clip-at-the-wrong-time", "clipping", Severity.ERROR)
    needs = (b".backward(", b".step(", b"clip_grad_")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        yield from self._used_up(source)
        for statement in source.expressions:
            clip = statement.value
            if not isinstance(clip, ast.Call) or not source.names.all_in(clip.func, CLIPS):
                continue
            scope = source.scope(clip)
            own = steps_in(source, scope)
            if len({one.optimizer for one in own}) == 1 and self._idle(source, scope, clip, own):
                if not self._helped(source, scope, project):
                    yield self.report(
                        source,
                        clip,
                        f"this clips the gradients at the wrong time: `{own[0].optimizer}` steps on unclipped gradients",
                        remedy="Move this line between backward() and step().",
                    )

    def _used_up(self, source: Source) -> Iterator[Diagnostic]:
        """`parameters()` gives its parameters once: made before the loop, it is empty from the second turn on."""
        for clip in source.calls_to("clip_grad_norm_", "clip_grad_value_"):
            given = argument(clip, "parameters", 0)
            if not isinstance(given, ast.Name) or not source.names.all_in(clip.func, CLIPS):
                continue
            made = source.flow(source.scope(clip)).definitions(given)
            loops = source.loops_around(clip)
            if (
                loops
                and made
                and all(
                    one.how == "assign"
                    and isinstance(one.value, ast.Call)
                    and last_name(one.value) == "parameters"
                    and isinstance(one.value.func, ast.Attribute)
                    and not inside(source, one.statement, loops[0])
                    for one in made
                )
            ):
                yield self.report(
                    source,
                    clip,
                    f"`{given.id}` gives its parameters once: from the second turn of the loop on nothing is clipped",
                    remedy=f"Write `{source.text(made[0].value or given)}` here, or make a list of it before the loop.",
                )

    @staticmethod
    def _idle(source: Source, scope: ast.AST, clip: ast.Call, own: list[Step]) -> bool:
        """Whether no gradients reach this clipping, and no step comes after it before the next backward pass."""
        flow = source.flow(scope)
        passes = calls_in(source, scope, *BACKWARDS)
        steps_here = [one.call for one in own]
        clears = calls_in(source, scope, "zero_grad")
        if not calls_in(source, scope, "backward") or not one_cell(source, clip, *passes, *steps_here):
            return False
        if any(flow.reaches(one, clip, [*steps_here, *clears]) for one in passes):
            return False
        if any(flow.reaches(clip, one, passes) for one in steps_here):
            return False
        others = [one for one in calls_in(source, scope, *CLIPPING) if one is not clip]
        return not others

    @staticmethod
    def _helped(source: Source, scope: ast.AST, project: Facts) -> bool:
        return any(
            project.does(name, "backward") or project.does(name, "step") for name in helpers(source, scope)
        )
