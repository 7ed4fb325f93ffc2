"""A run that is cut off has not shown what it would have done: healthy runs, ended at any event, are healthy."""

import copy
import json
import sys
from dataclasses import replace

import pytest

from premortem import detectors
from premortem.events import RunEnded
from premortem.findings import Severity
from tests import starting
from tests.detectors.test_contract import cuts, healthy, observe

ENDINGS = (
    RunEnded(reason="interrupted", message="SIGTERM"),
    RunEnded(reason="crashed", error="KeyError", message="'lr'"),
)
AT_THE_END = [cls for cls in detectors.ALL if RunEnded in cls.listens]


def loud(findings):
    return [(f.code, f.message) for f in findings if f.severity is not Severity.INFO]


def said_when_cut(cls, run, endings):
    """What it says when the run ends before its time, after so many events; nothing is asked once it has spoken."""
    detector, points, said = cls(), set(cuts(run)), []
    for number in range(len(run) + 1):
        if number in points:
            for ending in endings:
                here = replace(ending, step=run[number - 1].step if number else 0)
                said += [(number, *each) for each in loud(copy.deepcopy(detector).hear(here))]
        if number < len(run) and loud(detector.hear(run[number])):
            break
    return said


def without_end(run):
    return [event for event in run if not isinstance(event, RunEnded)]


@pytest.mark.parametrize("cls", AT_THE_END, ids=lambda cls: cls.card.code)
def test_a_healthy_run_that_is_cut_off_is_healthy(cls):
    assert [said for run in healthy(cls) for said in said_when_cut(cls, without_end(run), ENDINGS)] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("owner", detectors.ALL, ids=lambda cls: cls.card.code)
def test_so_is_every_healthy_run_for_every_other_detector(owner):
    said = []
    for run in map(without_end, healthy(owner)):
        whole = [*run, RunEnded(step=run[-1].step if run else 0)]
        for cls in AT_THE_END:
            if cls is not owner and not loud(observe(cls(), whole)):
                said += said_when_cut(cls, run, ENDINGS[:1])
    assert said == []


INTERRUPTED = """
import os, signal
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
x, y = torch.randn(64, 4), torch.randn(64, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=100, line_search_fn="strong_wolfe")
calls = 0

def closure():
    global calls
    calls += 1
    if calls == 12:
        raise KeyboardInterrupt
    optimizer.zero_grad()
    loss = (model(x) - y).pow(2).mean()
    loss.backward()
    return loss

optimizer.step(closure)
"""


def test_a_first_step_that_is_interrupted_was_called(tmp_path):
    (tmp_path / "train.py").write_text(INTERRUPTED)
    words = [sys.executable, "-m", "premortem", "run", "--findings", "f.json", "train.py"]
    done = starting.run(words, cwd=tmp_path)
    assert "KeyboardInterrupt" in done.stderr
    assert json.loads((tmp_path / "f.json").read_text())["findings"] == []
