from premortem.convictions.effect import Effect
from premortem.events import Event, SchedulerStep, Suspicion


class RateCutWhileBetter(Effect):
    """The rate is cut at the suspected line, although the metric got better in the sense of its own name."""

    listens = (SchedulerStep,)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        # The rule says which way the scheduler waits for it to go: the other one is better.
        self._sign = 1.0 if "to fall" in suspicion.message else -1.0
        self._first: float | None = None

    def seen(self, event: Event) -> str:
        if (
            not isinstance(event, SchedulerStep)
            or event.metric is None
            or not self.suspicion.covers(event.at)
        ):
            return ""
        self._first = event.metric if self._first is None else self._first
        better = self._sign * (event.metric - self._first) > 0
        if not better or not event.after < event.before:
            return ""
        return (
            f"the metric got better, from {self._first:.4g} to {event.metric:.4g}, and the rate was cut from "
            f"{event.before:.3g} to {event.after:.3g}"
        )
