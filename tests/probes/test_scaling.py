"""A gradient scaler and a fused optimizer, whose kernel divides by the scale and leaves steps out."""

import math

import pytest
import torch
from torch import nn, optim

from premortem.events import Custody, OptimizerStep, ScalerUpdate, StepStats
from premortem.probes import optimizers
from premortem.run.watcher import Watcher
from tests.heard import hearing

HUGE = 1e30  # times a scale, it is more than 32 bits hold


@pytest.fixture
def heard():
    with hearing() as (heard, watcher):
        yield heard
    assert [finding.name for finding in watcher.findings if finding.name == "scaled-gradients-stepped"] == []


def train(factors, *, fused, losses=None):
    model = nn.Linear(4, 1)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, fused=fused)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**60)
    for factor in factors:
        optimizer.zero_grad()
        loss = model(torch.ones(2, 4)).square().mean() * factor
        if losses is not None:
            losses.append(loss.item())
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()


def of(heard, kind):
    return [event for event in heard if isinstance(event, kind)]


@pytest.mark.parametrize("fused", [False, True])
def test_numbers_are_those_without_the_scale(heard, fused):
    losses = []
    train([1.0] * 12, fused=fused, losses=losses)
    told = of(heard, StepStats)
    assert [event.loss for event in told] == pytest.approx(losses)
    assert all(event.grad_norm < 10 for event in told)
    links = [link for event in of(heard, Custody) for link in event.links]
    assert links
    assert all(link.gradient < 10 for link in links)


@pytest.mark.parametrize("fused", [False, True])
def test_a_step_that_is_left_out_is_none(heard, fused):
    train([1.0, HUGE, 1.0, HUGE, 1.0], fused=fused)
    assert [event.step for event in of(heard, OptimizerStep)] == [1, 2, 3]
    assert [event.step for event in of(heard, StepStats)] == [1, 2, 3]
    assert [event.skipped for event in of(heard, ScalerUpdate)] == [False, True, False, True, False]


def test_where_that_is_not_known_in_time_its_numbers_are_not_told(heard, monkeypatch):
    """As on a GPU, where the answer lies on the device."""
    monkeypatch.setattr(optimizers, "left_out", lambda optimizer, *, may_wait: False)
    train([1.0, HUGE, 1.0, math.nan, 1.0], fused=True)
    assert len(of(heard, OptimizerStep)) == 5
    assert [event.step for event in of(heard, StepStats)] == [1, 3, 5]
    broken = [event for event in of(heard, ScalerUpdate) if event.loss is not None]
    assert [event.step for event in broken] == [4]
    assert math.isnan(broken[0].loss)


def test_steps_without_the_scaler_are_told_as_ever():
    watcher = Watcher("observe")
    watcher.attach()
    model = nn.Linear(4, 1)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**16)
    for _ in range(12):
        optimizer.zero_grad()
        scaler.scale(model(torch.randn(8, 4)).square().mean()).backward()
        optimizer.step()
    names = [finding.name for finding in watcher.findings]
    watcher.close()
    assert "scaled-gradients-stepped" in names
