"""Weights that were kept, and are not what they were kept for."""

from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.events import AliasKept, CheckpointSaved, Event, StateLoaded


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

    card = Card("PM313", "restored-own-live-weights", "persistence", Severity.ERROR)
    listens = (StateLoaded, CheckpointSaved)

    def observe(self, event: Event) -> Findings:
        if isinstance(event, StateLoaded):
            mine = event.target == "module" and event.matched == event.given == event.aliased > 0
            if mine and event.taken_at is not None and (event.taken_at < event.step or event.rewritten):
                yield self._restored(event, event.taken_at)
        # Taken before training (step 0), it may well be meant to follow the model.
        elif isinstance(event, CheckpointSaved) and event.taken_at and event.taken_at < event.step:
            yield self._saved(event, event.taken_at)

    def _restored(self, event: StateLoaded, taken_at: int) -> Finding:
        steps = event.step - taken_at
        since = f"{count(steps, 'step')} were made since" if steps else "other weights were loaded since"
        return self.last_word(
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
        return self.last_word(
            event,
            f"`{event.path.rpartition('/')[2] or 'the checkpoint'}` was written from a state dict taken at step "
            f"{taken_at}, which is the model's own memory: the file holds the weights of step {event.step}",
            cause="`state_dict()` holds references to the weights, so training changed the state that was kept.",
            remedy="Save at once, or keep a copy: `copy.deepcopy(model.state_dict())`.",
            severity=Severity.WARNING,
            taken_at=taken_at,
        )


class SavedWeightsNeverChange(Detector):
    """Checkpoint after checkpoint holds the same old weights, while the model is trained.

    ## Why it matters
    The file is not the trained model. When the run is over, the trained model is lost.

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
            yield self.finding(
                event,
                f"{len(self._saves)} checkpoints between steps {self._saves[0].step} and {event.step} hold the same weights, "
                "and never those of the model that is trained",
                cause="The script saves a copy that was made earlier, not the model as it is.",
                remedy="Call `model.state_dict()` at the moment of saving.",
                steps=[save.step for save in self._saves],
            )


class KeptByReference(Detector):
    """The best model is kept by giving the live model a second name.

    ## Why it matters
    There is only one model. It goes on being trained, and in the end the "best" one is the last one.

    ## Usual causes
    `best_model = model` instead of `best_model = copy.deepcopy(model)`.

    ## What to do
    Copy the model, or keep a copy of its state dict.

    ## When it stays silent
    The other name is given to a new model afterwards (a sweep that keeps the best of several runs).
    """

    card = Card("PM318", "kept-by-reference", "persistence", Severity.ERROR)
    listens = (AliasKept,)

    def observe(self, event: AliasKept) -> Findings:
        yield self.last_word(
            event,
            f"`{event.kept} = {event.source}` keeps no copy: both names mean the model that is still being trained",
            cause="An assignment gives an object another name; every later step changes the model that was kept.",
            remedy=f"Use `{event.kept} = copy.deepcopy({event.source})`.",
            module=event.source,
        )
