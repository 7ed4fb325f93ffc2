from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import ClassVar

from premortem.cards import Card
from premortem.findings import Severity
from premortem.lint.diagnostics import Diagnostic
from premortem.lint.facts import Facts
from premortem.lint.provenance import callers
from premortem.lint.rule import Rule
from premortem.lint.source import FUNCTIONS, Function, Source, dotted, last_name, receiver
from premortem.lint.training import (
    calls_in,
    inside,
    is_loader,
    is_model,
    is_test,
    iterated,
    not_entered,
    one_cell,
    without_grad,
)

EVALUATES = re.compile(
    r"(?:^|_)(?:val|valid|validate|validation|eval|evaluate|evaluation|test|testing|infer|inference|predict)"
    r"(?:_|\d|$)"
)
NOT_EVALUATION = re.compile(r"train|attack|adversarial|explain|saliency|load|collate|^test_|build|get_|make")
# `volatile` is how torch before 0.4 said it.
GRADIENTS = re.compile(
    r"grad|inference_mode|backward|volatile=True|attack|adversar|perturb|fgsm|pgd|saliency|attribut|explain"
)
FROZEN = re.compile(r"requires_grad(?:_\(| *= *)False")
EVALUATION_DATA = re.compile(r"val|test|eval|dev")
HARMLESS_DECORATORS = frozenset(("staticmethod", "classmethod", "timer", "timeit"))


class EvaluationWithoutNoGrad(Rule):
    """An evaluation loop runs the model with gradients on.

    ## Why it matters
    Every forward pass of the evaluation records a graph for a backward pass that never comes. That costs memory,
    often twice what the same batch needs without, and time; an evaluation batch that is larger than the training
    batch then ends the run.

    ## Usual causes
    - `model.eval()` is taken for a switch of the gradients; it is not

    ## What to do
    Put the loop under `with torch.no_grad():` or decorate the function with `@torch.no_grad()`.

    ## When it stays silent
    When gradients are used in the function, when a caller switches them off, after `model.freeze()`, and in functions
    called `test_*`. A bare `torch.no_grad()` switches nothing off.
    """

    card: ClassVar[Card] = Card(
        code="PM536", name="evaluation-without-no-grad", family="eval-mode", severity=Severity.WARNING
    )
    triggers: ClassVar[tuple[bytes, ...]] = (b"torch",)

    def wants(self, data: bytes) -> bool:
        return b"torch" in data and (b"loader" in data or b"batches" in data or b"_dl" in data)

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if not source.names.imports("torch") or b"set_grad_enabled(False)" in source.data:
            return
        for function in source.functions:
            for over, model in evaluation_loops(source, function):
                if _takes_gradients(source, function) or frozen(source, function, model):
                    break
                if self._guarded(source, function, project):
                    break
                yield self._told(source, over, f"`{function.name}` runs `{model}`")
                break
        for loop, model in inline_loops(source):
            around = source.function(loop)
            if around is None or not self._guarded(source, around, project):
                yield self._told(source, loop.iter, f"this evaluation runs `{model}`")

    def _told(self, source: Source, over: ast.expr, what: str) -> Diagnostic:
        return self.report(
            source,
            over,
            f"{what} over a whole loader with gradients on",
            remedy="Put the loop under `with torch.no_grad():`.",
        )

    @staticmethod
    def _guarded(source: Source, function: Function, project: Facts) -> bool:
        if any(last_name(one) not in HARMLESS_DECORATORS for one in function.decorator_list):
            return True
        calls = callers(source, function)
        if any(without_grad(source, call) for call in calls):
            return True
        return project.called_without_grad(function.name)


def evaluation_loops(source: Source, function: Function) -> Iterator[tuple[ast.expr, str]]:
    """The loaders, with the model, over which a function that is called an evaluation runs a model."""
    name = function.name.lower()
    if not EVALUATES.search(name) or NOT_EVALUATION.search(name):
        return
    for loop in source.within(function, nested=False):
        if isinstance(loop, ast.For):
            over = loop.iter
        elif isinstance(loop, (ast.ListComp, ast.GeneratorExp)):
            over = loop.generators[0].iter
        else:
            continue
        if not is_loader(source, over):
            continue
        for call in calls_in(source, loop):
            model = dotted(call.func)
            if model and is_model(source, model) and (call.args or call.keywords):
                yield over, model
                break


def _takes_gradients(source: Source, node: ast.AST) -> bool:
    """Whether the text below this node speaks of gradients; a context that is not entered does not count."""
    text = source.text(node)
    for bare in not_entered(source):
        if inside(source, bare, node):
            text = text.replace(source.text(bare), "", 1)
    return GRADIENTS.search(text) is not None


def frozen(source: Source, scope: ast.AST, model: str) -> bool:
    """`model.freeze()` of Lightning: no parameter asks for a gradient, so nothing is recorded."""
    return any(dotted(receiver(call)) == model for call in calls_in(source, scope, "freeze"))


def inline_loops(source: Source) -> Iterator[tuple[ast.For, str]]:
    """Loops over evaluation data that a training function runs itself, right after `model.eval()`."""
    for switch in source.calls_to("eval"):
        model = dotted(receiver(switch))
        scope = source.scope(switch)
        if not model or switch.args or is_test(source, switch):
            continue
        if isinstance(scope, FUNCTIONS) and EVALUATES.search(scope.name.lower()):
            continue
        if FROZEN.search(
            source.text(scope) if isinstance(scope, FUNCTIONS) else source.data.decode(errors="replace")
        ):
            continue
        flow = source.flow(scope)
        back = [*calls_in(source, scope, "train", "backward"), *source.loops_around(switch)]
        for loop in source.within(scope, nested=False):
            if not isinstance(loop, ast.For) or loop in source.loops_around(switch):
                continue
            if not one_cell(source, switch, loop) or not flow.reaches(switch, loop, back):
                continue
            name = dotted(iterated(loop.iter))
            if not EVALUATION_DATA.search(name.lower()) or not is_loader(source, loop.iter):
                continue
            if without_grad(source, loop) or _takes_gradients(source, loop) or frozen(source, scope, model):
                continue
            if any(dotted(call.func) == model for call in calls_in(source, loop)):
                yield loop, model
