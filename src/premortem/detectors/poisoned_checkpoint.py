"""PM320 poisoned-checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import count, some
from premortem.events import SaveChecked
from premortem.findings import Finding, Severity


class PoisonedCheckpoint(Detector):
    """A checkpoint was saved whose trained weights or running statistics are not finite, or are all zero.

    ## Why it matters
    Whoever resumes from it, or ships it, has a model that answers NaN. Where it overwrites the only good checkpoint,
    everything that was learnt is lost.

    ## Usual causes
    Training had diverged before the save; a metric that is NaN was taken for the best; weights were cast to a type
    that is too small for them; an average of models divided by zero. A batch with NaN or infinity went through batch norm
    in train mode, also under `no_grad`: the weights stay sound, the running statistics do not.

    ## What to do
    Check that loss and weights are finite before saving. Under `premortem run` a good file is not overwritten by such
    a save: it goes to the run's `quarantine` folder, and `torch.load` of that path still gives what was saved as long
    as the run lasts. After the run, the path holds the last good version.

    ## When it stays silent
    Frozen parameters, masks of infinities and tensors that belong to no model of the run may hold what they like. Of
    buffers only the running statistics of norm layers count, and NaN where an earlier save of the run had numbers.
    """

    card = Card(
        code="PM320", name="poisoned-checkpoint", family="checkpoint", severity=Severity.ERROR, subject="path"
    )
    listens = (SaveChecked,)

    def observe(self, event: SaveChecked) -> Iterator[Finding]:
        if not event.poisoned or not self.once(event.path):
            return
        zero = event.poisoned == ("all of them",)
        what = "nothing but zeros" if zero else "weights that are not finite"
        which = "" if zero else f": {some(event.poisoned)} of {count(event.weights, 'weight')}"
        if event.buffers:
            what, which = (
                "buffers that are not finite",
                f": {some(event.poisoned)}; the trained weights are finite",
            )
        yield self.finding(
            event,
            f"`{event.path}` was saved with {what}{which}",
            cause=self._cause(event),
            remedy="Collect the statistics anew from clean batches (`reset_running_stats()`), or load an earlier file."
            if event.buffers
            else "Look for the first step that was not finite; save only what is finite.",
            parameter=None if zero else event.poisoned[0],
            path=event.path,
            quarantined=event.quarantined or None,
        )

    def _cause(self, event: SaveChecked) -> str:
        if event.quarantined:
            return (
                "The model was broken before it was saved. The file went to quarantine; the good version that was "
                "there before is still in its place."
            )
        if event.overwrote:
            return "The model was broken before it was saved, and a good file was overwritten with it."
        return "The model was broken before it was saved. There was no earlier version at this path."
