"""What a device decides about, with the CPU in its place: remembered, and put back by one launch each.

`Held.on_cpu` is what tells the two apart; all the rest, the kernels that look at the flag included, is the same."""

import copy

import pytest
import torch
from torch import nn, optim

from premortem.actions import undo
from premortem.actions.launch_graphs import Repeated
from premortem.events import StepRefused
from premortem.probes.stats import Held
from tests.heard import hearing
from tests.test_guard import everything, same

MAKERS = {
    "adamw": lambda p: optim.AdamW(p, lr=0.01),
    "adamw, foreach": lambda p: optim.AdamW(p, lr=0.01, foreach=True),
    "sgd, momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9),
    "sgd": lambda p: optim.SGD(p, lr=0.1),
    "adamw, fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),  # its own kernel leaves the step out
    "sgd, momentum, fused": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
}


@pytest.fixture
def rested(monkeypatch):
    """A run that rests, and takes its weights for a device's."""

    class Elsewhere(Held):
        def __init__(self, *args):
            super().__init__(*args)
            self.on_cpu = self.quick = False

    monkeypatch.setattr("premortem.probes.stats.Held", Elsewhere)
    monkeypatch.setattr(undo, "room_for", lambda live: True)
    with hearing() as (heard, watcher):
        session = watcher._attachment.session

        class Graph:
            """What was captured runs without Python, so no layer of ours hears it."""

            def __init__(self, repeated):
                self.work = repeated._work

            def replay(self):
                before, session.looking = session.looking, True
                with torch.no_grad():
                    self.work()
                session.looking = before

        def captured(repeated):
            return Graph(repeated)

        monkeypatch.setattr(Repeated, "_captured", captured)
        yield heard, watcher._attachment


def network(dtype=torch.float32):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1)).to(dtype)


def step(model, optimizer, *, broken=False):
    optimizer.zero_grad()
    x = torch.linspace(-1, 1, 64).view(16, 4).to(model[0].weight.dtype)
    model(x).pow(2).mean().backward()
    if broken:  # the loss is not: on the CPU that would be seen before
        model[2].weight.grad[0, 0] = float("nan")
    optimizer.step()


def to_rest(attachment, model, optimizer):
    for _ in range(12):
        step(model, optimizer)
    session = attachment.session
    session.alarm_until, session.step, session._due = 0, 2_000_003, False
    session.rest._credit = -1e6  # no look that could be paid
    session.rest._begin()


def transactions(attachment, monkeypatch):
    judgement, made = attachment.guard.judgement, []
    original = judgement.judge
    monkeypatch.setattr(judgement, "judge", lambda given: made.append(given) or original(given))
    return made


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_rested_step_is_refused_to_the_last_bit_by_the_quick_way(rested, monkeypatch, make, dtype):
    heard, attachment = rested
    model = network(dtype)
    optimizer = make(model.parameters())
    to_rest(attachment, model, optimizer)
    slowly = transactions(attachment, monkeypatch)
    step(model, optimizer)
    before = everything(model, optimizer)
    step(model, optimizer, broken=True)
    assert not slowly
    weights = copy.deepcopy(model.state_dict())
    assert same(weights, before[0])
    attachment.drain()  # the answer arrives, and the counters on the host go back
    assert same(everything(model, optimizer), before)
    assert [event.reason for event in heard if isinstance(event, StepRefused)] == ["gradient"]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_sound_steps_are_those_of_a_run_that_nobody_watches(rested, make):
    _, attachment = rested
    model = network()
    optimizer = make(model.parameters())
    to_rest(attachment, model, optimizer)
    for _ in range(5):
        step(model, optimizer)
    watched = everything(model, optimizer)
    attachment.detach()
    alone = network()
    other = make(alone.parameters())
    for _ in range(17):
        step(alone, other)
    assert same(watched, everything(alone, other))


def test_weights_that_were_written_behind_everybodys_back_are_kept(rested):
    """`.data` counts no version: a copy from before the clamp would undo it."""
    _, attachment = rested
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    to_rest(attachment, model, optimizer)
    step(model, optimizer)
    for p in model.parameters():
        p.data.clamp_(-0.01, 0.01)
    before = copy.deepcopy(model.state_dict())
    step(model, optimizer, broken=True)
    assert same(model.state_dict(), before)


def test_a_state_that_was_loaded_and_weights_that_moved_are_followed(rested):
    _, attachment = rested
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    to_rest(attachment, model, optimizer)
    step(model, optimizer)
    optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    model[0].weight.data = model[0].weight.data.clone()
    step(model, optimizer)
    before = everything(model, optimizer)
    step(model, optimizer, broken=True)
    assert same(copy.deepcopy(model.state_dict()), before[0])
    attachment.drain()
    assert same(everything(model, optimizer), before)


def test_a_refused_step_keeps_the_sign_of_a_zero(rested):
    """What is remembered only when a step is refused is read from the script's own weights, which must not change by that."""
    _, attachment = rested
    model = network()
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    to_rest(attachment, model, optimizer)
    step(model, optimizer)
    with torch.no_grad():
        model[0].weight[0, 0] = -0.0
    before = [p.detach().clone().view(torch.uint8) for p in model.parameters()]
    step(model, optimizer, broken=True)
    assert all(
        torch.equal(p.detach().view(torch.uint8), old)
        for p, old in zip(model.parameters(), before, strict=True)
    )
