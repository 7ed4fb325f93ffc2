"""Checks of the machine and its folders, in the order of their codes. To add one, write its file."""

from premortem.cards import units_in
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = units_in(__name__, __path__, Check)

__all__ = ["ALL"]
