"""The settings, as the script will read them."""

from __future__ import annotations

from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = ()
