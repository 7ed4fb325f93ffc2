import ast
from collections.abc import Iterable, Iterator

from premortem.lint.handlers import gives_up, hides_runtime_errors, names_metric, statements
from premortem.lint.left_out import MEAN, is_quiet, left_out
from premortem.lint.measured import is_averaged
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.training import calls_in, is_loader, is_model, is_test
from premortem.lint.tree import Loop, dotted, is_broad, is_nothing, last_name, receiver

MESSAGE = "a step that fails for any reason is skipped, and training goes on"
REMEDY = "Catch only the error you expect, count how often it happens, and stop above a limit."


class FailedStepSkipped(Rule):
    """A training step, or a batch of an evaluation, that fails for any reason is skipped, and the loop goes on.

    ## Why it matters
    If every step fails the run still ends "successfully", with the weights it began with. A step that dies after
    `backward` leaves half a gradient behind for the next one, and under DDP the other ranks wait for ever. A mean over
    the batches that did not fail looks like the mean over all.

    ## Usual causes
    A few samples were broken, so everything was caught.

    ## What to do
    Catch the one error that is expected (`torch.cuda.OutOfMemoryError`), clear the gradients, count, and stop when
    there are too many. Let all others end the run.

    ## When it stays silent
    When the handler raises on some path (a budget), leaves the loop, or names a narrow error. `RuntimeError` counts
    as narrow where the handler frees memory or speaks of it. A total that is divided by the number of all samples counts what failed.
    """

    card = Card("PM506", "failed-step-skipped", "numerics-masked", Severity.WARNING)
    triggers = (b"backward", b"training_step", b".eval(", b"except")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        if b"training_step" in source.data:
            yield from self._in_hooks(source)
        yield from self._in_evaluations(source, project)
        yield from self._not_finite(source)
        backwards = source.calls.get("backward", ())
        if not backwards or not source.tries or not source.names.imports("torch"):
            return
        # Without an optimizer's step it is a measurement, not training.
        stepped = {loop for step in source.calls_to("step") for loop in source.loops_around(step)}
        trained = {loops[0] for back in backwards if (loops := source.loops_around(back))} & stepped
        for block in source.tries:
            around = source.loops_around(block)
            if not around or around[0] not in trained:
                continue
            for handler in block.handlers:
                broad = is_broad(handler) and not gives_up(source, handler)
                if broad or (hides_runtime_errors(source, handler) and _steps(source, block, backwards)):
                    if (node := self._skip(source, block, handler, around[0], backwards)) is not None:
                        yield self.report(
                            source,
                            node,
                            MESSAGE,
                            remedy=REMEDY,
                        )

    def _in_hooks(self, source: Source) -> Iterator[Diagnostic]:
        """A `training_step` of Lightning that gives back None has its batch skipped."""
        for block in source.tries:
            function, owner = source.function(block), source.class_of(block)
            if function is None or owner is None or source.parent(function) is not owner:
                continue
            step = source.method(owner, "training_step")
            if not any(last_name(base) == "LightningModule" for base in owner.bases) or step is None:
                continue
            if function is not step and not any(
                source.callee(call) is function for call in calls_in(source, step)
            ):
                continue
            given = {dotted(one.value) for one in source.returns(function) if one.value is not None} - {""}
            for handler in block.handlers:
                if not is_broad(handler) or gives_up(source, handler):
                    continue
                for one in statements(source, handler):
                    value = getattr(one, "value", None)
                    nothing = is_nothing(value)
                    skips = isinstance(one, ast.Return) and nothing
                    if isinstance(one, ast.Assign) and nothing:
                        skips = any(dotted(target) in given for target in one.targets)
                    if skips:
                        yield self.report(source, one, MESSAGE, remedy=REMEDY)

    def _in_evaluations(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        """What fails is left out of the mean that a model, or its data, is judged by."""
        reported = set()
        for handler in self._left_out_of_models(source):
            reported.add(handler)
            yield self._left(source, handler)
        if not source.tries or is_test(source, source.tree):
            return
        for handler, becomes in left_out(source):
            if becomes == MEAN and handler not in reported:
                if source.names.imports("torch") or project.learns:
                    yield self._left(source, handler)

    def _left(self, source: Source, handler: ast.ExceptHandler) -> Diagnostic:
        return self.report(
            source,
            handler,
            "what fails here, for any reason, is left out of what is measured: the number is of the others",
            remedy="Let it fail, or count what was left out and say so beside the result.",
        )

    @staticmethod
    def _left_out_of_models(source: Source) -> Iterator[ast.ExceptHandler]:
        """A batch of a loader, or a sample that a model is measured by."""
        for block in source.tries if source.calls.get("eval") else ():
            loop = next(iter(source.loops_around(block)), None)
            if not isinstance(loop, ast.For) or is_test(source, block) or not source.names.imports("torch"):
                continue
            scope = source.scope(block)
            if calls_in(source, scope, "backward"):
                continue
            calls = _tried(source, block)
            batches = is_loader(source, loop.iter) and calls_in(source, scope, "eval")
            runs = batches and any(is_model(source, dotted(call.func)) for call in calls)
            if (runs or any(_is_measured_by(source, call) for call in calls)) and any(
                is_averaged(source, scope, one) for one in _collected(source, block)
            ):
                yield from (one for one in block.handlers if is_broad(one) and is_quiet(one, logs=True))

    def _not_finite(self, source: Source) -> Iterator[Diagnostic]:
        """`if torch.isnan(loss): continue` in an evaluation: the mean is of the batches that went well."""
        for call in source.calls_to("isnan", "isinf", "isfinite"):
            branch = next((one for one in source.ancestors(call) if isinstance(one, ast.stmt)), None)
            if not isinstance(branch, ast.If) or [type(one) for one in branch.body] != [ast.Continue]:
                continue
            loop = next(iter(source.loops_around(branch)), None)
            scope = source.scope(branch)
            if not isinstance(loop, ast.For) or not is_loader(source, loop.iter) or is_test(source, branch):
                continue
            if calls_in(source, scope, "backward") or not calls_in(source, scope, "eval"):
                continue
            looked_at = {dotted(one) for one in call.args} | {dotted(receiver(call))}
            if not any(names_metric(name) for name in looked_at if name):
                continue
            totals = _collected(source, loop)
            if any(is_averaged(source, scope, one) for one in totals) and source.names.imports("torch"):
                yield self.report(
                    source,
                    branch,
                    "a batch whose result is NaN or infinite is left out of this evaluation: the mean is of the others",
                    remedy="Let the mean be NaN, or count what was left out and say so beside the result.",
                )
                return

    @staticmethod
    def _skip(
        source: Source, block: ast.Try, handler: ast.ExceptHandler, loop: Loop, backwards: list[ast.Call]
    ) -> ast.AST | None:
        """The `continue` that skips, or the handler itself where it only falls through."""
        tried = _holds(source, block, backwards)
        if not tried and not _feeds(source, block, loop, backwards):
            return None
        last = handler.body[-1]
        if isinstance(last, ast.Continue):
            return last
        leaves = any(
            isinstance(node, (ast.Return, ast.Break, ast.Continue))
            for statement in handler.body
            for node in (statement, *source.within(statement))
        )
        return handler if tried and not leaves else None


def _tried(source: Source, block: ast.Try | ast.For) -> list[ast.Call]:
    return [node for one in block.body for node in (one, *source.within(one)) if isinstance(node, ast.Call)]


def _is_measured_by(source: Source, call: ast.Call) -> bool:
    """`perplexity(model, text)`: a function that is called after a measurement, and is given a model."""
    named = names_metric(last_name(call)) and last_name(call) not in {"append", "extend"}
    return named and any(is_model(source, dotted(one)) for one in call.args if dotted(one))


def _collected(source: Source, block: ast.Try | ast.For) -> set[str]:
    """The lists and totals to which a `try` or a loop adds."""
    found = {dotted(receiver(call)) for call in _tried(source, block) if last_name(call) == "append"}
    for one in block.body:
        for node in (one, *source.within(one)):
            if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
                found.add(dotted(node.target))
    return found - {""}


def _steps(source: Source, block: ast.Try, backwards: list[ast.Call]) -> bool:
    """Whether the `try` holds the whole step: the backward pass and the optimizer's step."""
    return _holds(source, block, backwards) and _holds(source, block, source.calls_to("step"))


def _holds(source: Source, block: ast.Try, calls: Iterable[ast.Call]) -> bool:
    below = {node for statement in block.body for node in source.within(statement)}
    return any(call in below for call in calls)


def _feeds(source: Source, block: ast.Try, loop: Loop, backwards: list[ast.Call]) -> bool:
    """Whether what the `try` computes is what `backward` is called on after it, in the same turn."""
    bound = {
        name.id
        for statement in block.body
        for name in (statement, *source.within(statement))
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for back in backwards:
        loops = source.loops_around(back)
        if loops and loops[0] is loop and back.lineno > block.lineno:
            if any(isinstance(node, ast.Name) and node.id in bound for node in source.within(back)):
                return True
    return False
