"""Copies of a model that follow it: how far one update goes, and how far they have come."""

import copy

import torch
from torch import nn

from premortem.events import CopyFollowed
from premortem.probes.followers import part_of
from tests.heard import hearing


def test_the_part_of_a_way():
    assert part_of([0.0, 0.0], [0.5, 0.5], [1.0, 1.0]) == 0.5
    assert part_of([1.0], [1.0], [1.0]) is None


def train(decay, steps=12):
    torch.manual_seed(0)
    model = nn.Linear(4, 1)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        loss = model(torch.randn(8, 4)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for mean, p in zip(average.parameters(), model.parameters(), strict=True):
                mean.mul_(decay).add_(p, alpha=1 - decay)


def test_an_average_is_followed():
    with hearing() as (heard, _):
        train(0.9)
    events = [event for event in heard if isinstance(event, CopyFollowed)]
    assert events
    assert all(abs(event.moved - 0.1) < 0.01 for event in events)
    assert events[-1].way > events[0].way
