from premortem.convictions.effect import THRICE, Effect
from premortem.events import EpochStarted, Event, LoaderBuilt, OptimizerStep, SchedulerStep, Suspicion

HALF = 0.5  # of the rate that the epoch began with: a schedule for many epochs keeps more in one


class RateGoneInAnEpoch(Effect):
    """A schedule for epochs is moved on by every batch: its end comes within the first epoch, or half of the rate is lost."""

    listens = (LoaderBuilt, EpochStarted, OptimizerStep, SchedulerStep)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._batches: dict[int, int] = {}
        self._loader: int | None = None
        self._calls = 0  # since the epoch began
        self._began = 0.0  # the rate, at the first of them

    def seen(self, event: Event) -> str:
        if isinstance(event, LoaderBuilt):
            self._batches[event.loader] = event.batches or 0
        elif isinstance(event, EpochStarted):
            self._loader, self._calls = event.loader, 0
        elif isinstance(event, SchedulerStep) and self.suspicion.covers(event.at):
            self._began = event.before if not self._calls else self._began
            self._calls += 1
            batches = self._batches.get(self._loader or 0, 0)
            if self._calls < THRICE or event.since_step != 1:
                return ""
            if event.horizon is not None and event.horizon < batches:
                return (
                    f"it was moved on {self._calls} times in one epoch of {batches} batches, and its schedule ends "
                    f"after {event.horizon} calls"
                )
            if event.after <= HALF * self._began:
                return f"the rate fell from {self._began:.3g} to {event.after:.3g} within {self._calls} batches of one epoch"
        return ""
