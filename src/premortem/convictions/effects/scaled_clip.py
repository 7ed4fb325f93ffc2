from premortem.convictions.effect import THRICE, Effect
from premortem.events import Backward, Clip, Event, Suspicion


class ScaledClip(Effect):
    """Gradients are clipped at the suspected line while they still carry the scale of a GradScaler."""

    listens = (Backward, Clip)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._scaled = False
        self._times = 0

    def seen(self, event: Event) -> str:
        if isinstance(event, Backward):
            self._scaled = event.scaled
        elif isinstance(event, Clip) and self.suspicion.covers(event.at):
            clips = event.norm is not None and event.norm > event.limit
            self._times = self._times + 1 if self._scaled and clips else 0
            if self._times >= THRICE and event.norm is not None:
                return (
                    f"{self._times} scaled backward passes were clipped there: a norm of {event.norm:.3g}, "
                    f"with the scale in it, was cut to {event.limit:g}"
                )
        return ""
