"""Which speed-up is real: each is tried on the script's own step, on the device at hand, and checked against it."""

from premortem.fit.speed.director import SpeedOptions, measure
from premortem.fit.speed.report import Report, Row

__all__ = ["Report", "Row", "SpeedOptions", "measure"]
