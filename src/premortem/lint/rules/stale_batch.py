import ast
from collections.abc import Iterator

from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, is_loader, is_model, is_test
from premortem.lint.tree import Loop, dotted, last_name


class StaleBatch(Rule):
    """A loop over a loader never uses its batch: the model runs on the batch of another loop.

    ## Why it matters
    `for val_batch in val_loader: net(batch)` evaluates the last training batch again and again. The numbers look
    plausible and say nothing about the validation data.

    ## Usual causes
    - the body was copied from the training loop, and the name of the batch was not changed

    ## What to do
    Use the variable of the loop, or give both loops the same name for it.

    ## When it stays silent
    When any part of the loop's variable is used in its body, when it is called `_`, and when nothing in the body that
    a model gets comes from another loop over a loader.
    """

    card = Card("PM554", "stale-batch", "eval-stale", Severity.ERROR, preview=True)
    triggers = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for loop in source.loops:
            if isinstance(loop, ast.While) or not is_loader(source, loop.iter) or is_test(source, loop):
                continue
            own = _batch_names(loop)
            if not own or any(name.startswith("_") for name in own) or own & _read(source, loop):
                continue
            for call in calls_in(source, loop):
                if not is_model(source, dotted(call.func)):
                    continue
                given = [*call.args, *(one.value for one in call.keywords)]
                stale = next((one for one in given if _is_from(source, one, loop)), None)
                if stale is not None:
                    names = ", ".join(f"`{name}`" for name in sorted(own))
                    yield self.report(
                        source,
                        stale,
                        f"this loop never uses {names}: `{dotted(call.func)}` gets `{source.text(stale)}` of another loop "
                        "every time",
                        remedy=f"Use {names} here.",
                    )
                    break


def _batch_names(loop: ast.For | ast.AsyncFor) -> set[str]:
    """The names a loop binds; of `enumerate`, not the counter."""
    target: ast.expr = loop.target
    over = loop.iter
    if isinstance(over, ast.Call) and last_name(over) == "enumerate":
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 2:
            return set()
        target = target.elts[1]
    return {node.id for node in ast.walk(target) if isinstance(node, ast.Name)}


def _read(source: Source, loop: Loop) -> set[str]:
    return {
        node.id
        for statement in loop.body
        for node in source.within(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _is_from(source: Source, value: ast.expr, loop: Loop) -> bool:
    """Whether every binding of a name that reaches this use was made by another loop over a loader, or inside one."""
    root = value
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    made = source.flow(source.scope(value)).definitions(root)
    return bool(made) and all(_is_of_another(source, one.statement, loop) for one in made)


def _is_of_another(source: Source, statement: ast.AST, loop: Loop) -> bool:
    if statement is loop or loop in source.loops_around(statement):
        return False
    around = [statement, *source.loops_around(statement)]
    return any(
        isinstance(one, (ast.For, ast.AsyncFor)) and one is not loop and is_loader(source, one.iter)
        for one in around
    )
