from premortem.detectors.base import THRICE, Card, Detector, Findings, Severity
from premortem.events import Event, ScalerUpdate, SchedulerStep, Site


class SchedulerBeforeOptimizer(Detector):
    """`scheduler.step()` stands before `optimizer.step()` in the loop.

    ## Why it matters
    The first value of the schedule is skipped, and every later one comes one step early. torch warns about it
    once, and the warning is easily lost.

    ## Usual causes
    Code written for torch before 1.1, where the order was the other way round.

    ## What to do
    Call `scheduler.step()` after `optimizer.step()`.

    ## When it stays silent
    Schedulers that are wound forward before training resumes, a single call right after construction, positions
    that are given explicitly, and a first step that a gradient scaler refused.
    """

    card = Card("PM207", "scheduler-before-optimizer", "scheduler", Severity.WARNING)
    listens = (ScalerUpdate, SchedulerStep)

    def __init__(self) -> None:
        self._first: dict[int, tuple[Site | None, float, float]] = {}  # scheduler -> the early call
        self._scaled = False  # a gradient scaler was at work: it may have refused the first step

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ScalerUpdate):
            self._scaled = True
        elif isinstance(event, SchedulerStep) and not event.explicit and event.metric is None:
            yield from self._stepped(event)

    def _stepped(self, event: SchedulerStep) -> Findings:
        key = event.scheduler
        if event.count == 1:
            # No optimizer at all had stepped: with several, one may start later on purpose.
            early = event.step == 0 and event.optimizer_steps == 0 and not self._scaled
            if early and event.before != event.after:
                self._first[key] = (event.at, event.before, event.after)
        elif key in self._first:
            site, before, after = self._first[key]
            if event.at != site or not event.since_step:
                del self._first[key]  # another line, or a fast-forward
                return
            if self.times(key) == THRICE:
                del self._first[key]
                yield self.finding(
                    event,
                    f"{event.kind} was stepped before the first optimizer step: the rate went from {before:.3g} "
                    f"to {after:.3g} before anything was trained with it",
                    cause="The schedule runs one step ahead of the training, and its first value is never used.",
                    remedy="Call scheduler.step() after optimizer.step().",
                    at=site,
                    before=before,
                    after=after,
                )
