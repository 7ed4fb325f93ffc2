"""`start_epoch` is read from the file, and the loop begins at 0."""

from dataclasses import replace

from premortem.events import Event
from tests.detectors.resumed import RESUMED

HELD = (("start_epoch", 6, False),)

EVENTS: list[Event] = [replace(RESUMED, reached=(("epoch", 0),), held=HELD)]

HEALTHY: list[list[Event]] = [
    [replace(RESUMED, held=HELD)],
    [replace(RESUMED, reached=(("epoch", 0),), held=(("start_epoch", 6, True),))],  # it is added to it
    [replace(RESUMED, reached=(("fold", 0), ("epoch", 6)), held=HELD)],
    [replace(RESUMED, reached=(("batch", 0),), held=HELD)],  # another count
    [replace(RESUMED, reached=(("epoch", 0),), held=HELD, restored=False)],  # fine-tuning
    [replace(RESUMED, reached=(("epoch", 1),), counters=(("epoch", 1),))],
]
