"""The watcher: bugs of ours stay ours, policies decide, causes swallow their consequences."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import FrozenInstanceError, replace
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from premortem import detectors
from premortem.cards import Card
from premortem.detectors.base import Detector
from premortem.errors import Stopped
from premortem.events import Backward, LoadChecked, LogLine, OptimizerStep, RunEnded, Site
from premortem.findings import Certainty, Finding, Severity
from premortem.probes.gradient_history import GradientHistory
from premortem.run.found_so_far import MOST_OF_A_PLACE
from premortem.run.watcher import Watcher


class Faults:
    """A journal that only remembers what went wrong in premortem itself."""

    def __init__(self) -> None:
        self.faults: list[tuple[str, str]] = []

    def fault(self, unit: str, error: BaseException) -> None:
        self.faults.append((unit, str(error)))

    def step(self, *_: Any) -> None: ...
    def event(self, *_: Any) -> None: ...
    def finding(self, *_: Any) -> None: ...


class Broken(Detector):
    card: ClassVar = Card(code="PM901", name="broken", family="lr", severity=Severity.ERROR)
    listens: ClassVar = (OptimizerStep,)

    def observe(self, event: Any) -> Iterable[Finding]:
        raise RuntimeError("a bug of ours")


class AtStepThree(Detector):
    card: ClassVar = Card(code="PM902", name="three", family="lr", severity=Severity.ERROR, explains=("two",))
    listens: ClassVar = (OptimizerStep,)

    def observe(self, event: Any) -> Iterable[Finding]:
        if event.step == 3:
            yield self.finding(event, "third step")


class AtStepTwo(Detector):
    card: ClassVar = Card(code="PM903", name="two", family="lr", severity=Severity.ERROR)
    listens: ClassVar = (OptimizerStep,)

    def observe(self, event: Any) -> Iterable[Finding]:
        if event.step == 2:
            yield self.finding(event, "second step")


def train(steps: int = 6) -> torch.Tensor:
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 3)).square().mean().backward()
        optimizer.step()
    return model.weight.detach().clone()


def watched(
    monkeypatch: pytest.MonkeyPatch, *units: type[Detector], policy: str = "observe"
) -> tuple[Watcher, Faults]:
    monkeypatch.setattr(detectors, "ALL", units)
    journal = Faults()
    watcher = Watcher(policy, journal)  # type: ignore[arg-type]
    watcher.attach()
    return watcher, journal


def test_a_detector_that_raises_is_written_down_once_and_training_never_notices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    expected = train()
    watcher, journal = watched(monkeypatch, Broken, AtStepThree)
    assert torch.equal(train(), expected)
    watcher.close()
    assert journal.faults == [("broken", "a bug of ours")]
    assert [finding.name for finding in watcher.findings] == ["three"]


def test_a_probe_that_raises_is_written_down_and_training_never_notices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(self: GradientHistory, *_: Any) -> None:
        raise RuntimeError("a bug of ours")

    expected = train()
    monkeypatch.setattr(GradientHistory, "backward_starts", broken)
    watcher, journal = watched(monkeypatch)
    assert torch.equal(train(), expected)
    watcher.close()
    assert journal.faults == [("backward", "a bug of ours")] * 3, "three times, not on every step"


def test_a_cause_swallows_what_it_explains_even_when_that_was_seen_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    watcher, _ = watched(monkeypatch, AtStepTwo, AtStepThree)
    train()
    watcher.close()
    (finding,) = watcher.findings
    assert finding.name == "three"
    assert finding.evidence == {"also": ["two"]}


@pytest.mark.parametrize(("policy", "steps"), [("strict", 3), ("protect", 6), ("observe", 6)])
def test_only_strict_stops_at_an_error_and_does_so_after_the_step(
    monkeypatch: pytest.MonkeyPatch, policy: str, steps: int
) -> None:
    watcher, _ = watched(monkeypatch, AtStepThree, policy=policy)
    try:
        train()
        stopped = False
    except Stopped as stop:
        stopped = stop.code == 3
    watcher.close()
    assert (watcher.steps, stopped) == (steps, policy == "strict")


def test_the_same_finding_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Talkative(AtStepThree):
        def observe(self, event: Any) -> Iterable[Finding]:
            yield self.finding(event, f"step {event.step}")

    said: list[str] = []
    monkeypatch.setattr(detectors, "ALL", (Talkative,))
    watcher = Watcher("observe", on_finding=lambda finding: said.append(finding.message))
    for step in range(5):
        watcher.emit(OptimizerStep(step=step, optimizer=1, kind="SGD", lrs=(0.1,)))
    assert said == ["step 0"]


def test_what_is_proved_takes_the_place_of_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    class Sharper(AtStepThree):
        def observe(self, event: Any) -> Iterable[Finding]:
            sure = Certainty.PROVED if event.step > 1 else Certainty.MEASURED
            yield self.finding(event, f"step {event.step}", module=f"layer {event.step}", certainty=sure)

    said: list[str] = []
    monkeypatch.setattr(detectors, "ALL", (Sharper,))
    watcher = Watcher("observe", on_finding=lambda finding: said.append(finding.message))
    for step in range(3):
        watcher.emit(OptimizerStep(step=step, optimizer=1, kind="SGD", lrs=(0.1,)))
    assert said == ["step 0", "step 1", "step 2"]
    assert [finding.message for finding in watcher.findings] == ["step 2"]


def test_detectors_hear_only_what_they_listen_to_and_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []

    class Ear(Detector):
        card: ClassVar = Card(code="PM904", name="ear", family="lr", severity=Severity.INFO)
        listens: ClassVar = (Backward, RunEnded)

        def observe(self, event: Any) -> Iterable[Finding]:
            heard.append(type(event).__name__)
            return ()

    watcher, _ = watched(monkeypatch, Ear)
    train(2)
    watcher.close()
    assert heard == ["Backward", "Backward", "RunEnded"]


def test_an_event_that_was_sent_cannot_be_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Scribbler(Detector):
        card: ClassVar = Card(code="PM905", name="scribbler", family="lr", severity=Severity.INFO)
        listens: ClassVar = (LogLine,)

        def observe(self, event: Any) -> Iterable[Finding]:
            with pytest.raises(FrozenInstanceError, match=r"LogLine\.text"):
                event.text = "another"
            kept.append(event)
            return ()

    kept: list[LogLine] = []
    watcher, _ = watched(monkeypatch, Scribbler)
    line = LogLine(text="loss 1", template="loss #", values=(("loss", "1", 1.0),))
    watcher.emit(line)
    watcher.close()
    (heard,) = kept
    assert isinstance(heard, LogLine)
    assert (heard.text, type(heard).__name__, copy.deepcopy(heard)) == ("loss 1", "LogLine", heard)
    changed = replace(heard, text="a copy")  # which was not sent
    changed.step = 7
    assert (changed.step, heard.step) == (7, 0)


def test_each_damaged_file_of_one_line_is_told_and_a_flood_is_counted():
    said, problems = [], []
    watcher = Watcher("observe", on_finding=said.append, on_problem=problems.append)
    line = Site("train.py", 7)
    for number in range(MOST_OF_A_PLACE + 5):
        for _ in range(2):  # the same file twice is one finding
            watcher.emit(LoadChecked(at=line, path=f"part{number}.pt", damaged="cut off"))
    assert [finding.evidence["path"] for finding in said] == [f"part{n}.pt" for n in range(MOST_OF_A_PLACE)]
    watcher.close()
    assert watcher.findings[-1].message.endswith("(and 5 more)")
    assert problems == ["PM343 damaged-checkpoint-loaded: and 5 more"]
