"""No node of a step's graph outlives the step because of us: the next step would accumulate on the stream of the last one."""

import gc

import pytest
import torch
from torch import optim

from tests.heard import hearing
from tests.test_guard import network


def accumulator(parameter):
    """The node that adds to its gradient: a new one, unless some graph still holds the last."""
    return parameter.view_as(parameter).grad_fn.next_functions[0][0]


def step(model, optimizer, x):
    optimizer.zero_grad()
    output = model(x)
    for parameter in model.parameters():
        accumulator(parameter).metadata["of an earlier step"] = True
    output.pow(2).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("steps", [1, 2, 3, 12])
def test_a_step_leaves_no_node_behind(steps):
    gc.disable()  # a cycle would keep them as well
    try:
        with hearing():
            model = network()
            optimizer = optim.AdamW(model.parameters(), lr=0.01)
            for _ in range(steps):
                step(model, optimizer, torch.randn(16, 4))
            left = [name for name, p in model.named_parameters() if accumulator(p).metadata]
    finally:
        gc.enable()
    assert left == []


def test_such_a_node_would_be_seen():
    model = network()
    kept = model(torch.randn(16, 4))
    for parameter in model.parameters():
        accumulator(parameter).metadata["of an earlier step"] = True
    assert all(accumulator(p).metadata for p in model.parameters())
    assert kept.requires_grad
