"""An evaluation without `no_grad`."""

from dataclasses import replace

from premortem.events import EvaluationEnded, Event
from tests.detectors.faults.evaluated_in_train_mode import SEEN, VALIDATION

WASTEFUL: EvaluationEnded = replace(VALIDATION, grad=True, noisy_train=0, training=False)

EVENTS: list[Event] = [SEEN, WASTEFUL]

HEALTHY: list[list[Event]] = [
    [SEEN, replace(WASTEFUL, grad=False)],
    [SEEN, replace(WASTEFUL, judged=False)],  # an attack, a saliency map
    [SEEN, replace(WASTEFUL, forwards=1)],
]
