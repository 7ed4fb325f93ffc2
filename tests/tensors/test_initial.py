"""Weights as torch makes them, and what one step of training does to that."""

import pytest
import torch
from torch import nn

from premortem.tensors.initial import as_made


def net():
    return nn.Sequential(
        nn.Conv1d(8, 32, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)
    )


def trained(steps, optimizer):
    torch.manual_seed(0)
    model = net()
    made = optimizer(model.parameters())
    for _ in range(steps):
        made.zero_grad()
        loss = nn.functional.cross_entropy(model(torch.randn(16, 8, 4)), torch.randint(0, 10, (16,)))
        loss.backward()
        made.step()
    return model


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01)


def test_new_layers():
    for seed in range(20):
        torch.manual_seed(seed)
        model = net()
        assert as_made(model, model.state_dict()) == (3, 3)


@pytest.mark.parametrize("optimizer", [sgd, torch.optim.Adam])
@pytest.mark.parametrize("steps", [1, 20])
def test_what_was_trained(optimizer, steps):
    model = trained(steps, optimizer)
    assert as_made(net(), model.state_dict())[0] < 3


def test_what_is_initialised_in_another_way():
    model = net()
    for layer in model:
        if isinstance(layer, (nn.Linear, nn.Conv1d)):
            nn.init.xavier_uniform_(layer.weight)
    assert as_made(model, model.state_dict())[0] < 3


def test_small_layers_say_nothing():
    model = nn.Linear(4, 2)
    assert as_made(model, model.state_dict()) == (0, 0)
