"""Detectors: events in, findings out. To add one, write its file: every detector of this folder is in `ALL`."""

from __future__ import annotations

import pkgutil
from importlib import import_module

from premortem.detectors.base import Detector


def _written_here() -> list[type[Detector]]:
    modules = [
        import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
        if not found.ispkg
    ]
    return [
        unit
        for module in modules
        for unit in vars(module).values()
        if isinstance(unit, type) and issubclass(unit, Detector) and "card" in vars(unit)
        if unit.__module__ == module.__name__  # not one that it imports
    ]


# In the order of their codes, which is the order in which they hear an event.
ALL: tuple[type[Detector], ...] = tuple(sorted(_written_here(), key=lambda unit: unit.card.code))

__all__ = ["ALL", "Detector"]
