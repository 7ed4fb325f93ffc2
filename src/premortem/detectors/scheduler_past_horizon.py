import math
from dataclasses import dataclass

from premortem.detectors.base import STILL, Card, Detector, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedules
from premortem.events import Event, OptimizerStep, RunEnded

_LEAST = 20  # steps at rate 0: a schedule that ends a bit early has fewer
_SHARE = 0.25  # of the run: a tail of it at rate 0 is a choice of some schedules
# A phase that waits for another one, at a rate that may rise again, has fewer.
_IDLE = 50


@dataclass
class Rate:
    """The learning rate of one optimizer, as its steps used it."""

    steps: int = 0
    peak: float = 0.0
    zero_since: int | None = None  # step from which on the rate has been exactly 0 in all groups

    @property
    def idle(self) -> int:
        return 0 if self.zero_since is None else self.steps - self.zero_since + 1


class SchedulerPastHorizon(Detector):
    """Training goes on after the end of the learning-rate schedule.

    ## Why it matters
    What comes after the end is rarely intended: a cosine climbs back to the full rate and undoes the fine work, a
    linear decay stays at 0 so that nothing is learned any more, a hand-written one becomes negative and climbs
    the loss, and OneCycleLR raises.

    ## Usual causes
    More epochs than the schedule was made for (`T_max`, `total_iters`, `total_steps`), or more calls of
    `scheduler.step()` than epochs.

    ## What to do
    Make the schedule as long as the number of calls, or stop training at its end.

    ## When it stays silent
    A cosine that is used as a cycle and ends low, and a last call or two beyond the end.
    """

    card = Card("PM204", "scheduler-past-horizon", "scheduler", Severity.ERROR).explaining(
        *STILL, "learning-rate-zero", "schedule-ends-before-the-run"
    )
    uses = (Epochs, Schedules)
    listens = (OptimizerStep, RunEnded)

    def __init__(self) -> None:
        self._rates: dict[int, Rate] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, OptimizerStep):
            yield from self._trained(event)
        elif isinstance(event, RunEnded):
            if event.error == "ValueError" and "The specified number of total steps is" in event.message:
                yield self.finding(
                    event,
                    f"OneCycleLR raised: {event.message}",
                    cause="scheduler.step() was called more often than the schedule was made for.",
                    remedy="Give total_steps (or epochs and steps_per_epoch) the number of calls that will be made; "
                    "when it counts epochs, call it once per epoch.",
                )
                return
            yield from self._dead_end(event)
            yield from self._climbed(event)

    def _trained(self, event: OptimizerStep) -> Findings:
        rates = [rate for rate in event.lrs if not math.isnan(rate)]  # it is on the device
        if not rates:
            return
        known = self._rates.setdefault(event.optimizer, Rate())
        known.steps += 1 + event.rested
        known.peak = max(known.peak, *rates)
        if any(rates):
            known.zero_since = None
        elif known.zero_since is None and known.peak > 0:
            known.zero_since = known.steps
        if known.zero_since is not None and self._for_good(event, known):
            yield from self._dead_end(event)
        if min(rates) < 0 and self.once(event.optimizer):
            kind, at = self.fact(Schedules).who_sets(event.optimizer, event.at)
            yield self.finding(
                event,
                f"the learning rate is negative ({min(rates):.3g}), set by {kind}",
                cause="A negative rate climbs the loss instead of descending: the schedule has run past its end.",
                remedy="Make the schedule as long as the training, or keep its factor from falling below 0.",
                at=at,
                rate=min(rates),
                peak=known.peak,
            )

    def _for_good(self, event: OptimizerStep, known: Rate) -> bool:
        """Whatever comes: the schedule cannot raise the rate again, or enough of the run was made without one."""
        if self.fact(Schedules).final(event.optimizer):
            return True
        return known.idle > max(_IDLE, min(known.steps / 2, _SHARE * self.fact(Epochs).whole(event.step)))

    def _dead_end(self, event: Event) -> Findings:
        for key, rate in self._rates.items():
            idle = rate.idle
            if idle >= _LEAST and idle > _SHARE * rate.steps and not self.said(key):
                self.once(key)
                kind, at = self.fact(Schedules).who_sets(key)
                yield self.finding(
                    event,
                    f"the last {idle} of {rate.steps} steps were made with learning rate 0, set by {kind}",
                    cause="The schedule ended before the training did; since then nothing can be learned.",
                    remedy="Make the schedule as long as the training, or stop at its end.",
                    at=at,
                    steps=rate.steps,
                    idle=idle,
                    peak=rate.peak,
                )

    def _climbed(self, event: RunEnded) -> Findings:
        for cosine in self.fact(Schedules).of.values():
            horizon = cosine.horizon or 0
            beyond = cosine.position - horizon
            if cosine.kind != "CosineAnnealingLR" or cosine.explicit or event.reason != "finished":
                continue
            # One way up after one way down; a run that wants cycles makes several and ends low.
            once = horizon and max(2.0, 0.1 * horizon) <= beyond < 3 * horizon
            if once and cosine.calls > horizon and cosine.rate >= 0.25 * cosine.peak:
                yield self.finding(
                    event,
                    f"CosineAnnealingLR was stepped {cosine.position} times with T_max={horizon}: the "
                    f"rate climbed again, to {cosine.rate:.3g} at the end",
                    cause="Past T_max the cosine goes back up, so training ends at a high rate.",
                    remedy=f"Make T_max the number of scheduler steps, {cosine.position}.",
                    at=cosine.at,
                    severity=Severity.WARNING,
                    position=cosine.position,
                    horizon=horizon,
                    rate=cosine.rate,
                    peak=cosine.peak,
                )
