"""Stand-in units, so that tests of the catalog and its doors do not change with the real ones."""

from __future__ import annotations

from premortem import detectors, preflight
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.findings import Severity
from premortem.lint import problems, rules
from premortem.why import cards


class OrphanParameter(Detector):
    """A trainable parameter that no
    optimizer holds.

    ## Why it matters
    It gets a gradient | and never moves.

    ## What to do
    Build the optimizer *last*.
    """

    card = Card(code="T101", name="orphan-parameter", family="optimizer-ownership", severity=Severity.ERROR)
    listens = ()


class SleepyScheduler(Detector):
    """A scheduler that never steps."""

    card = Card(code="T001", name="sleepy-scheduler", family="scheduler", severity=Severity.WARNING)
    listens = ()


UNITS = (OrphanParameter, SleepyScheduler)


def only_stand_ins(monkeypatch):
    """The catalog holds the stand-ins and nothing else."""
    monkeypatch.setattr(detectors, "ALL", UNITS)
    monkeypatch.setattr(rules, "ALL", ())
    monkeypatch.setattr(problems, "ALL", ())
    monkeypatch.setattr(preflight, "ALL", ())
    monkeypatch.setattr(cards, "ALL", ())
