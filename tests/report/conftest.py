"""Runs to report on: real ones, made once, and journals that are written by hand."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from premortem.events import StepStats
from premortem.findings import Certainty, Finding, Severity, Where
from premortem.journal import Journal
from tests import starting

BROKEN = """
import sys
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x.sum(1, keepdim=True)
loader = DataLoader(TensorDataset(x, y), batch_size=16)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=float(sys.argv[1]))
step = 0
for epoch in range(4):
    for xb, yb in loader:
        step += 1
        error = (model(xb) - yb).pow(2).mean()
        loss = error + torch.log(error * 0 + (step < 40))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} train loss {error.item():.4f} val acc {1 - error.item():.3f}")
    torch.save(model.state_dict(), "best.pt")
"""


def premortem(*words, cwd):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "premortem", *map(str, words)]
    return starting.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.fixture(scope="session")
def broken(tmp_path_factory) -> Path:
    """The folder of a project with a real run that failed at step 40."""
    project = tmp_path_factory.mktemp("project")
    (project / "train.py").write_text(BROKEN)
    done = premortem("run", "train.py", "0.01", cwd=project)
    assert done.returncode == 3, done.stderr
    return project


@pytest.fixture
def journal(tmp_path):
    """Makes a journal in a folder of its own from steps, findings and events."""

    def made(name="run", *, losses=(), findings=(), events=(), meta=None):
        opened = Journal.open(
            tmp_path / name,
            meta={"argv": ["train.py"], "reason": "finished", "steps": len(losses), **(meta or {})},
            on_problem=pytest.fail,
        )
        for number, loss in enumerate(losses, start=1):
            stats = StepStats(step=number, optimizer=1, loss=loss, grad_norm=1.0, worst=None, lr=0.1)
            opened.step(stats, 1000.0 + number)
        for event in events:
            opened.event(event)
        for finding in findings:
            opened.finding(finding)
        opened.close()
        return opened.path

    return made


def finding(**changes) -> Finding:
    given = {
        "code": "PM442",
        "name": "non-finite-training",
        "family": "numerics-nan",
        "severity": Severity.ERROR,
        "certainty": Certainty.MEASURED,
        "step": 3,
        "message": "the loss is NaN",
        "where": Where("train.py", 3),
        **changes,
    }
    return Finding(**given)
