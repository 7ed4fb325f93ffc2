"""Detectors: events in, findings out. To add one, write its file and add its name here."""

from premortem.detectors.base import Detector

ALL: tuple[type[Detector], ...] = ()

__all__ = ["ALL", "Detector"]
