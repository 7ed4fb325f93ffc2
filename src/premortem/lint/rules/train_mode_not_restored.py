import ast
from collections.abc import Iterator

from premortem.lint.flow import Flow
from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers, functions_called
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, helpers, is_optimizer, is_test, one_cell, without_grad
from premortem.lint.tree import Function, Loop, constant, dotted, given, last_name, receiver
from premortem.lint.words_used import mentions, words

SWITCHES = pattern(r"[Dd]ropout|Norm|DropPath|^torchvision$|^models$|^timm$|^from_pretrained\($|^hub$")

HOPS = 3  # calls from a function of the loop to the one that sets evaluation mode
BACK = pattern(r"^\.train\($|_mode(?:\(…?)?$")  # how a function switches back to training mode


class TrainModeNotRestored(Rule):
    """The model goes into evaluation mode inside the training loop and never comes back.

    ## Why it matters
    From the second epoch on the model is trained as if it were evaluated: no dropout, and batch normalisation
    with frozen statistics. The first epoch looks right, so the fault is easy to miss.

    ## Usual causes
    - `model.train()` is called once, before the loop over epochs
    - a validation function calls `model.eval()` and leaves it at that

    ## What to do
    Call `model.train()` at the start of every epoch.

    ## When it stays silent
    When anything in the loop can switch back, when the model is made anew in the loop, when evaluation mode is set
    before the training of the same turn (a frozen backbone), and when the model has no layer that cares.
    """

    card = Card("PM538", "train-mode-not-restored", "eval-mode", Severity.WARNING)
    needs = (b".backward(", b".eval()")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        reported: set[Loop] = set()
        for backward in (*source.calls_to("backward"), *self._training_functions(source)):
            loops = source.loops_around(backward)
            if not loops or is_test(source, backward):
                continue
            for call, model in self._switches(source, loops[-1]):
                shared = next((loop for loop in source.loops_around(call) if loop in loops), None)
                if shared is None or shared in reported or not one_cell(source, call, backward):
                    continue
                if self._stays(source, call, model, backward, shared, project):
                    reported.add(shared)
                    yield self.report(
                        source,
                        call,
                        f"`{model}` stays in evaluation mode: the next turn of this loop trains it without `train()`",
                        remedy=f"Call `{model}.train()` at the start of every turn of the training loop.",
                    )

    @staticmethod
    def _training_functions(source: Source) -> Iterator[ast.Call]:
        """Calls of functions of this file that train and never switch to training mode themselves."""
        for function in {source.function(call) for call in source.calls_to("backward")} - {None}:
            # One that sets evaluation mode itself trains in it on purpose: a frozen backbone.
            if function is not None and not (
                mentions(source, function, BACK) or calls_in(source, function, "eval")
            ):
                yield from (call for call in callers(source, function) if source.callee(call) is function)

    @staticmethod
    def _switches(source: Source, loop: Loop) -> Iterator[tuple[ast.Call, str]]:
        """Calls that put a model into evaluation mode, themselves or in a function of this file."""
        for call in calls_in(source, loop):
            if last_name(call) == "eval" and not call.args and dotted(receiver(call)):
                yield call, dotted(receiver(call))
                continue
            for function in functions_called(source, call):
                for name in _switched_by(source, function):
                    handed = given(call, function, name)
                    if handed is not None and dotted(handed):
                        yield call, dotted(handed)
                    elif name.startswith("self.") and dotted(receiver(call)) == "self":
                        yield call, name

    @staticmethod
    def _stays(
        source: Source, call: ast.Call, model: str, backward: ast.Call, loop: Loop, project: Facts
    ) -> bool:
        flow = source.flow(source.scope(call))
        inside = source.within(loop, nested=False)
        back = [
            node
            for node in inside
            if (isinstance(node, ast.Call) and node is not backward and _can_train(source, node))
            or (isinstance(node, (ast.Name, ast.Attribute)) and _binds(node, model))
        ]
        meant = [one for one in inside if isinstance(one, ast.Call) and _sets_eval(one, model)]
        if any(flow.reaches(one, backward, [loop]) for one in (call, *meant)):
            return False
        if not flow.reaches(call, backward, back):
            return False
        if not _is_trained(source, flow, model, backward, loop) or not _cares(source, model):
            return False
        known = {last_name(one) for one in calls_in(source, loop) if source.callee(one) is not None}
        return not any(project.does(name, "train") for name in helpers(source, loop) - known)


def _switched_by(source: Source, function: Function, depth: int = HOPS) -> Iterator[str]:
    """What a function, or a function of this file that it calls, puts into evaluation mode and leaves there."""
    if mentions(source, function, BACK):
        return
    for call in calls_in(source, function):
        if last_name(call) == "eval":
            yield dotted(receiver(call))
        elif depth and (inner := source.callee(call)) is not None:
            for name in _switched_by(source, inner, depth - 1):
                handed = given(call, inner, name)
                if name.startswith("self.") or (handed is not None and dotted(handed)):
                    yield name if name.startswith("self.") else dotted(handed)


def _is_trained(source: Source, flow: Flow, model: str, backward: ast.Call, loop: Loop) -> bool:
    """Whether this backward pass, or the function that makes one, is about this model."""
    function = source.callee(backward)
    scope = function or source.scope(backward)
    if not any(
        "step" in last_name(one) and is_optimizer(source, dotted(receiver(one)))
        for one in calls_in(source, scope)
    ):
        return False  # gradients for their own sake: saliency, attribution
    if function is not None:
        names = {model} if model.startswith("self.") else set()
        for parameter in function.args.args:
            handed = given(backward, function, parameter.arg)
            if handed is not None and dotted(handed) == model:
                names.add(parameter.arg)
        return any(dotted(call.func) in names for call in calls_in(source, function))
    for call in source.within(loop, nested=False):
        if isinstance(call, ast.Call) and dotted(call.func) == model and not without_grad(source, call):
            if flow.reaches(call, backward, [loop]) or call in source.within(backward):
                return True
    return False


def _can_train(source: Source, call: ast.Call) -> bool:
    name = last_name(call)
    function = source.callee(call)
    if function is not None:
        return mentions(source, function, BACK)
    if name == "train":
        return not (call.args and constant(call.args[0]) is False)
    return "train" in name.lower() or name.endswith("mode")


def _sets_eval(call: ast.Call, model: str) -> bool:
    return last_name(call) == "eval" and dotted(receiver(call)) == model


def _binds(node: ast.Name | ast.Attribute, model: str) -> bool:
    return isinstance(node.ctx, ast.Store) and dotted(node) == model


def _cares(source: Source, model: str) -> bool:
    """Whether the mode can matter: a model made in this file of plain layers does not have one."""
    made = [one.value for one in source.assignments.get(model, ()) if isinstance(one.value, ast.Call)]
    own = [
        value
        for value in made
        if last_name(value) in source.module_classes
        or any(name.startswith("torch.nn.") for name in source.names.of(value.func))
    ]
    if not own:
        return True
    classes = [cls for value in own for cls in source.classes if cls.name == last_name(value)]
    if len(classes) == len(own):
        # Parts of other classes of this file, or of other files, can have a mode of their own.
        parts = {word for cls in classes for word in words(source, cls)} & source.module_classes
        return any(
            mentions(source, cls, SWITCHES)
            for cls in (*classes, *(c for c in source.classes if c.name in parts))
        )
    return mentions(source, source.tree, SWITCHES)
