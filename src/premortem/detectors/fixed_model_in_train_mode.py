from dataclasses import dataclass

from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import Custody, Event, Forward, StateLoaded, WeightsSeen

STEPS = 128  # one after the other: a judge may be trained alone for a hundred, while the maker waits
SAMPLED = 3  # passes in one step: more are averaged on purpose (Monte Carlo dropout)


@dataclass
class Helper:
    """A model that is called in every step, and that the step does not train."""

    first: int
    last: int
    weights: int | None = None
    looks: int = 0
    calls: int = 0  # in the last step


class FixedModelInTrainMode(Detector):
    """A model that is no longer trained works in train mode in every training step of another one.

    ## Why it matters
    What has been learned and is only used should answer the same question in the same way. In train mode dropout makes
    its answers random, and batch norm makes them depend on the rest of the batch and overwrites the running statistics
    that belong to its weights: the pretrained model is damaged though all its parameters are frozen.

    ## Usual causes
    A teacher or a frozen backbone whose `eval()` is missing; `requires_grad_(False)` alone, which changes no layer's mode;
    a `train()` on everything at the start of each epoch.

    ## What to do
    Call `eval()` on it before the loop, and again wherever a `train()` reaches it.

    ## When it stays silent
    Its weights change (a momentum encoder, an average, a player of a pair), it has learned nothing before (a random
    projection), it is a part of the model in training, or it is asked several times in a step.
    """

    card = Card("PM309", "fixed-model-in-train-mode", "eval-mode", Severity.WARNING)
    uses = (Models,)
    listens = (Forward, WeightsSeen, Custody, StateLoaded)

    def __init__(self) -> None:
        self._helpers: dict[int, Helper] = {}
        self._learned: set[int] = set()  # models that an optimizer has moved, or that were loaded

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Custody):
            self._learned.update(
                link.model for link in event.links if link.moved or link.loaded or link.trained
            )
        elif isinstance(event, StateLoaded):
            if event.target == "module" and event.matched:
                self._learned.add(event.key)
                self._helpers.pop(event.key, None)
        elif isinstance(event, WeightsSeen):
            self._looked_at(event)
        elif isinstance(event, Forward):
            yield from self._called(event)

    def _looked_at(self, event: WeightsSeen) -> None:
        helper = self._helpers.get(event.model)
        if helper is not None and helper.weights not in {None, event.checksum}:
            del self._helpers[event.model]
        elif helper is not None:
            helper.weights = event.checksum
            helper.looks += 1

    def _called(self, event: Forward) -> Findings:
        helper = self._helpers.get(event.model)
        noisy = event.training and event.noisy_train and not event.tracked and not event.discarded
        if not noisy or event.copies > 1 or (helper is not None and event.step > helper.last + 1):
            self._helpers.pop(event.model, None)
            return
        if helper is None:
            self._helpers[event.model] = Helper(event.step, event.step, calls=1)
            return
        helper.calls = 1 if event.step > helper.last else helper.calls + 1
        helper.last = event.step
        if helper.calls > SAMPLED:
            del self._helpers[event.model]
        elif helper.last - helper.first >= STEPS and helper.looks >= THRICE:
            if self._has_learned(event.model) and self.once(event.model):
                yield self._found(event, helper)

    def _has_learned(self, model: int) -> bool:
        seen = self.fact(Models).seen.get(model)
        return model in self._learned or (seen is not None and seen.copy_of in self._learned)

    def _found(self, event: Forward, helper: Helper) -> Finding:
        name = self.fact(Models).name(event.model)
        return self.finding(
            event,
            f"`{name}` is in train mode and its weights stay as they are: {count(event.noisy_train, 'dropout or batch-norm layer')} "
            f"of it ran as in training in each of {helper.last - helper.first} steps",
            cause="It is only used here, not trained: dropout makes its answers random, and batch norm takes the statistics of "
            "each batch and writes them over those that it was trained with.",
            remedy=f"Call `{name}.eval()` before the loop, and after every `train()` that reaches it.",
            module=name,
            layers=event.noisy_train,
        )
