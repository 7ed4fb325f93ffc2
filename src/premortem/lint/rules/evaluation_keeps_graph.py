import ast
import re
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.rules.evaluation_without_no_grad import EvaluationWithoutNoGrad
from premortem.lint.training import is_model
from premortem.lint.tree import Loop, dotted, last_name, receiver

# What comes out of these carries no graph.
LOSSES = pattern(r"loss|crit|entropy", re.IGNORECASE)
NUMBERS = frozenset("item float int detach numpy tolist argmax max topk eq sum_item round".split())


class EvaluationKeepsGraph(Rule):
    """An evaluation with gradients on adds up the losses themselves, and keeps the graph of every batch.

    ## Why it matters
    Nothing goes backward in an evaluation, so nothing frees the graphs: the memory of all batches together is needed,
    and the evaluation of a larger set ends the run.

    ## Usual causes
    - neither `torch.no_grad()` around the loop nor `.item()` on what is added

    ## What to do
    Put the loop under `with torch.no_grad():`, and add `loss.item()`.

    ## When it stays silent
    Where PM536 does, and when what is added is a number.
    """

    card = Card("PM557", "evaluation-keeps-graph", "memory-leak", Severity.WARNING, preview=True)
    triggers = (b"torch",)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for over in EvaluationWithoutNoGrad.loops(source, project):
            loop = source.statement(over)
            if not isinstance(loop, (ast.For, ast.AsyncFor)):
                continue
            for node in source.within(loop, nested=False):
                if not isinstance(node, ast.AugAssign) or not isinstance(node.op, ast.Add):
                    continue
                total = dotted(node.target)
                added = node.value.left if isinstance(node.value, ast.BinOp) else node.value
                if not total or not _keeps(source, added, loop) or total in _starts(loop):
                    continue
                yield self.report(
                    source,
                    node,
                    f"`{total}` keeps the graph of `{source.text(added)}` of every batch in memory",
                    remedy=f"Write `{source.text(added)}.item()`, and put the loop under `torch.no_grad()`.",
                    fix=Fix((source.insert_after(added, ".detach()"),)),
                )


def _starts(loop: Loop) -> set[str]:
    """The totals that begin anew in every turn."""
    return {
        dotted(target)
        for node in ast.walk(loop)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if dotted(target)
    }


def _keeps(source: Source, value: ast.expr, loop: Loop, depth: int = 4) -> bool:
    """Whether a value comes from a model that is called in this loop, with nothing between that cuts the graph."""
    if depth == 0:
        return False
    if isinstance(value, ast.Call):
        if last_name(value) in NUMBERS:
            return False
        if is_model(source, dotted(value.func)):
            return True
        owner = receiver(value)
        # What a helper makes of the output is not known: a score that it counts is a number.
        if not LOSSES.search(last_name(value)) and not any(
            name.startswith("torch.") for name in source.names.of(value.func)
        ):
            return owner is not None and _keeps(source, owner, loop, depth - 1)
        inner = [*value.args, *([owner] if owner is not None else [])]
        return any(_keeps(source, one, loop, depth - 1) for one in inner)
    if isinstance(value, ast.Name):
        made = source.flow(source.scope(value)).definitions(value)
        return bool(made) and all(
            one.how in {"assign", "unpack"}
            and one.value is not None
            and loop in source.loops_around(one.statement)
            and _keeps(source, one.value, loop, depth - 1)
            for one in made
        )
    if isinstance(value, ast.BinOp):
        return _keeps(source, value.left, loop, depth - 1) or _keeps(source, value.right, loop, depth - 1)
    return False
