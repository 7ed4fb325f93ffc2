"""A spectrally normalised teacher goes straight to eval after loading, with random singular vectors."""

from premortem.events import Event, UnsavedStateUsed
from tests.detectors.faults.optimizer_state_not_restored import WEIGHTS

EVENTS: list[Event] = [WEIGHTS, UnsavedStateUsed(model=1, name="teacher", buffers=("0.u", "0.v"))]

HEALTHY: list[list[Event]] = [[WEIGHTS]]
