"""What detectors are built from: once, times, in a row, shared facts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from premortem import detectors
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.detectors.shared.facts import Fact, Facts
from premortem.events import Clip, Event, RunEnded, ZeroGrad
from premortem.findings import Finding, Severity
from premortem.run.watcher import Watcher


class Clips(Fact):
    LISTENS = (Clip,)
    made = 0

    def __init__(self) -> None:
        Clips.made += 1
        self.seen = 0

    def observe(self, event: Event) -> None:
        if isinstance(event, Clip) and event.limit < 0:
            raise ValueError("a limit below 0")
        self.seen += 1


class Counting(Detector):
    card = Card(code="PM901", name="counting", family="clipping", severity=Severity.INFO)
    uses = (Clips,)
    listens = (RunEnded,)

    def observe(self, event: Event) -> Iterator[Finding]:
        yield self.finding(event, f"{self.fact(Clips).seen} clips")


class Other(Counting):
    card = Card(code="PM902", name="other", family="clipping", severity=Severity.INFO)


def clip(limit: float = 1.0) -> Clip:
    return Clip(kind="norm", limit=limit, norm=None)


def test_once_and_times_are_told_apart_by_their_key() -> None:
    detector = Counting()
    assert [detector.once("a"), detector.once("b"), detector.once("a")] == [True, True, False]
    assert (detector.said("a"), detector.said("c")) == (True, False)
    assert [detector.times("a"), detector.times("a"), detector.times("b")] == [1, 2, 1]
    assert [detector.in_a_row("r", again) for again in (True, True, False, True)] == [1, 2, 0, 1]


def test_what_it_has_counted_goes_along_with_its_state() -> None:
    first, second = Counting(), Counting()
    first.once("a")
    first.times("a")
    second.restore(first.state())
    first.times("a")
    assert (second.once("a"), second.times("a")) == (False, 2)


def test_one_that_is_over_hears_nothing() -> None:
    detector = Counting()
    detector.over = True
    assert list(detector.hear(RunEnded())) == []


def test_alone_a_detector_keeps_its_own_facts() -> None:
    detector = Counting()
    said = [f for event in (clip(), clip(), RunEnded()) for f in detector.hear(event)]
    assert [finding.message for finding in said] == ["2 clips"]


def test_a_fact_is_derived_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "ALL", (Counting, Other))
    Clips.made = 0
    watcher = Watcher("observe")
    for event in (clip(), clip(), clip(), RunEnded()):
        watcher.emit(event)
    assert [finding.message for finding in watcher.findings] == ["3 clips", "3 clips"]
    assert Clips.made == 1


def test_a_fact_that_broke_is_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "ALL", (Counting, Other))
    watcher = Watcher("observe")
    for event in (clip(), clip(-1.0), clip(), RunEnded()):
        watcher.emit(event)
    assert watcher.findings == []


def test_a_detector_that_has_spoken_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Event] = []

    class Spoken(Detector):
        card = Card(code="PM903", name="spoken", family="clipping", severity=Severity.INFO)
        listens = (Clip, ZeroGrad)

        def observe(self, event: Event) -> Iterator[Finding]:
            calls.append(event)
            self.over = True
            yield self.finding(event, "once")

    monkeypatch.setattr(detectors, "ALL", (Spoken,))
    watcher = Watcher("observe")
    watcher.emit(clip())
    watcher.emit(clip())
    assert len(calls) == 1


def test_every_fact_a_detector_asks_for_is_kept_up_to_date() -> None:
    for cls in detectors.ALL:
        for kind in cls.uses:
            assert Facts()[kind].LISTENS, (cls, kind)
