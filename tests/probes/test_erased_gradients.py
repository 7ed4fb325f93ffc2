"""Entries whose gradient the script takes away, and that move in the step all the same."""

import pytest
import torch
from torch import nn

from premortem.events import HeldStillMoved
from tests.heard import hearing


def test_what_two_optimizers_hold_is_kept_apart():
    torch.manual_seed(0)
    words, other = nn.Embedding(12, 6), nn.Linear(6, 6)
    optimizers = [torch.optim.AdamW(m.parameters(), lr=0.01, weight_decay=0.1) for m in (words, other)]
    with hearing() as (heard, _):
        for _ in range(4):
            ids = torch.arange(12)
            loss = other(words(ids)).square().mean()
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            words.weight.grad[4:] = 0
            for optimizer in reversed(optimizers):
                optimizer.step()
    assert {event.entries for event in heard if isinstance(event, HeldStillMoved)} == {8 * 6}


@pytest.mark.parametrize(
    ("how", "moves"),
    [
        ("decayed", True),
        ("put back", False),
        ("without decay", False),
        ("unused rows", False),
        ("largest", True),
    ],
)
def test_entries_without_their_gradient(how, moves):
    torch.manual_seed(0)
    words, head = nn.Embedding(12, 6), nn.Linear(6, 3)
    model = nn.Sequential(words, head)
    decay = 0.0 if how == "without decay" else 0.1
    optimizer = torch.optim.AdamW(words.parameters(), lr=0.01, weight_decay=decay)
    held = torch.arange(12) != 3
    start = words.weight.detach().clone()
    with hearing() as (heard, _):
        for _ in range(4):
            ids = torch.randint(0, 6 if how == "unused rows" else 12, (64,))
            ids[0] = 3
            loss = nn.functional.cross_entropy(model(ids), ids % 3)
            optimizer.zero_grad()
            loss.backward()
            if how == "largest":  # only these are sent
                slight = words.weight.grad.abs() < words.weight.grad.abs().quantile(0.9)
                words.weight.grad[slight] = 0
            elif how != "unused rows":
                words.weight.grad[held] = 0
            optimizer.step()
            if how == "put back":
                with torch.no_grad():
                    words.weight[held] = start[held]
    events = [event for event in heard if isinstance(event, HeldStillMoved)]
    assert bool(events) is moves
    assert all(event.inward < -0.99 or how == "largest" for event in events)
    assert all(event.name.endswith("weight") for event in events)
    assert all(event.chosen is (how != "largest") for event in events)
