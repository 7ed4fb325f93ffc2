"""When the microscope is on, and that it comes and goes without a trace."""

import math

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils.checkpoint import checkpoint

from premortem.events import NonFinite, StepStats
from premortem.probes import Attachment


@pytest.fixture
def run():
    torch.manual_seed(0)
    events, faults = [], []
    attachment = Attachment(events.append, lambda unit, error: faults.append((unit, error)))
    attachment.heard = events
    yield attachment
    attachment.detach()
    assert faults == []
    assert _get_current_dispatch_mode_stack() == []


class Checkpointed(nn.Module):
    """Its layers are called again in the backward pass, which is when the first alarm of a step comes."""

    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)

    def forward(self, x, bad):
        p = checkpoint(self.body, x, use_reentrant=False).softmax(1)
        return (p - 1).sqrt() if bad else p


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 3)

    def forward(self, x, bad):
        p = self.body(x).softmax(1)
        if bad:
            keep = torch.ones(len(x), 1)
            keep[5] = 0
            p = (p * keep).log() + 0 * p.log()  # the second one is in order
        return p


def cases(run):
    return [event for event in run.heard if isinstance(event, NonFinite)]


def train(bad, steps=40, *, model=Net, skips=True, each=lambda: None):
    model = model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        loss = model(torch.randn(8, 4), bad(step)).mean()
        optimizer.zero_grad()
        loss.backward()
        each()
        if not skips or all(torch.isfinite(p.grad).all() for p in model.parameters()):
            optimizer.step()


def test_a_fault_of_the_first_step_has_its_certificate_at_once(run):
    train(lambda step: True, steps=1)
    (case,) = cases(run)
    assert (case.op, case.rows, case.samples, case.module) == ("log", (5,), 8, "model")
    assert (case.watched, case.step) == (True, 0)
    assert case.value == -math.inf


def test_a_fault_that_recurs_is_seen_the_second_time(run):
    train(lambda step: step in {20, 25})
    first, second = cases(run)
    assert (first.watched, first.op, first.detail) == (False, "log", "the logarithm of 0")
    assert (second.watched, second.op, second.rows) == (True, "log", (5,))
    assert second.at.function == "forward"


def test_nothing_is_on_in_cruise(run):
    on = []
    train(lambda step: False, each=lambda: on.append(bool(_get_current_dispatch_mode_stack())))
    assert on == [True, True] + [False] * 38


def test_an_alarm_ends_after_sixteen_steps(run):
    on = []
    train(lambda step: step == 20, each=lambda: on.append(bool(_get_current_dispatch_mode_stack())))
    assert on[21:37] == [True] * 16
    assert not any(on[38:])


def test_the_optimizers_arithmetic_is_watched_too(run):
    model = nn.Linear(4, 3)
    optimizer = torch.optim.Adam(model.parameters(), eps=0.0)
    (model(torch.randn(8, 4)) * torch.tensor([1.0, 0.0, 1.0])).sum().backward()
    optimizer.step()
    (case,) = cases(run)
    assert (case.stage, case.parameter, case.detail) == (
        "update",
        "model.weight",
        "a division by 0 (4 of 12 divisors)",
    )


class Passing(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def test_it_stays_out_while_a_mode_of_the_users_is_on(run):
    with Passing() as mine:
        train(lambda step: True, steps=2)
        assert _get_current_dispatch_mode_stack() == [mine]
    assert [case.watched for case in cases(run)] == [False]


def test_a_mode_that_the_user_keeps_open_is_not_taken_away(run):
    mine = Passing()
    train(lambda step: False, steps=1)
    mine.__enter__()
    train(lambda step: False, steps=3)
    assert _get_current_dispatch_mode_stack()[-1] is mine
    mine.__exit__(None, None, None)
    train(lambda step: False, steps=1)
    assert _get_current_dispatch_mode_stack() == []


def test_it_never_looks_into_compiled_code(run):
    torch.compile(nn.Linear(1, 1), backend="eager")
    train(lambda step: True, steps=2)
    assert _get_current_dispatch_mode_stack() == []
    assert [case.watched for case in cases(run)] == [False]


def test_a_checkpoint_that_computes_again_neither_opens_nor_closes_it(run):
    train(lambda step: step in {20, 25}, model=Checkpointed)
    _, second = cases(run)
    assert (second.watched, second.op) == (True, "sqrt")


def test_the_loss_of_a_broken_step_is_that_of_its_broken_micro_batch(run):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    for broken in (-1, 0, 1, 2):
        for index in range(3):
            loss = model(torch.randn(8, 4), False).mean()
            (loss * math.nan if index == broken else loss).backward()
        optimizer.step()
        optimizer.zero_grad()
    losses = [event.loss for event in run.heard if isinstance(event, StepStats)]
    assert [math.isnan(loss) for loss in losses] == [False, True, True, True]
