import ast
import re
from collections.abc import Iterator

from premortem.lint.provenance import callers, functions_called
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.evaluation_without_no_grad import evaluation_loops, unrecorded_loops
from premortem.lint.summaries import has_modes
from premortem.lint.training import calls_in, helpers, is_test
from premortem.lint.tree import Function
from premortem.lint.words_used import mentions

MODES = re.compile(r"^\.eval\($|^\.train\(…$|eval_mode|^training$|set_mode")
# Models that care about the mode, wherever they are made.
SWITCHED = re.compile(r"^\.train\($")
READY_MADE = re.compile(r"^timm$|^from_pretrained\($")
VISION = re.compile(r"^models$")


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
    When `eval()` is called anywhere in the file or by a caller, when no training is seen in the same file, and when
    no model of the file, or of those it imports, has layers that care.
    """

    card = Card("PM537", "evaluation-without-eval", "eval-mode", Severity.WARNING)
    needs = (b".backward(", b"torch")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch"):
            return
        for function in source.functions:
            for over, model in evaluation_loops(source, function, recorded=False):
                if mentions(source, source.tree, MODES):
                    return
                if not self._after_training(source, function) or self._switched(source, function, project):
                    break
                if not _cares(source, project, model):
                    break
                yield self.report(
                    source,
                    over,
                    f"`{function.name}` runs `{model}` in training mode: nothing in this file calls `eval()`",
                    remedy=REMEDY.format(model=model),
                )
                break
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
        if calls_in(source, function, "backward") or project.called_in_eval(function.name):
            return True
        return any(project.does(name, "eval") for name in helpers(source, function))


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
