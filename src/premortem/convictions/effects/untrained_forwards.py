from premortem.convictions.effect import THRICE, Effect
from premortem.events import Backward, Event, Suspicion


class UntrainedForwards(Effect):
    """Between two backward passes at the suspected loop, outputs with gradients were made and thrown away."""

    listens = (Backward,)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._passes = 0
        self._lost = 0

    def seen(self, event: Event) -> str:
        if not isinstance(event, Backward) or event.at is None or event.at.file != self.suspicion.file:
            return ""
        if not event.untrained:
            self._passes = self._lost = 0
            return ""
        self._passes += 1
        self._lost += len(event.untrained)
        if self._passes < THRICE:
            return ""
        return f"{self._lost} of {self._lost + self._passes} forward passes were thrown away without a backward pass"
