"""What holds for every detector: documented, deterministic, resumable, and it finds its planted fault.

The fault of `some_detector` is in `faults/some_detector.py`: `EVENTS`, on which it speaks, and `HEALTHY`, one
run or several, on which it does not.
"""

import importlib
import inspect
import re
from pathlib import Path

import pytest

from premortem import catalog, detectors
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.events import Event
from premortem.findings import Finding, Severity
from tests.detectors.derived_events import with_failures, with_windows

FAULTS = Path(__file__).parent / "faults"
HEADINGS = ("## Why it matters", "## Usual causes", "## What to do")
MOST_CUTS = 40
CARD = re.compile(r'card = Card\(\s*(?:code=)?"PM\d+",\s*(?:name=)?"([^"]+)"')

every = pytest.mark.parametrize("cls", detectors.ALL, ids=lambda cls: cls.card.code)


def snake(cls):
    return cls.card.name.replace("-", "_")


def fault(cls):
    return importlib.import_module(f"tests.detectors.faults.{snake(cls)}")


def heard(run):
    """A run with what is derived from it, as the watcher hears it."""
    return list(with_failures(with_windows(run)))


def planted(cls):
    return heard(fault(cls).EVENTS)


def healthy(cls):
    runs = fault(cls).HEALTHY
    return [heard(run) for run in (runs if runs and isinstance(runs[0], (list, tuple)) else [runs])]


def observe(detector, events):
    return [finding for event in events for finding in detector.hear(event)]


def resumed(cls, events, cut):
    """The findings of a run that was interrupted after `cut` events."""
    first, second = cls(), cls()
    before = observe(first, events[:cut])
    state = first.state()
    observe(first, events[cut:])  # what goes on elsewhere must not reach the saved state
    second.restore(state)
    return [*before, *observe(second, events[cut:])]


def cuts(events):
    stride = max(1, len(events) // MOST_CUTS)
    return range(0, len(events) + 1, stride)


@every
def test_it_is_a_detector_with_a_card(cls):
    assert issubclass(cls, Detector)
    assert isinstance(cls.card, Card)
    assert re.fullmatch(r"PM\d{3}", cls.card.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", cls.card.name)
    assert isinstance(cls.card.severity, Severity)
    assert cls.card.name not in cls.card.explains
    assert cls.listens
    assert all(issubclass(kind, Event) for kind in cls.listens)


@every
def test_its_class_is_called_what_its_card_is_called(cls):
    assert cls.__name__ == cls.card.name.replace("-", " ").title().replace(" ", "")


def test_every_detector_that_is_written_is_heard():
    folder = Path(detectors.__file__).parent
    written = [
        name for path in folder.glob("*.py") for name in CARD.findall(path.read_text(encoding="utf-8"))
    ]
    assert sorted(written) == sorted(cls.card.name for cls in detectors.ALL)


def test_codes_and_names_are_unique():
    codes = [cls.card.code for cls in detectors.ALL]
    names = [cls.card.name for cls in detectors.ALL]
    assert len(set(codes)) == len(codes)
    assert len(set(names)) == len(names)
    assert codes == sorted(codes)


def test_every_diagnosis_that_is_explained_exists():
    names = {
        entry.card.name for entry in catalog.entries()
    }  # of checks too: `check` folds all findings together
    unknown = {cls.card.name: sorted(set(cls.card.explains) - names) for cls in detectors.ALL}
    assert {name: missing for name, missing in unknown.items() if missing} == {}


@every
def test_it_is_documented(cls):
    page = inspect.getdoc(cls) or ""
    first, _, rest = page.partition("\n\n")
    assert first.rstrip().endswith(".")
    assert [heading for heading in HEADINGS if heading not in rest] == []


@every
def test_it_finds_its_planted_fault(cls):
    found = observe(cls(), planted(cls))
    assert found
    for finding in found:
        assert isinstance(finding, Finding)
        assert (finding.code, finding.name) == (cls.card.code, cls.card.name)
        assert finding.message
        assert finding.cause
        assert finding.remedy
        assert Finding.from_json(finding.to_json()) == finding


@every
def test_it_says_nothing_about_a_healthy_run(cls):
    loud = [f for events in healthy(cls) for f in observe(cls(), events) if f.severity is not Severity.INFO]
    assert loud == []


@every
def test_it_is_deterministic(cls):
    events = planted(cls)
    assert observe(cls(), events) == observe(cls(), events)


@every
def test_a_resume_at_any_point_changes_nothing(cls):
    for events in [planted(cls), *healthy(cls)]:
        whole = observe(cls(), events)
        assert [cut for cut in cuts(events) if resumed(cls, events, cut) != whole] == []


def test_there_is_no_fault_without_a_detector():
    known = {snake(cls) for cls in detectors.ALL}
    assert sorted(path.stem for path in FAULTS.glob("*.py") if path.stem not in known) == []


class Forgetful(Detector):
    """Keeps its count where `state` does not look."""

    card = Card(code="PM999", name="forgetful", family="lr", severity=Severity.INFO)
    listens = (Event,)
    count = 0

    def observe(self, event):
        type(self).count += 1
        if type(self).count == 3:
            yield self.finding(event, "three events", cause="counted", remedy="stop")


def test_the_contract_catches_a_detector_that_cannot_be_resumed():
    events = [Event(step=n) for n in range(4)]
    whole = observe(Forgetful(), events)
    assert whole
    assert any(resumed(Forgetful, events, cut) != whole for cut in cuts(events))
