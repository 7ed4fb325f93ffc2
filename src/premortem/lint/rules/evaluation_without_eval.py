import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers, functions_called
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.evaluation_without_no_grad import (
    evaluation_loops,
    told_to_evaluate,
    unrecorded_loops,
)
from premortem.lint.summaries import has_modes
from premortem.lint.training import calls_in, helpers, is_test
from premortem.lint.tree import Function, dotted, given, receiver
from premortem.lint.words_used import mentions

MODES = pattern(r"^\.eval\($|^\.train\(…$|eval_mode|^training$|set_mode")
SWITCHES = pattern(r"^\.eval\(|^\.train\(|eval_mode|set_mode")
# Models that care about the mode, wherever they are made.
SWITCHED = pattern(r"^\.train\($")
READY_MADE = pattern(r"^timm$|^from_pretrained\($")
VISION = pattern(r"^models$")


REMEDY = "Call `{model}.eval()` before the loop and `{model}.train()` before training goes on."


class EvaluationWithoutEval(Rule):
    """An evaluation runs the model in training mode.

    ## Why it matters
    Dropout stays on and batch normalisation uses the statistics of each evaluation batch, and also learns from
    them: the numbers are noisy, depend on the batch size, and the evaluation data leaks into the model.

    ## Usual causes
    - `torch.no_grad()` is taken for `model.eval()`; it switches off gradients only

    ## What to do
    `model.eval()` before the evaluation, `model.train()` after it.

    ## When it stays silent
    When `eval()` can come before, here or by a caller in another file, when no training is seen in the same file, when the
    evaluation sets training mode itself, and when no model of the file, or of those it imports, has layers that care.
    """

    card = Card("PM537", "evaluation-without-eval", "eval-mode", Severity.WARNING)
    needs = (b".backward(", b"torch")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch"):
            return
        for function in source.functions:
            for over, model in evaluation_loops(source, function, recorded=False):
                if mentions(source, source.tree, MODES):
                    why = f"every call of it comes after `{model}.train()`"
                    known = _left_in_training(source, function, model, project)
                else:
                    why = "nothing in this file calls `eval()`"
                    known = self._after_training(source, function) and not self._switched(
                        source, function, project
                    )
                if known and _cares(source, project, model):
                    yield self.report(
                        source,
                        over,
                        f"`{function.name}` runs `{model}` in training mode: {why}",
                        remedy=REMEDY.format(model=model),
                    )
                break
        for loop, model, flag in told_to_evaluate(source):
            if not mentions(source, source.tree, MODES) and _cares(source, project, model):
                yield self.report(
                    source,
                    loop.iter,
                    f"where `{flag}` turns training off, this runs `{model}` in training mode: "
                    "nothing in this file calls `eval()`",
                    remedy=REMEDY.format(model=model),
                )
        for loop, model in unrecorded_loops(source):
            if mentions(source, source.tree, MODES):
                return
            if not is_test(source, loop) and _cares(source, project, model):
                yield self.report(
                    source,
                    loop.iter,
                    f"this evaluation runs `{model}` in training mode: nothing in this file calls `eval()`",
                    remedy=REMEDY.format(model=model),
                )

    @staticmethod
    def _after_training(source: Source, function: Function) -> bool:
        """Whether a caller in this file also trains."""
        for call in callers(source, function):
            around = source.scope(call)
            if calls_in(source, around, "backward"):
                return True
            for other in calls_in(source, around):
                if any(calls_in(source, one, "backward") for one in functions_called(source, other)):
                    return True
        return False

    @staticmethod
    def _switched(source: Source, function: Function, project: Facts) -> bool:
        # One that sets training mode itself needs it, as the losses of a detector do.
        if calls_in(source, function, "backward", "train") or project.called_in_eval(function.name):
            return True
        return any(project.does(name, "eval") for name in helpers(source, function))


def _left_in_training(source: Source, function: Function, model: str, project: Facts) -> bool:
    """Whether each call in this file finds the model in training mode, whichever way leads there, and no other file calls."""
    if mentions(source, function, SWITCHES) or calls_in(source, function, "backward"):
        return False
    calls = callers(source, function)
    if not calls or not all(_is_training(source, call, function, model) for call in calls):
        return False
    around = {name for call in calls for name in helpers(source, source.scope(call))}
    return not project.called_in_eval(function.name, elsewhere=True) and not any(
        project.does(name, "eval") for name in around | helpers(source, function)
    )


def _is_training(source: Source, call: ast.Call, function: Function, model: str) -> bool:
    """Whether a `train()` of the model reaches this call, and no `eval()` does."""
    scope = source.scope(call)
    handed = given(call, function, model)
    name = model if handed is None else dotted(handed)
    flow = source.flow(scope)
    on = [
        one
        for one in calls_in(source, scope, "train")
        if dotted(receiver(one)) == name and not (one.args or one.keywords)
    ]
    off = [one for one in calls_in(source, scope, "eval") if dotted(receiver(one)) == name]
    return any(flow.reaches(one, call, off) for one in on) and not any(
        flow.reaches(one, call, on) for one in off
    )


def _cares(source: Source, project: Facts, model: str) -> bool:
    """Whether some model of this file, of what it imports, or of a package, has layers that look at the mode.

    Of a model that is handed in nothing is known but that it is switched to training.
    """
    if has_modes(source) or mentions(source, source.tree, READY_MADE):
        return True
    if source.names.imports("torchvision") and mentions(source, source.tree, VISION):
        return True
    made = any(isinstance(one.value, ast.Call) for one in source.assignments.get(model, ()))
    if not made and mentions(source, source.tree, SWITCHED):
        return True
    return project.imports_what("modes")
