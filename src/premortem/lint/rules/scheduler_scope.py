import ast
from collections.abc import Iterator

from premortem.lint.lines import move_behind
from premortem.lint.patterns import pattern
from premortem.lint.provenance import callers, functions_called, values
from premortem.lint.rule import Card, Diagnostic, Facts, Fix, Rule, Severity, Source
from premortem.lint.training import (
    backwards_in,
    calls_in,
    conditions,
    is_epochs,
    is_loader,
    is_test,
    iterated,
    one_cell,
)
from premortem.lint.tree import Loop, argument, constant, dotted, last_name, receiver
from premortem.lint.words_used import words
from premortem.metric_words import speaks_of_epochs

SCHEDULERS = "torch.optim.lr_scheduler."
WARMUP = pattern(r"^transformers\.(?:optimization\.)?get_\w+_schedule_with_warmup$")
# A thousand batches are less than an epoch of most runs.
BATCHES = 1000
GONE = 1e-3
FEW = 300
PATIENT = 20


class SchedulerScope(Rule):
    """A learning-rate scheduler counts epochs and is stepped per batch, or counts batches and is stepped per epoch.

    ## Why it matters
    `StepLR(step_size=30)` in the batch loop divides the learning rate by ten every 30 batches: after a few hundred
    batches nothing is learnt any more. `OneCycleLR` over all batches, stepped once per epoch, never leaves its
    warm-up.

    ## Usual causes
    - `scheduler.step()` one indentation too deep, or too shallow
    - the scheduler was exchanged, the place of its step was not

    ## What to do
    Step it in the loop whose turns it counts, or build it in units of the loop it is stepped in.

    ## When it stays silent
    When the units cannot be read from the code (a configured step size), when the decay is slow enough to be meant
    per batch, when the step is conditional, and when the scheduler is also stepped elsewhere.
    """

    card = Card("PM534", "scheduler-scope", "scheduler", Severity.WARNING)

    needs = (b".backward(",)
    triggers = (b"lr_scheduler", b"schedule_with_warmup")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("step"):
            owner = receiver(call)
            loops = source.loops_around(call)
            if owner is None or not dotted(owner) or not loops or is_test(source, call):
                continue
            if not all(is_there(source, test, dotted(owner)) for test in conditions(source, call, loops[0])):
                continue
            built = values(source, owner)
            if not built or not all(isinstance(value, ast.Call) for value in built):
                continue
            made = [value for value in built if isinstance(value, ast.Call)]
            name = dotted(owner)
            if epochs := self._per_batch(source, call, loops):
                if call.args or call.keywords:
                    reasons = [_watches_batches(source, value, call) for value in made]
                else:
                    reasons = [_counts_epochs(source, value, epochs) for value in made]
                if all(reasons):
                    yield self.report(
                        source,
                        call,
                        f"`{name}` is stepped once per batch, but {reasons[0]}",
                        remedy=f"Call `{name}.step()` once per epoch, after the batch loop.",
                        fix=_after_the_batches(source, call, loops),
                    )
            elif (
                not call.args
                and self._per_epoch(source, call, loops)
                and all(_counts_batches(source, one) for one in made)
            ):
                if not self._stepped_elsewhere(source, call, name):
                    yield self.report(
                        source,
                        call,
                        f"`{name}` counts batches ({last_name(made[0])} over the length of the loader), but is "
                        "stepped once per epoch",
                        remedy=f"Call `{name}.step()` after every `optimizer.step()`, in the batch loop.",
                    )

    @staticmethod
    def _per_batch(source: Source, call: ast.Call, loops: tuple[Loop, ...]) -> Loop | None:
        """The loop over epochs, when this call is made for every batch of it."""
        inner = loops[0]
        if isinstance(inner, ast.While) or not calls_in(source, inner, "backward"):
            return None
        head = iterated(inner.iter)
        whole = last_name(head) == "range" and "len(" in words(source, head)
        if is_epochs(source, inner) or not (is_loader(source, inner.iter) or whole):
            return None
        if len(loops) > 1:
            return next((loop for loop in loops[1:] if is_epochs(source, loop)), None)
        function = source.function(call)
        if function is None:
            return None
        outer = [source.loops_around(caller) for caller in callers(source, function)]
        if outer and all(around and is_epochs(source, around[0]) for around in outer):
            return outer[0][0]
        return None

    @staticmethod
    def _per_epoch(source: Source, call: ast.Call, loops: tuple[Loop, ...]) -> bool:
        loop = loops[0]
        if not is_epochs(source, loop) or is_loader(source, getattr(loop, "iter", call)):
            return False
        for inner in calls_in(source, loop):
            if last_name(inner) == "backward" and source.loops_around(inner)[:1] != (loop,):
                return True
            for function in functions_called(source, inner):
                trains = calls_in(source, function, "backward")
                if any(source.loops_around(one) for one in trains):
                    return True
        return False

    @staticmethod
    def _stepped_elsewhere(source: Source, call: ast.Call, name: str) -> bool:
        last = name.rpartition(".")[2]
        for other in source.nodes(ast.Call):
            given = (*other.args, *(keyword.value for keyword in other.keywords))
            if any(dotted(value).rpartition(".")[2] == last for value in given):
                return True
            if last_name(other) == "step" and other is not call:
                if dotted(receiver(other)).rpartition(".")[2] == last or "sched" in dotted(receiver(other)):
                    return True
        return not one_cell(source, call)


def _after_the_batches(source: Source, call: ast.Call, loops: tuple[Loop, ...]) -> Fix | None:
    """The call moved behind the loop over batches, where it needs nothing of a single batch."""
    statement, inner = source.statement(call), loops[0]
    if len(loops) < 2 or call.args or call.keywords or inner.orelse or source.parent(statement) is not inner:
        return None
    return move_behind(source, statement, inner)


def is_there(source: Source, test: ast.AST, name: str) -> bool:
    """`if scheduler:`, `if scheduler is not None:`: no condition on the batch."""
    if not isinstance(test, ast.If):
        return False
    asked = test.test
    if isinstance(asked, ast.Compare) and isinstance(asked.ops[0], ast.IsNot):
        asked = asked.left
    return dotted(asked) == name


def _watches_batches(source: Source, made: ast.Call, call: ast.Call) -> str:
    """A ReduceLROnPlateau with the patience of epochs that is given the loss of every batch."""
    if not source.names.all_in(made.func, {SCHEDULERS + "ReduceLROnPlateau"}) or len(call.args) != 1:
        return ""
    patience = argument(made, "patience", 3)
    few = 10 if patience is None else constant(patience)
    if not isinstance(few, int) or few > PATIENT:
        return ""
    given = call.args[0]
    while isinstance(given, ast.Call) and last_name(given) in {"item", "detach"} and receiver(given):
        given = receiver(given)  # type: ignore[assignment]
    losses = {one.name for one in backwards_in(source, source.scope(call))}
    if dotted(given) and dotted(given) in losses:
        return f"ReduceLROnPlateau takes {few} steps without progress for a plateau: with single batches that is noise"
    return ""


def _counts_epochs(source: Source, made: ast.Call, epochs: Loop) -> str:
    """Why this scheduler counts epochs, as the end of a sentence; "" when it may count batches."""
    names = source.names.of(made.func)
    if len(names) != 1 or not next(iter(names)).startswith(SCHEDULERS):
        return ""
    kind = last_name(made)
    gamma = constant(argument(made, "gamma", 2 if kind != "ExponentialLR" else 1))
    if kind in {"StepLR", "MultiStepLR"} and gamma is None and argument(made, "gamma", 2) is None:
        gamma = 0.1
    if kind == "StepLR":
        size = constant(argument(made, "step_size", 1))
        if isinstance(size, int) and isinstance(gamma, float) and size > 0:
            if gamma ** (BATCHES / size) < GONE:
                return f"StepLR multiplies the learning rate by {gamma:g} every {size} steps"
    if kind == "ExponentialLR" and isinstance(gamma, float) and gamma**BATCHES < GONE:
        return f"ExponentialLR multiplies the learning rate by {gamma:g} at every step"
    if kind == "MultiStepLR":
        places = argument(made, "milestones", 1)
        if isinstance(places, (ast.List, ast.Tuple)) and places.elts:
            numbers = [constant(one) for one in places.elts]
            if all(isinstance(number, int) and number <= FEW for number in numbers):
                return f"its milestones {source.text(places)} are epochs"
    if kind == "CosineAnnealingLR":
        period = argument(made, "T_max", 1)
        if period is not None and dotted(period) and not isinstance(epochs, ast.While):
            over = source.text(epochs.iter)
            if speaks_of_epochs(dotted(period)) and dotted(period).rpartition(".")[2] in over:
                return f"its period T_max={source.text(period)} is in epochs"
    return ""


def _counts_batches(source: Source, made: ast.Call) -> bool:
    """Whether this scheduler is plainly built to be stepped once per batch."""
    names = source.names.of(made.func)
    if len(names) != 1:
        return False
    name = next(iter(names))
    kind = last_name(made)
    if name == SCHEDULERS + "OneCycleLR":
        per_epoch = argument(made, "steps_per_epoch")
        return _length(source, per_epoch, product=False) or _length(source, argument(made, "total_steps", 2))
    if name == SCHEDULERS + "CosineAnnealingLR":
        return _length(source, argument(made, "T_max", 1))
    if WARMUP.match(name) and "constant" not in kind:
        return _length(source, argument(made, "num_training_steps", 2))
    return False


def _length(source: Source, expr: ast.expr | None, *, product: bool = True) -> bool:
    """`len(loader)`, or a product with it; names are followed."""
    if expr is None:
        return False
    origins = values(source, expr) if dotted(expr) else [expr]
    if not origins:
        return False
    for origin in origins:
        lengths = [one for one in (origin, *source.within(origin)) if last_name(one) == "len"]
        lengths = [one for one in lengths if isinstance(one, ast.Call) and is_loader(source, one.args[0])]
        signs = [one.op for one in (origin, *source.within(origin)) if isinstance(one, ast.BinOp)]
        times = any(isinstance(sign, ast.Mult) for sign in signs)
        divided = any(isinstance(sign, (ast.Div, ast.FloorDiv)) for sign in signs)
        if not lengths or (product and not times) or divided:
            return False
    return True
