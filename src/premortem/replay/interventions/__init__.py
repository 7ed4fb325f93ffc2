"""Interventions: the recorded step with one thing changed. If the failure goes away, that thing is part of its cause.

To add one: write its file and add it here.
"""

from __future__ import annotations

from premortem.replay.interventions.base import Case, Intervention, Outcome
from premortem.replay.interventions.clipping import Clipping
from premortem.replay.interventions.deterministic import Deterministic
from premortem.replay.interventions.eager import Eager
from premortem.replay.interventions.epsilon import Epsilon
from premortem.replay.interventions.float32 import Float32
from premortem.replay.interventions.float64 import Float64
from premortem.replay.interventions.lower_rate import LowerRate
from premortem.replay.interventions.samples import Samples
from premortem.replay.interventions.terms import LossTerms

ALL: tuple[Intervention, ...] = (
    Samples(),
    LossTerms(),
    Float32(),
    Float64(),
    Eager(),
    Deterministic(),
    Epsilon(),
    Clipping(),
    LowerRate(),
)

__all__ = ["ALL", "Case", "Intervention", "Outcome"]
