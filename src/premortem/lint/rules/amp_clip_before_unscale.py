import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import CLIPPING, CLIPS, backwards, backwards_in, calls_in, helpers, steps_in
from premortem.lint.tree import argument, constant, dotted, last_name, receiver
from premortem.lint.words_used import mentions

# A function that clips and does one of these is more than a helper that clips.
DOES_MORE = pattern(r"unscale|backward\(|step\(")


class AmpClipBeforeUnscale(Rule):
    """Gradients are clipped while they are still multiplied by the loss scale.

    ## Why it matters
    After `scaler.scale(loss).backward()` the gradients are some ten thousand times too large. Clipping them to a norm
    of 1 and then dividing by the scale leaves an update near zero: the model hardly moves, and nothing says so.

    ## Usual causes
    - `clip_grad_norm_` was kept in its place when mixed precision was added
    - `scaler.unscale_(optimizer)` comes after the clipping, or only in another branch

    ## What to do
    Call `scaler.unscale_(optimizer)` after `backward()` and before the clipping. `scaler.step` then does not
    unscale a second time.

    ## When it stays silent
    When `unscale_` is called on some way from the backward pass to the clipping, also by a helper; when the scaler
    is built with `enabled=False`.
    """

    card = Card("PM530", "amp-clip-before-unscale", "clipping", Severity.ERROR)
    needs = (b".backward(", b".scale(", b"clip_grad_")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        scaled = [one for one in backwards(source) if one.scaler and enabled(source, one.scaler)]
        if not scaled:
            return
        for clip in self._clips(source):
            scope = source.scope(clip)
            before = [
                one for one in backwards_in(source, scope) if one.scaler and enabled(source, one.scaler)
            ]
            if not before:
                continue
            flow = source.flow(scope)
            every = calls_in(source, scope, "backward", "manual_backward")
            walls = [*every, *(one.call for one in steps_in(source, scope))]
            if not any(flow.reaches(one.call, clip, walls) for one in before):
                continue
            unscales = calls_in(source, scope, "unscale_", "unscale_gradients")
            if any(flow.reaches(call, clip, walls) for call in unscales):
                continue
            if any(project.does(name, "unscale_") for name in helpers(source, scope)):
                continue
            scaler = before[0].scaler
            yield self.report(
                source,
                clip,
                f"the gradients are clipped while `{scaler}` still has them scaled up: "
                "after unscaling, next to nothing is left of the update",
                remedy=f"Call `{scaler}.unscale_(optimizer)` between backward() and the clipping.",
            )

    @staticmethod
    def _clips(source: Source) -> Iterator[ast.Call]:
        """Calls that clip, themselves or through a function of this file."""
        helpers = set()
        for clip in source.calls_to(*CLIPPING):
            if source.names.all_in(clip.func, CLIPS):
                yield clip
                function = source.function(clip)
                if function is not None and not mentions(source, function, DOES_MORE):
                    helpers.add(function)
        for function in helpers:
            yield from callers(source, function)


def enabled(source: Source, scaler: str) -> bool:
    """Whether this scaler can be in use: not built with `enabled=False`."""
    for statement in source.assignments.get(scaler, ()):
        value = statement.value
        if isinstance(value, ast.Call) and last_name(value) == "GradScaler":
            if constant(argument(value, "enabled")) is False:
                return False
    return True


def same_scaler(call: ast.Call, scaler: str) -> bool:
    """Whether a call belongs to this scaler, whatever object it is reached through."""
    return dotted(receiver(call)).rpartition(".")[2] == scaler.rpartition(".")[2]
