"""From the planted operation to the finding: every numerics fault, and every clean control, through the whole program."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import nn

import premortem
from premortem.events import NonFinite
from premortem.findings import Certainty, Finding
from premortem.probes import Attachment
from tests.probes.planted import CLEAN, FAULTS, Fault

NUMERICS = ("numerics-nan", "numerics-overflow", "numerics-masked", "exploding")


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x: torch.Tensor) -> Any:
        return self.layers(x)


def findings(loss_of: Any, steps: int, sound: int) -> list[Finding]:
    """A training whose loss is in order for `sound` steps."""
    torch.manual_seed(0)
    model = Net()
    with premortem.watch(quiet=True) as watch:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for step in range(steps):
            x, y = torch.randn(6, 4), torch.randn(6)
            loss = loss_of(model, x, y) if step >= sound else (model(x)[:, 0] - y).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [finding for finding in watch.findings if finding.family in NUMERICS]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.loss.__name__)
@pytest.mark.filterwarnings("ignore:std")
def test_the_line_to_blame_is_named_and_proved(fault: Fault) -> None:
    (finding,) = findings(fault.loss, steps=12, sound=0)
    assert (finding.where.line, finding.certainty) == (fault.line, Certainty.PROVED)
    assert finding.evidence["op"] == fault.op
    assert finding.step <= 8


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.loss.__name__)
@pytest.mark.filterwarnings("ignore:std")
def test_a_fault_that_comes_late_and_is_refused_is_seen_when_it_comes_again(fault: Fault) -> None:
    torch.manual_seed(0)
    model = Net()
    events: list[Any] = []
    attachment = Attachment(events.append, lambda unit, error: events.append((unit, error)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(14):
        x, y = torch.randn(6, 4), torch.randn(6)
        model.forward = functools.partial(Net.forward, model)  # one of the faults replaces it
        bad = step in {10, 12}
        loss = fault.loss(model, x, y) if bad else (model(x)[:, 0] - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        if not bad:
            optimizer.step()
    attachment.detach()
    seen = [event for event in events if isinstance(event, NonFinite) and event.watched]
    assert [(event.op, event.at.line) for event in seen if event.at] == [(fault.op, fault.line)]
    assert [event for event in events if isinstance(event, tuple)] == []


@pytest.mark.parametrize("loss", CLEAN, ids=lambda loss: loss.__name__)
def test_a_clean_control_hears_nothing(loss: Any) -> None:
    assert findings(loss, steps=12, sound=0) == []


def test_a_scaler_that_looks_for_its_scale_hears_nothing() -> None:
    torch.manual_seed(0)
    model = Net()
    with premortem.watch(quiet=True) as watch:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, growth_interval=4)
        for _ in range(24):
            loss = (model(torch.randn(6, 4)).sum(1) * 300).square().mean()
            optimizer.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
    assert scaler.get_scale() < 2.0**127, "it must have skipped"
    assert [finding for finding in watch.findings if finding.family in NUMERICS] == []


@pytest.mark.parametrize("accumulation", [1, 2])
def test_a_target_that_was_computed_is_not_blamed_on_the_data(accumulation: int) -> None:
    """The batch is finite; a feature of the target is the root of a negative number. Nor is it the input's fault that
    the next backward pass meets the gradients of this one."""
    torch.manual_seed(0)
    model = Net()
    target = torch.rand(64, 3) + 0.1
    target[5] = -1e-7
    data = torch.utils.data.TensorDataset(torch.randn(64, 4), target)
    loader = torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
    with premortem.watch(quiet=True) as watch:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for epoch in range(5):
            for index, (x, y) in enumerate(loader):
                made = model(x)
                loss = nn.functional.mse_loss(made, y)
                if epoch >= 2:
                    loss = loss + nn.functional.mse_loss(made.exp().sqrt(), y.sqrt())
                (loss / accumulation).backward()
                if (index + 1) % accumulation == 0:
                    optimizer.step()
                    optimizer.zero_grad()
    told = [finding for finding in watch.findings if finding.family in NUMERICS]
    assert told
    assert all(finding.evidence.get("stage") != "data" for finding in told)
