"""`premortem.watch` from inside a loop: the same eyes, nothing left behind."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import premortem
from premortem.errors import UsageError


def train(model: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 20) -> None:
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        x = torch.randn(32, 4, generator=generator)
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))


def test_a_healthy_loop_hears_nothing() -> None:
    model = net()
    with premortem.watch(quiet=True) as watched:
        train(model, torch.optim.Adam(model.parameters(), lr=1e-2))
    assert watched.findings == []


def test_objects_built_before_may_be_given_or_not() -> None:
    model = net()
    optimizer = torch.optim.Adam(copy.deepcopy(model).parameters(), lr=1e-2)
    for given in ((), (model, optimizer)):
        with premortem.watch(*given, quiet=True) as watched:
            train(model, optimizer)
        assert [finding.family for finding in watched.findings] == ["optimizer-ownership"], given


def test_torch_is_as_it_was_afterwards() -> None:
    before = (nn.Module.__call__, torch.autograd.backward, torch.Tensor.detach, nn.functional.cross_entropy)
    watched = premortem.watch(quiet=True)
    assert nn.Module.__call__ is not before[0]
    watched.close()
    assert (
        nn.Module.__call__,
        torch.autograd.backward,
        torch.Tensor.detach,
        nn.functional.cross_entropy,
    ) == before


def test_an_exception_in_the_block_passes_through() -> None:
    with pytest.raises(ValueError, match="mine"), premortem.watch(quiet=True):
        raise ValueError("mine")


def test_strict_stops_at_the_first_error() -> None:
    model = net()
    optimizer = torch.optim.Adam(copy.deepcopy(model).parameters(), lr=1e-2)
    with pytest.raises(SystemExit) as stopped, premortem.watch(policy="strict", quiet=True):
        train(model, optimizer, steps=50)
    assert stopped.value.code == 3


def test_strict_also_stops_a_run_that_never_steps() -> None:
    passes = []

    def train_without_steps() -> None:
        model = net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(400):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).square().mean().backward()
            passes.append(step)

    with pytest.raises(SystemExit) as stopped, premortem.watch(policy="strict", quiet=True):
        train_without_steps()
    assert "PM123 step-never-called" in stopped.value.reason
    assert 8 < len(passes) < 200


def test_an_unknown_policy_is_named() -> None:
    with pytest.raises(UsageError, match="there is no policy `strictt`; did you mean `strict`"):
        premortem.watch(policy="strictt")
