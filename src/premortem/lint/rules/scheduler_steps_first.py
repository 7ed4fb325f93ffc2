import ast
from collections.abc import Iterator

from premortem.lint.patterns import pattern
from premortem.lint.provenance import functions_called, values
from premortem.lint.rule import Card, Diagnostic, Facts, Rule, Severity, Source
from premortem.lint.rules.scheduler_scope import SCHEDULERS, is_there
from premortem.lint.training import calls_in, conditions, inside, is_optimizer, is_test, one_cell, steps_in
from premortem.lint.tree import Loop, argument, dotted, last_name, receiver

# Schedules of other packages and of the project, when they are given an optimizer.
SCHEDULE = pattern(r"(?:LR|Schedule|Scheduler|_schedule_with_warmup)$")
# Before torch 1.1 the scheduler had to be stepped first.
TURNED = (1, 1)


class SchedulerStepsFirst(Rule):
    """The learning-rate scheduler is stepped before the optimizer has made its first step.

    ## Why it matters
    A scheduler sets the first learning rate when it is made. A `scheduler.step()` in front of the first
    `optimizer.step()` passes over that value: the whole schedule comes one turn early, and the last turn is beyond its end.
    torch warns about it once, in the middle of the first lines of a run.

    ## Usual causes
    - code for torch before 1.1, where this was the order
    - `scheduler.step()` at the head of the loop over epochs

    ## What to do
    Call `scheduler.step()` after `optimizer.step()`, at the end of the turn.

    ## When it stays silent
    When the epoch is given (`scheduler.step(epoch)` sets the value of that epoch), when the optimizer is stepped
    before the loop or earlier in its body, under conditions, and where the project runs on torch before 1.1.
    """

    card = Card("PM559", "scheduler-steps-first", "scheduler", Severity.WARNING, preview=True)
    needs = (b".step(",)
    triggers = (b"sched", b"Sched", b"LR(")

    def check(self, source: Source, project: Facts) -> Iterator[Diagnostic]:
        for call in source.calls_to("step"):
            owner = receiver(call)
            loops = source.loops_around(call)
            if owner is None or call.args or call.keywords or not loops or is_test(source, call):
                continue
            # torch's give nothing back: `lr = scheduler.step()` is a class that works in its own order.
            if not isinstance(source.parent(call), ast.Expr):
                continue
            if not all(is_there(source, test, dotted(owner)) for test in conditions(source, call, loops[0])):
                continue
            made = values(source, owner) if dotted(owner) else None
            if (
                not made
                or not all(_schedules(source, one) for one in made)
                or not _is_first(source, call, loops[0])
            ):
                continue
            if project.target is not None and project.target.version < TURNED:
                continue
            yield self.report(
                source,
                call,
                f"`{dotted(owner)}` is stepped before the optimizer: the first learning rate of the schedule is never used",
                remedy="Step it after `optimizer.step()`, at the end of the turn.",
            )


def _schedules(source: Source, made: ast.expr) -> bool:
    """A schedule that is stepped without arguments; a plateau needs a number."""
    if not isinstance(made, ast.Call) or last_name(made) == "ReduceLROnPlateau":
        return False
    names = source.names.of(made.func)
    if names and all(name.startswith(SCHEDULERS) for name in names):
        return True
    given = argument(made, "optimizer", 0)
    return bool(SCHEDULE.search(last_name(made))) and is_optimizer(source, dotted(given))


def _is_first(source: Source, call: ast.Call, loop: Loop) -> bool:
    """Whether everything that steps an optimizer in this scope comes later in the same turn of the loop."""
    if any(
        _steps(source, one) for one in calls_in(source, source.scope(call)) if not inside(source, one, loop)
    ):
        return False
    mine = _turn(source, call, loop)
    others = [
        _turn(source, one, loop) for one in calls_in(source, loop) if one is not call and _steps(source, one)
    ]
    return (
        mine is not None
        and bool(others)
        and all(one is not None and one > mine for one in others)
        and one_cell(source, call, loop)
    )


def _steps(source: Source, call: ast.Call) -> bool:
    """Whether this call steps an optimizer, itself or in a function of this file."""
    if any(one.call is call for one in steps_in(source, source.scope(call))):
        return True
    return any(steps_in(source, function) for function in functions_called(source, call))


def _turn(source: Source, node: ast.AST, loop: Loop) -> int | None:
    """The number of the statement of the loop's body that holds this node."""
    line = [node, *source.ancestors(node)]
    return next((number for number, one in enumerate(loop.body) if one in line), None)
