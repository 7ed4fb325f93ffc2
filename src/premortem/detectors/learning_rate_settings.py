"""A learning rate that is given in a way that does not work."""

from typing import NamedTuple

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.optimizers import Optimizers
from premortem.detectors.shared.schedules import Schedules
from premortem.events import Event, OptimizerBuilt, OptimizerStep, RunEnded, SchedulerBuilt


class LearningRateNotANumber(Detector):
    """The learning rate given to an optimizer is text, not a number.

    ## Why it matters
    The optimizer refuses it with a message about comparing `float` and `str` that does not say where the text
    came from, or the first step fails.

    ## Usual causes
    YAML reads `1e-4` as text: it wants `1.0e-4`. A command-line option without `type=float`, or an environment
    variable.

    ## What to do
    Write `1.0e-4` in YAML, or convert: `lr=float(config["lr"])`.
    """

    card = Card("PM214", "learning-rate-not-a-number", "lr", Severity.ERROR)
    listens = (OptimizerBuilt,)

    def observe(self, event: OptimizerBuilt) -> Findings:
        if event.lr_text:
            yield self.last_word(
                event,
                f'{event.kind} was given the text "{event.lr_text}" as learning rate',
                cause="A config file, a command line or an environment variable gave text where a number is needed"
                " (YAML reads 1e-4 as text).",
                remedy=f"Convert it: lr=float({event.lr_text!r}), or write 1.0e-4 instead of 1e-4 in YAML.",
                text=event.lr_text,
            )


PART = 0.2  # of the rate the optimizer was built with: within a factor of five it may be a choice
LEAST = 50  # steps: a warm-up has left its first rate by then


class LearningRateStuck(Detector):
    """The script sets the learning rate before every step, and it is always the same small value.

    ## Why it matters
    The schedule never advances: the whole run is made at its first value, which for a warm-up is a small part of
    the rate that was asked for.

    ## Usual causes
    The schedule is asked with a counter that does not move: the start step instead of the current one, a variable
    of another scope, a counter that is reset in each call.

    ## What to do
    Print the step that the schedule is asked with, and pass the one that counts.

    ## When it stays silent
    Rates that change at any time, rates near the one the optimizer was built with, and schedulers of torch.
    """

    card = Card("PM215", "learning-rate-stuck", "lr", Severity.ERROR).explaining(
        "updates-too-small", "learning-rate-zero"
    )
    uses = (Epochs, Optimizers, Schedules)
    listens = (*Epochs.LISTENS, RunEnded)

    def observe(self, event: Event) -> Findings:
        # No warm-up takes half of a run.
        if not isinstance(event, RunEnded) and event.step < 0.5 * self.fact(Epochs).whole(event.step):
            return
        for key, own in self.fact(Schedules).own.items():
            small = 0 < own.rate <= PART * own.base
            if self.said(key):
                continue
            if own.calls >= LEAST and own.rewritten >= 0.9 * (own.calls - 1) and not own.changes and small:
                self.once(key)
                yield self.finding(
                    event,
                    f"the script set the learning rate {own.rewritten} times, always to {own.rate:.3g}; the optimizer was "
                    f"built with {own.base:.3g}",
                    cause="The script asks its schedule for the same step again and again, so the rate never leaves its "
                    "first value.",
                    remedy="Pass the number of the current step to the schedule.",
                    at=self.fact(Optimizers).at(key),
                    rate=own.rate,
                    built=own.base,
                    steps=own.calls,
                )


class LearningRateSetNowhere(Detector):
    """A learning rate is assigned where the optimizer does not look for it.

    ## Why it matters
    `optimizer.lr = 0.001` makes a new attribute that torch never reads: the optimizer goes on with the rate in its
    parameter groups, and the intended schedule never happens. Python does not complain.

    ## Usual causes
    A habit from other frameworks, or a misspelt key (`group["learning_rate"]`).

    ## What to do
    Assign to the groups: `for group in optimizer.param_groups: group["lr"] = 0.001`, or use a scheduler.
    """

    card = Card("PM216", "learning-rate-set-nowhere", "lr", Severity.ERROR)
    listens = (OptimizerStep,)

    def observe(self, event: OptimizerStep) -> Findings:
        # A stray rate that equals the real one does no harm so far.
        if event.stray is None or event.stray in event.lrs or not self.once(event.optimizer):
            return
        yield self.finding(
            event,
            f"the rate {event.stray:.3g} was set on {event.kind}, which goes on with {max(event.lrs, default=0.0):.3g}",
            cause="torch's optimizers read the rate from their parameter groups and nowhere else.",
            remedy='Assign it there: for group in optimizer.param_groups: group["lr"] = ...',
            stray=event.stray,
            rates=list(event.lrs),
        )


FALLS = 8  # of the rate: a schedule, and not a rate that was lowered now and then
HALF = 0.5  # of its highest rate: the others are then twice as far from it as they were meant to be


class Course(NamedTuple):
    """The rate of the one group that a script moves."""

    peak: float
    rate: float
    falls: int


class ScheduleOfOneGroup(Detector):
    """The script's own schedule writes the rate of one parameter group, and the others keep their first rate to the end.

    ## Why it matters
    The part of the model that is left behind (often a new head, with the larger rate) never anneals: its weights go on jumping about
    when the rest has come to rest. The rate that the log shows is that of the group that is written.

    ## Usual causes
    `optimizer.param_groups[0]["lr"] = lr`, written for an optimizer with a single group, after a second group was added.

    ## What to do
    Go through all groups, each with its own first rate: `for group in optimizer.param_groups: group["lr"] = factor * group["base_lr"]`.

    ## When it stays silent
    When any line of the script writes a rate in another way or names another group, when a scheduler of torch moves the rates, when the
    rate only rises (a warm-up of one part), and when the groups that keep theirs are frozen or hold no matrices (a temperature).
    """

    card = Card("PM225", "schedule-of-one-group", "lr", Severity.WARNING)
    uses = (Optimizers,)
    listens = (OptimizerStep, SchedulerBuilt)

    def __init__(self) -> None:
        self._courses: dict[int, Course] = {}
        self._scheduled: set[int] = set()
        self._first: dict[int, tuple[float, ...]] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, SchedulerBuilt):
            self._scheduled.add(event.optimizer)
        elif isinstance(event, OptimizerStep) and len(event.lrs) > 1:
            first = self._first.setdefault(event.optimizer, event.lrs)
            if len(first) != len(event.lrs):
                self._first[event.optimizer] = event.lrs
            elif event.one_group is not None and event.optimizer not in self._scheduled:
                yield from self._moved(event, first)

    def _moved(self, event: OptimizerStep, first: tuple[float, ...]) -> Findings:
        moved = [number for number, rate in enumerate(event.lrs) if rate != first[number]]
        built = self.fact(Optimizers).built.get(event.optimizer)
        if len(moved) != 1 or built is None or len(built.groups) != len(first):
            return
        (number,) = moved
        rate, before = event.lrs[number], first[number]
        peak, last, falls = self._courses.get(event.optimizer, Course(before, before, 0))
        course = Course(max(peak, rate), rate, falls + (rate < last))
        self._courses[event.optimizer] = course
        left = [
            event.lrs[other]
            for other, group in enumerate(built.groups)
            if other != number and group.matrices and not set(group.parameters) <= set(built.frozen)
        ]
        if (
            course.falls < FALLS
            or rate > HALF * course.peak
            or not any(left)
            or not self.once(event.optimizer)
        ):
            return
        yield self.finding(
            event,
            f"the script has lowered the rate of parameter group {number} from {course.peak:.3g} to {rate:.3g}, and of no other of "
            f"the {len(first)}: {max(left):.3g} is what it was at the first step",
            cause=f"The line writes `param_groups[{number}]` only, and no other line of the script writes a rate.",
            remedy="Write the rate of each group, in proportion to its own first rate: for group in optimizer.param_groups: ...",
            at=event.one_group,
            rates=list(event.lrs),
            first=list(first),
        )
