from __future__ import annotations

from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.events import CheckpointSaved


class SavedWeightsNeverChange(Detector):
    """Checkpoint after checkpoint holds the same old weights, while the model is trained.

    ## Why it matters
    What is on disk is not the model that was trained: when the run is over, it is lost.

    ## Usual causes
    The state dict is copied once, before the loop, and that copy is saved each time; another object than the trained
    model is saved.

    ## What to do
    Take `model.state_dict()` when saving.

    ## When it stays silent
    A checkpoint held the current weights at least once (the best so far may be saved again and again), or what is
    saved changes (an EMA).
    """

    card = Card("PM317", "saved-weights-never-change", "persistence", Severity.ERROR)
    listens = (CheckpointSaved,)

    def __init__(self) -> None:
        self._saves: list[CheckpointSaved] = []

    def observe(self, event: CheckpointSaved) -> Findings:
        if event.current is None or not event.step:
            return
        changed = bool(self._saves) and self._saves[-1].weights != event.weights
        if event.current or changed:
            self.over = True
            return
        if not self._saves or event.step > self._saves[-1].step:
            self._saves.append(event)
        if len(self._saves) >= THRICE:
            self._fine = True
            yield self._found(event)

    def _found(self, event: CheckpointSaved) -> Finding:
        first = self._saves[0]
        return self.finding(
            event,
            f"{len(self._saves)} checkpoints between steps {first.step} and {event.step} hold the same weights, and "
            "never those of the model that is trained",
            cause="What is saved is a copy that was made earlier, not the model as it is.",
            remedy="Call `model.state_dict()` at the moment of saving.",
            steps=[save.step for save in self._saves],
        )
