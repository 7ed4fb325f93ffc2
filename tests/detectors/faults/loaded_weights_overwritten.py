"""`model.apply(init)` after `load_state_dict`."""

from dataclasses import replace

from premortem.events import Event, LoadedWeightsChanged
from tests.detectors.faults.optimizer_state_not_restored import WEIGHTS

CHANGED = LoadedWeightsChanged(model=1, name="model", changed=("0.weight", "2.weight"), loaded=2)

EVENTS: list[Event] = [WEIGHTS, CHANGED]

HEALTHY: list[list[Event]] = [
    [WEIGHTS],
    [WEIGHTS, replace(CHANGED, changed=("2.weight",))],  # a new head
]
