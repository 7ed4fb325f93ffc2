"""An EMA that averages the parameters and forgets the batch-norm buffers."""

from dataclasses import replace

from premortem.events import EvaluationEnded, Event
from tests.detectors.faults.evaluated_copy_never_changes import COPY, evaluations


def unborn(events: list[Event], layers: int) -> list[Event]:
    return [replace(event, unborn=layers) for event in events if isinstance(event, EvaluationEnded)]


EVENTS: list[Event] = [COPY, *unborn(evaluations(2, 5, 6, 7), 2)]

HEALTHY: list[list[Event]] = [
    [COPY, *unborn(evaluations(2, 5, 6, 7), 0)],
    [COPY, *unborn(evaluations(2, 5, 5, 5), 2)],  # an untrained baseline
]
