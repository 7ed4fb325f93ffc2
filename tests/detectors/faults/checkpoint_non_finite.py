"""A checkpoint that was written after the run had died."""

from dataclasses import replace

from premortem.events import Event
from tests.detectors.faults.optimizer_state_not_restored import WEIGHTS

EVENTS: list[Event] = [replace(WEIGHTS, nonfinite=("head.weight", "head.bias"))]

HEALTHY: list[list[Event]] = [[WEIGHTS]]
