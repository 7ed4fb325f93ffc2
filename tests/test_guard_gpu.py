"""The transaction on a GPU: exact, and without waiting for the device. Run by hand: `pytest -m gpu`."""

import copy

import pytest
import torch
from torch import nn, optim

from premortem.events import StepRefused
from premortem.watcher import Watcher
from tests.test_guard import Stranger, everything, network, same

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]

OPTIMIZERS = {
    "adamw fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "sgd fused": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adamw foreach": lambda p: optim.AdamW(p, lr=0.01),
    "adamw for-loop": lambda p: optim.AdamW(p, lr=0.01, foreach=False),
    "sgd foreach": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "stranger": Stranger,
}


@pytest.fixture
def guarded():
    torch.manual_seed(0)
    heard, faults = [], []
    watcher = Watcher("protect")
    watcher.attach()
    real = watcher.emit
    session = watcher._attachment.session
    session._emit = lambda event: (heard.append(event), real(event))
    session._fault = lambda unit, error: faults.append((unit, error))
    session.step = 1_000_003  # cruise
    yield heard, session
    watcher.close()
    assert faults == []


def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_refused_step_leaves_every_bit_and_waits_for_nobody(guarded, make):
    heard, session = guarded
    model = network().cuda()
    optimizer = make(model.parameters())
    good, bad = torch.randn(16, 4, device="cuda"), torch.full((16, 4), float("nan"), device="cuda")
    for _ in range(12):
        step(model, optimizer, good)
    session.alarm_until, session.step = 0, 2_000_003
    torch.cuda.synchronize()
    step(model, optimizer, good)
    before = everything(model, optimizer)
    torch.cuda.set_sync_debug_mode("error")
    try:
        step(model, optimizer, bad)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.cuda.synchronize()
    weights = copy.deepcopy(model.state_dict())
    assert same(weights, before[0])
    step(model, optimizer, bad)  # the answer to the first has arrived by now, its counters are put back
    torch.cuda.synchronize()
    step(model, optimizer, bad)
    torch.cuda.synchronize()
    step(model, optimizer, good)
    assert len([event for event in heard if isinstance(event, StepRefused)]) >= 2
    assert all(torch.isfinite(p).all() for p in model.parameters())
    counts = {float(state["step"]) for state in optimizer.state.values() if "step" in state}
    assert counts <= {14.0}


def test_a_scaler_keeps_its_own_answer(guarded):
    heard, _session = guarded
    model = network().cuda()
    optimizer = optim.AdamW(model.parameters(), fused=True)
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**16)
    for value in (1.0, float("inf"), 1.0, 1.0, 1.0):
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = model(torch.full((8, 4), value, device="cuda")).float().pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
    assert scaler.get_scale() == 2.0**15
    assert not [event for event in heard if isinstance(event, StepRefused)]
    assert all(torch.isfinite(p).all() for p in model.parameters())


def test_a_broken_norm_does_not_pass_through_clipping(guarded):
    model = network().cuda()
    model(torch.randn(8, 4, device="cuda")).pow(2).mean().backward()
    model[0].weight.grad[0, 0] = float("nan")
    kept = model[2].weight.grad.clone()
    torch.cuda.set_sync_debug_mode("error")
    try:
        nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(model[2].weight.grad, kept)
