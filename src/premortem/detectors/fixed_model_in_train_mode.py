from dataclasses import dataclass

from premortem.amounts import count
from premortem.detectors.base import THRICE, Card, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import Custody, Event, Forward, LayerStats, Link, StateLoaded, WeightsSeen

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
    a `train()` on everything at the start of each epoch, which also reaches a teacher that is a part of the model.

    ## What to do
    Call `eval()` on it before the loop, and again wherever a `train()` reaches it.

    ## When it stays silent
    Its weights change (a momentum encoder, an average, a player of a pair), it has learned nothing before (a random
    projection), it is a part of the model in training that gradients go through, or it is asked several times in a step. A part that is frozen
    and computed in a checkpoint: there torch turns gradients off.
    """

    card = Card("PM309", "fixed-model-in-train-mode", "eval-mode", Severity.WARNING)
    uses = (Models,)
    listens = (Forward, LayerStats, WeightsSeen, Custody, StateLoaded)

    def __init__(self) -> None:
        self._helpers: dict[int, Helper] = {}
        self._learned: set[int] = set()  # models that an optimizer has moved, or that were loaded
        self._inner: dict[
            str, int
        ] = {}  # noisy layers that ran without gradients in this step, and how often
        self._tracked: set[int] = set()  # models whose last call is one of the training

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Custody):
            self._learned.update(
                link.model for link in event.links if link.moved or link.loaded or link.trained
            )
            yield from self._parts(event)
        elif isinstance(event, StateLoaded):
            if event.target == "module" and event.matched:
                self._learned.add(event.key)
                self._helpers.pop(event.key, None)
        elif isinstance(event, WeightsSeen):
            self._looked_at(event)
        elif isinstance(event, LayerStats):
            noisy = event.statistics or event.probability > 0
            if noisy and event.off and event.training and event.model in self._tracked:
                self._inner[event.layer] = self._inner.get(event.layer, 0) + 1
        elif isinstance(event, Forward):
            (self._tracked.add if event.tracked else self._tracked.discard)(event.model)
            yield from self._called(event)

    def _parts(self, event: Custody) -> Findings:
        """A teacher inside the model that is trained: frozen, without gradients, and in train mode like the rest."""
        layers, self._inner = self._inner, {}
        found: dict[str, int] = {}
        for layer, calls in layers.items():
            part = fixed_part(layer, event.links) if calls <= SAMPLED else ""
            if part:
                found[part] = found.get(part, 0) + 1
        for part, number in found.items():
            if self.different(part, event.step) >= THRICE and self.once(part):
                yield self.finding(
                    event,
                    f"`{part}` is frozen, runs without gradients, and is in train mode: {count(number, 'dropout or batch-norm layer')} of it "
                    "ran as in training",
                    cause="`train()` of the model that it is a part of reaches it as well: dropout makes its answers random, and batch norm takes the "
                    "statistics of each batch and writes them over those that it was trained with.",
                    remedy=f"Override `train()` of the model so that `{part.rpartition('.')[2]}` stays in eval mode, or call its `eval()` after each `train()`.",
                    at=event.at,
                    module=part,
                    layers=number,
                )

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


def fixed_part(layer: str, links: tuple[Link, ...]) -> str:
    """The largest part of the model around this layer of which nothing is trained, if it has learned something before."""
    names = layer.split(".")
    for end in range(2, len(names) + 1):
        part = ".".join(names[:end])
        inside = [link for link in links if link.name.startswith(part + ".")]
        if inside and not any(link.trainable for link in inside):
            still = all(not link.moved and not link.shifted and not link.twin for link in inside)
            used = any(link.ran_without_grad for link in inside)
            learned = any(link.trained or link.loaded for link in inside)
            return part if still and used and learned else ""
    return ""
