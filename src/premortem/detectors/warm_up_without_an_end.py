from premortem.detectors.base import THRICE, Card, Certainty, Detector, Findings, Severity
from premortem.detectors.shared.epochs import Epochs
from premortem.detectors.shared.schedules import Schedules
from premortem.events import CheckpointSaved, Event, RunEnded

CALLS = 100  # of the schedule: a run that was shortened for a try makes fewer
COLD = 0.1  # of its last rate, at the start: a warm-up begins near 0


class WarmUpWithoutAnEnd(Detector):
    """The learning rate rose in every step of the whole run: the warm-up was longer than the training.

    ## Why it matters
    A warm-up is for the first steps. If it lasts to the end, most of the training is made with a rate that is too small, and the rate that
    was chosen is never used, or only in the last step, when it should have been low again.

    ## Usual causes
    `warmup_steps` of a larger run; a warm-up that is multiplied by accumulation or processes.

    ## What to do
    Make the warm-up a few percent of the steps of this run.

    ## When it stays silent
    Below a hundred calls or three epochs, when the rate fell in any step, when it did not rise in a straight line (a search for the best
    rate does not), and when the run did not come to its end. When the rate that was set is reached in the last call, or lies below: a
    schedule that ends with the run was planned for it (a range test). Where a file was saved at the end, another run may go on with the warm-up:
    then it is a remark.
    """

    card = Card("PM220", "warm-up-without-an-end", "scheduler", Severity.WARNING).explaining(
        "updates-too-small"
    )
    uses = (Schedules, Epochs)
    listens = (CheckpointSaved, RunEnded)

    def __init__(self) -> None:
        self._saved = -1  # the step

    def observe(self, event: Event) -> Findings:
        if isinstance(event, CheckpointSaved):
            self._saved = event.step
        if (
            not isinstance(event, RunEnded)
            or event.reason != "finished"
            or len(self.fact(Epochs).ends()) < THRICE
        ):
            return
        for key, schedule in self.fact(Schedules).of.items():
            rose = schedule.straight and not schedule.explicit and schedule.built is not None
            calls, rate = schedule.calls, schedule.rate + schedule.rise * schedule.unheard
            # Beyond the run: with a few calls more, as many as the count may be wrong by, it were not over.
            goes_on = rate + THRICE * schedule.rise < schedule.base
            start = rate - schedule.rise * calls
            each_step = schedule.trained <= calls + THRICE
            if rose and goes_on and each_step and calls >= CALLS and start <= COLD * rate and self.once(key):
                kept = self._saved >= schedule.last_step + schedule.rested
                yield self.finding(
                    event,
                    f"the rate rose in each of the {calls} steps of the run, from {max(start, 0.0):.3g} to {rate:.3g}, and never fell: "
                    f"{schedule.kind} was still warming up at the end",
                    cause="The warm-up is longer than the training.",
                    remedy="Make it a few percent of the steps of this run.",
                    at=schedule.at or schedule.built_at,
                    severity=Severity.INFO if kept else None,
                    certainty=Certainty.SUSPECTED if kept else Certainty.MEASURED,
                    calls=calls,
                    rate=rate,
                    base=schedule.base,
                )
