"""A few real steps of the user's own script, a save and a resume, in a scratch folder."""

from __future__ import annotations

from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = ()
