"""What `premortem.fit` gives back, and that its numbers agree with its verdict."""

import pytest
import torch
from torch import nn

import premortem
from premortem.errors import PremortemError, UsageError
from premortem.fit.ledger import Allocation
from premortem.fit.prediction import predict
from premortem.fit.session import Trace

MIB = 2**20


def train():
    model = nn.Linear(1024, 1024).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        model(torch.randn(64, 1024, device="cuda")).sum().backward()
        optimizer.step()


def test_the_names_of_the_contract():
    found = premortem.fit(train, device=24 * 2**30)
    assert found.verdict == "fits"
    assert found.peak_reserved_bytes >= found.peak_allocated_bytes > 16 * MIB
    assert found.by_kind["parameters"] > 4 * MIB
    assert {"op", "module", "file", "line", "bytes"} <= set(found.top[0])
    assert found.device == str(24 * 2**30)
    assert "fits" in repr(found)
    assert len(repr(found)) < 200


def test_something_that_cannot_be_called():
    with pytest.raises(UsageError, match="a function that trains, not 3"):
        premortem.fit(3)


def test_what_is_reserved_agrees_with_fits():
    """Freed and too small for what comes next: on a small card it is given back."""
    sizes = [30, 40, 50]
    allocations = [Allocation(size * MIB, "activations", "mul", "", "", 0, "forward") for size in sizes]
    trace = Trace(allocations, [0, ~0, 1, ~1, 2, ~2], [])
    found = predict(trace, 60 * MIB)
    assert found.fits
    assert found.reserved == 50 * MIB
    assert found.reserved_unlimited == 120 * MIB
    assert predict(trace).reserved == 120 * MIB
    assert not predict(trace, 45 * MIB).fits


def test_a_function_that_does_nothing_has_no_prediction():
    with pytest.raises(PremortemError, match="put nothing on the GPU"):
        premortem.fit(lambda: None)
