"""What noise is multiplied with: read in the graph of a loss."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from premortem.events import GraphWalked
from tests.heard import hearing

SPREADS = {
    "half": (lambda v: torch.exp(0.5 * v), lambda v: 1 + v - v.exp(), ""),
    "square root": (lambda v: v.exp().sqrt(), lambda v: 1 + v - v.exp(), ""),
    "log of a deviation": (lambda v: v.exp(), lambda v: 1 + 2 * v - (2 * v).exp(), ""),
    "squared": (lambda v: v.exp(), lambda v: 1 + 2 * v - v.exp() ** 2, ""),
    "logarithm": (lambda v: v, lambda v: 1 + v - v.exp(), "logarithm"),
    "variance": (lambda v: v.exp(), lambda v: 1 + v - v.exp(), "variance"),
}


@pytest.mark.parametrize("how", SPREADS)
def test_the_spread_of_what_is_drawn(how):
    spread, prior, expected = SPREADS[how]
    assert misread_in(spread, lambda mu, v: -0.5 * (prior(v) - mu.pow(2)).mean()) == {expected}


PENALTIES = {
    "a prior written in pieces": (
        lambda mu, v: 0.1 * ((mu**2 + v.exp() - 1 - v) / 2).sum(1).mean(),
        "variance",
    ),
    "a deviation kept near one": (lambda mu, v: 0.01 * (v.exp() - v).mean() + 0.01 * mu.pow(2).mean(), ""),
    "a deviation kept small": (lambda mu, v: 0.01 * v.exp().mean(), ""),
    "other weights": (lambda mu, v: 0.5 * (v.exp() - v).mean() + 0.01 * mu.pow(2).mean(), ""),
}


@pytest.mark.parametrize("how", PENALTIES)
def test_only_the_term_of_a_prior_says_what_is_a_variance(how):
    penalty, expected = PENALTIES[how]
    assert misread_in(torch.exp, penalty) == {expected}


def test_what_a_checkpoint_keeps_is_not_taken_out():
    made = []

    def block(x):
        made.append(x)
        return layer(x) * scale

    layer, decoder, scale = nn.Linear(6, 8), nn.Linear(4, 6), torch.rand(8)
    optimizer = torch.optim.SGD([*layer.parameters(), *decoder.parameters()], lr=0.001)
    with hearing() as (heard, _):
        for _ in range(3):
            x = torch.rand(16, 6)
            mu, v = checkpoint(block, x, use_reentrant=False).chunk(2, 1)
            with torch.autograd.graph.save_on_cpu():
                out = decoder(mu + torch.randn_like(mu) * torch.exp(0.5 * v))
                loss = nn.functional.mse_loss(out, x) - 0.5 * (1 + v - v.exp() - mu.pow(2)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    assert any(isinstance(event, GraphWalked) for event in heard)
    assert len(made) == 3 * 2  # once forward and once backward, as without premortem


def misread_in(spread, prior):
    encoder, decoder = nn.Linear(6, 8), nn.Linear(4, 6)
    optimizer = torch.optim.SGD([*encoder.parameters(), *decoder.parameters()], lr=0.001)
    with hearing() as (heard, _):
        for _ in range(3):
            x = torch.rand(16, 6)
            mu, v = encoder(x).chunk(2, 1)
            out = decoder(mu + torch.randn_like(mu) * spread(v))
            loss = nn.functional.mse_loss(out, x) + prior(mu, v)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return {event.misread for event in heard if isinstance(event, GraphWalked)}
