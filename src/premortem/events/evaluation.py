"""Evaluations: one phase without training between two that train."""

from premortem.events.base import Event, event


@event
class EvaluationEnded(Event):
    """A run of forwards whose result was not trained on, between two training steps (or at the end).

    Derived from other events (see phases.py)."""

    model: int
    forwards: int
    samples: int
    grad: bool  # gradients were enabled
    noisy_train: int  # most dropout/batch-norm layers seen in train mode
    training: bool
    judged: bool  # the output was compared with a target (loss function or argmax/==)
    repeated: bool  # the same input many times (MC dropout)
    generator: bool  # in training its output goes into another model: its samples are no prediction
    weights: int | None  # checksum of the evaluated model's weights
    number: int  # counts the evaluations of this model from 1
    forgotten: int = 0  # functional dropouts that ran because no `training` was passed
    fresh: bool = True  # on inputs that were not just trained on
    trained: bool = True  # the model itself was trained on before
    both: bool = False  # it was run in the other mode as well, between the same two steps
    every_step: bool = False  # it is evaluated after each step (full-batch training)
    passes: int = 1  # how often the same input went through it, at most
    critic: bool = False  # it judges what another model makes
    discarded: bool = False  # its output was thrown away: a pass that only refreshes batch-norm statistics
    unborn: int = 0  # batch-norm layers in eval mode whose statistics were never collected


@event
class ScoreRecounted(Event):
    """CPU: a pass over a loader of several batches without gradients, in which every batch was answered by scores of classes: how many
    labels had the largest one."""

    loader: int
    right: int
    of: int
    batches: int
    last: tuple[int, int]  # right, and all, of the last batch


@event
class WeightsSeen(Event):
    """A checksum of (samples of) a model's parameters, taken when it was called for evaluation."""

    model: int
    checksum: int


@event
class MetricCounted(Event):
    """A pass over a loader begins: a metric of torchmetrics that holds something."""

    metric: int
    kind: str
    loader: int
    updates: int  # batches that are in it
    computed: bool  # its value was asked for since the last of them
