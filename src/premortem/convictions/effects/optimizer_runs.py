from premortem.convictions.effect import THRICE, Effect
from premortem.events import Event, OptimizerBuilt, OptimizerStep, Suspicion


class OptimizerRuns(Effect):
    """The optimizer that was built at the suspected line is the one that trains."""

    listens = (OptimizerBuilt, OptimizerStep)

    def __init__(self, suspicion: Suspicion) -> None:
        super().__init__(suspicion)
        self._built: set[int] = set()
        self._steps = 0

    def seen(self, event: Event) -> str:
        if isinstance(event, OptimizerBuilt):
            if self.suspicion.covers(event.at) and not event.error:
                self._built.add(event.optimizer)
        elif isinstance(event, OptimizerStep) and event.optimizer in self._built:
            self._steps += 1
            if self._steps >= THRICE:
                rates = ", ".join(f"{rate:g}" for rate in event.lrs[:3])
                return f"{event.kind} was built there and makes the steps, at a learning rate of {rates}"
        return ""
