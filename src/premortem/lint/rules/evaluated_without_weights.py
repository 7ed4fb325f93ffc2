import ast
from collections.abc import Iterator

from premortem.lint.handlers import is_logging
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.evaluation_without_no_grad import trains
from premortem.lint.training import calls_in, is_test
from premortem.lint.tree import constant, dotted, last_name, receiver, unmoved

_ASKS = frozenset(("exists", "isfile", "is_file"))
# Arguments that fetch weights while a model is built.
_FETCHES = frozenset("pretrained weights checkpoint checkpoint_path ckpt_path pretrained_path".split())


class EvaluatedWithoutWeights(Rule):
    """A model whose checkpoint is not there is evaluated all the same, with random weights.

    ## Why it matters
    A wrong path costs one line in the log, and what follows looks like a result: predictions, scores, a demo. Nothing in
    them shows that the model behind them has learned nothing.

    ## Usual causes
    - the branch was written while there was no checkpoint yet, to try the rest of the script

    ## What to do
    `raise FileNotFoundError(path)` where the checkpoint is missing.

    ## When it stays silent
    When the same function trains the model, when the model is built with weights of its own, and when the other branch
    leaves the function, loads something else or does more than write a line.
    """

    card = Card("PM568", "evaluated-without-weights", "checkpoint", Severity.WARNING, preview=True)
    needs = (b"load_state_dict", b".eval(")
    triggers = (b"exists", b"isfile", b"is_file")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch"):
            return
        for load in source.calls.get("load_state_dict", ()):
            model = receiver(load)
            scope = source.scope(load)
            if not isinstance(model, ast.Name) or is_test(source, load) or trains(source, scope):
                continue
            branch = _asked(source, load)
            if branch is None or not _only_logs(branch.orelse) or not _is_built_bare(source, model):
                continue
            after = source.flow(scope).after(branch)
            if any(
                dotted(receiver(call)) == model.id and not call.args and source.statement(call) in after
                for call in calls_in(source, scope, "eval")
            ):
                yield self.report(
                    source,
                    branch.test,
                    f"where this file is missing, `{model.id}` is evaluated with random weights",
                    remedy="Raise `FileNotFoundError` in the other case.",
                )


def _asked(source: Source, load: ast.Call) -> ast.If | None:
    """The `if os.path.exists(path):` around a load, where nothing else decides."""
    below: ast.AST = load
    for above in source.ancestors(load):
        if isinstance(above, ast.If):
            asks = isinstance(above.test, ast.Call) and last_name(above.test) in _ASKS
            return above if asks and below in above.body else None
        if isinstance(above, (ast.Try, ast.For, ast.While, ast.FunctionDef, ast.AsyncFunctionDef)):
            return None
        below = above
    return None


def _only_logs(statements: list[ast.stmt]) -> bool:
    return all(
        isinstance(one, ast.Pass)
        or (isinstance(one, ast.Expr) and (is_logging(one.value) or isinstance(one.value, ast.Constant)))
        for one in statements
    )


def _is_built_bare(source: Source, model: ast.Name) -> bool:
    """Whether the model is made here of a class, with nothing that fetches weights."""
    made = [unmoved(one) for one in source.assigned_at(model)]
    return bool(made) and all(
        isinstance(one, ast.Call)
        and last_name(one)[:1].isupper()
        and not any(
            one_given.arg is None
            or (one_given.arg in _FETCHES and constant(one_given.value) not in (False, None))
            for one_given in one.keywords
            if not (isinstance(one_given.value, ast.Constant) and one_given.value.value is None)
        )
        for one in made
    )
