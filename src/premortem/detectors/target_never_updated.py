from collections import deque
from dataclasses import dataclass, field

from premortem.detectors.base import Card, Detector, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.events import Custody, Event, Forward, ModelSeen, RunEnded, Site, StateLoaded, WeightsSeen

STEPS = 200  # of the trained model, in which its copy stayed as it was: usual hard updates come sooner
LOOKS = 4  # at its weights, the same each time
RECENT = 4  # inputs of each model that are remembered, which is a step of either
ALIKE = 0.5  # of its inputs: few of them may look the same by accident (one-hot codes)
TO_THE_END = 0.8  # of the run: a copy that was replaced by another one is not called any more


@dataclass
class Target:
    """A copy that was made of a model before its first step, and is called without gradients."""

    name: str
    original: int
    at: Site | None
    weights: int | None = None
    since: int = 0
    looks: int = 0
    last: int = 0
    changed: bool = False
    calls: int = 0
    shared: int = 0  # calls on an input of the model it is a copy of
    inputs: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))


class TargetNeverUpdated(Detector):
    """A target network keeps the random weights it started with, while the network it is a copy of is trained.

    ## Why it matters
    Its output is what the trained network learns to predict. A target that stays as initialised keeps giving random
    values: the loss falls quickly, and the network learns nothing about the task.

    ## Usual causes
    A sync that assigns to a local name (`target = deepcopy(q)` for `self.target`), an averaging that drops its result
    (`lerp` for `lerp_`), a target that is loaded with its own state, a sync interval that is longer than the run, or no call of it at all.

    ## What to do
    Copy the weights every few hundred steps (`target.load_state_dict(q.state_dict())`), or average them in place.

    ## When it stays silent
    The copy was made of a model that was trained or loaded (a teacher), it changes at some time, or it mostly gets the
    very inputs that the other model gets, in training or not (a fixed reference, a baseline).
    """

    card = Card("PM308", "target-never-updated", "eval-stale", Severity.ERROR)
    uses = (Models,)
    listens = (ModelSeen, Forward, WeightsSeen, Custody, StateLoaded, RunEnded)

    def __init__(self) -> None:
        self._targets: dict[int, Target] = {}
        self._moved: set[int] = set()  # models that an optimizer moved
        self._used: set[int] = set()  # models whose weights came from elsewhere: loaded, or trained before
        self._inputs: dict[int, deque[int]] = {}  # of the other models

    def observe(self, event: Event) -> Findings:
        if isinstance(event, ModelSeen):
            self._seen(event)
        elif isinstance(event, Forward):
            self._called(event)
        elif isinstance(event, WeightsSeen):
            self._looked_at(event)
        elif isinstance(event, Custody):
            self._moved.update(link.model for link in event.links if link.moved)
            self._used.update(link.model for link in event.links if link.loaded or link.trained)
        elif isinstance(event, StateLoaded):
            # Its own memory, loaded into itself, changes nothing: it is the bits that count, not the call.
            own = event.matched > 0 and event.aliased == event.matched
            if event.target == "module" and event.key in self._targets and event.step and not own:
                self._targets[event.key].changed = True
        elif isinstance(event, RunEnded) and event.reason == "finished":
            yield from self._judge(event)

    def _seen(self, event: ModelSeen) -> None:
        fresh = event.same_weights and event.copy_of not in self._moved and event.model not in self._targets
        if event.copy_of is not None and fresh:
            self._targets[event.model] = Target(event.name, event.copy_of, event.at)

    def _called(self, event: Forward) -> None:
        target = self._targets.get(event.model)
        if target is not None and not event.tracked:
            target.last = event.step
        if event.fingerprint is None:
            return
        if target is not None:
            target.calls += 1
            target.inputs.append(event.fingerprint)
            target.shared += event.fingerprint in self._inputs.get(target.original, ())
        else:
            self._inputs.setdefault(event.model, deque(maxlen=RECENT)).append(event.fingerprint)
            for other in self._targets.values():
                if other.original == event.model:
                    other.shared += event.fingerprint in other.inputs

    def _looked_at(self, event: WeightsSeen) -> None:
        target = self._targets.get(event.model)
        if target is None:
            return
        if target.weights is None:
            target.weights, target.since = event.checksum, event.step
        target.changed |= event.checksum != target.weights
        target.looks += 1

    def _judge(self, event: RunEnded) -> Findings:
        for key, target in self._targets.items():
            stale = key not in self._moved and not target.changed and target.looks >= LOOKS
            if not target.calls or target.shared > ALIKE * target.calls:
                continue  # a reference, or its inputs are not known
            trained = target.original in self._moved and target.original not in self._used
            steps = target.last - target.since
            if not stale or not trained or steps < STEPS or target.last < TO_THE_END * event.step:
                continue
            name = self.fact(Models).name(target.original, "the model")
            yield self.finding(
                event,
                f"`{target.name}` kept the weights that `{name}` was initialised with, for {steps} steps",
                cause=f"It is a copy of `{name}`, which is trained, and nothing updates it, so its outputs stay random.",
                remedy=f"Copy the weights of `{name}` into it every few hundred steps, in place, and check that this is called.",
                at=target.at,
                module=target.name,
                steps=steps,
            )
            return
