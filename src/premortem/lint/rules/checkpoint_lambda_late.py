import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import names_in
from premortem.lint.tree import dotted

CHECKPOINT = frozenset(("torch.utils.checkpoint.checkpoint",))


class CheckpointLambdaLate(Rule):
    """A checkpointed lambda or function uses the loop's variable, and runs again when the loop is over.

    ## Why it matters
    `checkpoint` calls what it is given a second time, in the backward pass. By then the variable of the loop holds its
    last value: every layer is recomputed with the last one, and the gradients are wrong. Nothing raises when the shapes
    fit.

    ## Usual causes
    - `checkpoint(lambda x: layer(x), x)` inside `for layer in layers`

    ## What to do
    Give the layer itself, `checkpoint(layer, x)`, or bind it: `lambda x, layer=layer: layer(x)`.

    ## When it stays silent
    When the lambda takes the variable as a parameter or as a default.
    """

    card = Card("PM555", "checkpoint-lambda-late", "grad-flow", Severity.ERROR, preview=True)
    triggers = (b"checkpoint",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("checkpoint"):
            if not call.args or not source.names.all_in(call.func, CHECKPOINT):
                continue
            loops = [loop for loop in source.loops_around(call) if not isinstance(loop, ast.While)]
            turning = {name for loop in loops for name in names_in(source, loop.target)}
            inner = _function(source, call.args[0])
            if inner is None or not turning:
                continue
            own = {one.arg for one in (*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs)}
            used = {
                node.id
                for part in (inner.body if isinstance(inner.body, list) else [inner.body])
                for node in (part, *source.within(part))
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
            }
            if late := sorted((used & turning) - own):
                yield self.report(
                    source,
                    call.args[0],
                    f"in the backward pass this runs again with the last `{late[0]}` of the loop",
                    remedy=f"Give `{late[0]}` to checkpoint() itself, or bind it as a default: `{late[0]}={late[0]}`.",
                )


def _function(source: Source, value: ast.expr) -> ast.Lambda | ast.FunctionDef | None:
    """The lambda, or the function defined in the same loop, that is checkpointed."""
    if isinstance(value, ast.Lambda):
        return value
    loops = source.loops_around(value)
    for one in source.functions if dotted(value) and loops else ():
        if (
            isinstance(one, ast.FunctionDef)
            and one.name == dotted(value)
            and loops[0] in source.loops_around(one)
        ):
            return one
    return None
