from dataclasses import dataclass, field

from premortem.amounts import count
from premortem.detectors.base import Card, Certainty, Detector, Finding, Findings, Severity
from premortem.detectors.shared.models import Models
from premortem.detectors.shared.optimizers import Optimizers
from premortem.events import (
    Backward,
    Event,
    Forward,
    ModelSeen,
    OptimizerStep,
    Site,
    StateLoaded,
)

LEAKED = 3  # steps in eval mode, after steps in train mode, that are no accident of one batch
NEVER = 10  # steps in eval mode from the start: more than a trial of the loop


@dataclass
class Trainee:
    """How a model was run since an optimizer of its last stepped, and before."""

    in_eval: list[Forward] = field(default_factory=list)
    in_train: bool = False
    trained_by: set[int] = field(default_factory=set)  # optimizers that stepped on forwards in train mode
    streak: int = 0
    inputs: set[int | None] = field(default_factory=set)
    unborn: int = 0
    since: int = 0
    at: Site | None = None


class TrainedInEvalMode(Detector):
    """A model is trained while it is in eval mode.

    ## Why it matters
    Dropout does nothing and batch norm normalises with old statistics that no longer move, or that were never
    collected at all. The run looks healthy and generalises worse, or does not learn.

    ## Usual causes
    `validate()` calls `model.eval()`, and the script does not call `model.train()` before the next epoch; `model.train()` stands
    before the loop over epochs instead of in it.

    ## What to do
    Call `model.train()` at the start of every training epoch.

    ## When it stays silent
    Only a sub-module is in eval mode (frozen batch norm), most of the model is frozen, the model was loaded and is in
    eval mode from the start, the same batch is used again and again (an overfitting check), the steps are another
    phase with another optimizer, or the model has no such layers.
    """

    card = Card(
        "PM302",
        "trained-in-eval-mode",
        "eval-mode",
        Severity.ERROR,
        explains_here=("statistics-never-collected",),
    )
    uses = (Models, Optimizers)
    listens = (Forward, Backward, OptimizerStep, StateLoaded)

    def __init__(self) -> None:
        self._loaded: set[int] = set()  # parameters
        self._pending: list[Forward] = []
        self._trainees: dict[int, Trainee] = {}

    def observe(self, event: Event) -> Findings:
        if isinstance(event, Forward):
            if event.grad and event.tracked and len(self._pending) < 4096:
                self._pending.append(event)
        elif isinstance(event, Backward):
            self._trained(set(event.untrained))
        elif isinstance(event, OptimizerStep):
            yield from self._stepped(event)
        elif isinstance(event, StateLoaded) and event.target == "module":
            self._loaded.update(event.parameters)

    def _trained(self, untrained: set[int]) -> None:
        pending, self._pending = self._pending, []
        for forward in pending:
            if forward.number in untrained:
                continue
            trainee = self._trainees.setdefault(forward.model, Trainee())
            # Batch norm alone may be kept in eval mode on purpose, but not before it has seen any data.
            if forward.noisy_train or (forward.training and not forward.unborn and not trainee.unborn):
                trainee.in_train = True
            elif forward.noisy_eval:
                trainee.in_eval.append(forward)

    def _stepped(self, event: OptimizerStep) -> Findings:
        held = self.fact(Optimizers).held(event.optimizer)
        for model, trainee in self._trainees.items():
            if not trainee.in_train and not trainee.in_eval:
                continue
            seen = self.fact(Models).seen.get(model)
            if seen is None or not any(p.key in held for p in seen.parameters):
                continue
            if trainee.in_train:
                trainee.streak = 0
                trainee.inputs.clear()
                trainee.trained_by.add(event.optimizer)
            else:
                self._count(trainee, event)
                yield from self._judge(trainee, seen, event)
            trainee.in_train = False
            trainee.in_eval.clear()

    def _count(self, trainee: Trainee, event: OptimizerStep) -> None:
        if not trainee.streak:
            trainee.since, trainee.at = event.step, trainee.in_eval[0].at
        trainee.streak += 1
        trainee.unborn = max(trainee.unborn, *(forward.unborn for forward in trainee.in_eval))
        if len(trainee.inputs) < 8:
            seen = ((f.number, f.fingerprint) for f in trainee.in_eval)
            trainee.inputs.update(number if mark is None else mark for number, mark in seen)

    def _judge(self, trainee: Trainee, seen: ModelSeen, event: OptimizerStep) -> Findings:
        trainable = sum(parameter.trainable for parameter in seen.parameters)
        if self.said(seen.model) or 2 * trainable < len(seen.parameters) or len(trainee.inputs) < 2:
            return
        leaked = event.optimizer in trainee.trained_by
        loaded = any(parameter.key in self._loaded for parameter in seen.parameters)
        # With loaded weights it may be how batch norm is kept fixed.
        never = not trainee.trained_by and (trainee.unborn or not loaded)
        if trainee.streak >= LEAKED and leaked:
            when = f"since step {trainee.since}, after it had been in train mode"
            yield self._found(trainee, seen, event, when)
        elif trainee.streak >= NEVER and never:
            yield self._found(trainee, seen, event, "from the first step on")

    def _found(self, trainee: Trainee, seen: ModelSeen, event: OptimizerStep, when: str) -> Finding:
        self.once(seen.model)
        layers = trainee.in_eval[-1].noisy_eval
        certain = bool(trainee.trained_by) or trainee.unborn > 0
        return self.finding(
            event,
            f"`{seen.name}` is trained in eval mode {when} ({count(layers, 'dropout or batch-norm layer')})",
            cause="Dropout is off, and batch norm uses statistics that "
            + ("no batch has ever gone into." if trainee.unborn else "no longer move."),
            remedy=f"Call `{seen.name}.train()` at the start of every training epoch, after each evaluation.",
            at=trainee.at,
            severity=Severity.ERROR if certain else Severity.WARNING,
            certainty=Certainty.MEASURED if certain else Certainty.SUSPECTED,
            module=seen.name,
            layers=layers,
            since=trainee.since,
        )
