"""PM313 restored-own-live-weights."""

from __future__ import annotations

from collections.abc import Iterator

from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.wording import count
from premortem.events import CheckpointSaved, Event, StateLoaded
from premortem.findings import Finding, Severity


class RestoredOwnLiveWeights(Detector):
    """The "best" weights that are restored or saved are the live ones: they were never kept.

    ## Why it matters
    `state_dict()` gives references to the weights, not copies. Every later step changes the kept state too, so
    restoring it does nothing, and what is saved as the best model is the last one.

    ## Usual causes
    `best = model.state_dict()` (or a shallow copy of it: `dict(...)`, `.copy()`, `{k: v.detach() ...}`) without
    `copy.deepcopy`; keeping the weights so while an EMA's are swapped in.

    ## What to do
    `best = copy.deepcopy(model.state_dict())`, or `{k: v.clone() for k, v in model.state_dict().items()}`.
    """

    card = Card(code="PM313", name="restored-own-live-weights", family="persistence", severity=Severity.ERROR)
    listens = (StateLoaded, CheckpointSaved)

    def observe(self, event: Event) -> Iterator[Finding]:
        if isinstance(event, StateLoaded):
            mine = (
                event.target == "module" and event.matched and event.aliased == event.matched == event.given
            )
            if mine and event.taken_at is not None and (event.taken_at < event.step or event.rewritten):
                self.over = True
                yield self._restored(event, event.taken_at)
        # Taken before training (step 0), it may well be meant to follow the model.
        elif isinstance(event, CheckpointSaved) and event.taken_at and event.taken_at < event.step:
            self.over = True
            yield self._saved(event, event.taken_at)

    def _restored(self, event: StateLoaded, taken_at: int) -> Finding:
        steps = event.step - taken_at
        since = f"{count(steps, 'step')} were made since" if steps else "other weights were loaded since"
        return self.finding(
            event,
            f"`{event.name}.load_state_dict` was given the model's own memory: the state kept at step {taken_at} is "
            f"not a copy, and {since}",
            cause="`state_dict()` holds references to the weights, so what was kept changed with the model and "
            "restoring it does nothing.",
            remedy="Keep a copy: `copy.deepcopy(model.state_dict())`.",
            module=event.name,
            taken_at=taken_at,
            aliased=event.aliased,
        )

    def _saved(self, event: CheckpointSaved, taken_at: int) -> Finding:
        return self.finding(
            event,
            f"`{event.path.rpartition('/')[2] or 'the checkpoint'}` was written from a state dict taken at step "
            f"{taken_at}, which is the model's live memory: it holds the weights of step {event.step}",
            cause="`state_dict()` holds references to the weights, so the state that was kept went on with training.",
            remedy="Save at once, or keep a copy: `copy.deepcopy(model.state_dict())`.",
            severity=Severity.WARNING,
            taken_at=taken_at,
        )
