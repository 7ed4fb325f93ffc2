"""Detectors: events in, findings out. To add one, write its file: every detector of this folder is in `ALL`."""

from premortem.cards import units_in
from premortem.detectors.base import Detector

# In the order of their codes, which is the order in which they hear an event.
ALL: tuple[type[Detector], ...] = units_in(__name__, __path__, Detector)

__all__ = ["ALL", "Detector"]
