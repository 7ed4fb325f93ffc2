"""An infinite divisor in float16 is seen in the graph, before backward frees it."""

import pytest
import torch

from premortem.probes.zeroed_divisions import zeroed


def rms(h):
    return h * torch.rsqrt(h.pow(2).mean(1, keepdim=True) + 1e-3)


def unit(h):
    return h / h.norm(dim=1, keepdim=True)


def inverse(h):
    return h * h.pow(2).sum(1, keepdim=True).reciprocal()


@pytest.mark.parametrize("scaled", [rms, unit, inverse])
@pytest.mark.parametrize(("size", "wrong"), [(1.0, False), (3e4, True)])
def test_a_divisor_that_does_not_fit_is_seen(scaled, size, wrong):
    torch.manual_seed(0)
    h = torch.randn(4, 64, requires_grad=True)
    assert bool(zeroed(scaled((h * size).clamp(-6e4, 6e4).half()).float().mean())) is wrong


@pytest.mark.parametrize("scaled", [rms, unit, inverse])
def test_in_float32_nobody_asks(scaled):
    h = torch.randn(4, 64, requires_grad=True)
    assert zeroed(scaled(h).mean()) is None
