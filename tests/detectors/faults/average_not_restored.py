"""The averaged model is a copy of the plain one that was just restored."""

from dataclasses import replace

from premortem.events import Event
from tests.detectors.resumed import RESUMED

EVENTS: list[Event] = [replace(RESUMED, averaged="ema", average="ema.model")]

HEALTHY: list[list[Event]] = [
    [RESUMED],
    [replace(RESUMED, averaged="ema", average="ema.model", restored=False)],
]
