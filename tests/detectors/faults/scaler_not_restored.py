"""The scale had come down to 512."""

from dataclasses import replace

from premortem.events import Event
from tests.detectors.resumed import RESUMED

EVENTS: list[Event] = [replace(RESUMED, saved_scale=512.0, scale=65536.0)]

HEALTHY: list[list[Event]] = [
    [replace(RESUMED, saved_scale=512.0, scale=512.0)],
    [replace(RESUMED, saved_scale=65536.0, scale=131072.0)],
    [replace(RESUMED, saved_scale=512.0, scale=None)],  # trained on in another precision
    [replace(RESUMED, saved_scale=512.0, scale=65536.0, restored=False)],
]
