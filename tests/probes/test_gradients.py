"""What the probes say about gradients, on real loops of a few steps."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import Backward, Custody, Detached, GraphWalked, ModelSeen, OptimizerStep, ZeroGrad
from premortem.probes import Attachment


@pytest.fixture
def events():
    """Everything the probes say while the test runs."""
    torch.manual_seed(0)
    heard, faults = [], []
    attachment = Attachment(heard.append, lambda unit, error: faults.append((unit, error)))
    yield heard
    attachment.detach()
    assert faults == []


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def net():
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))


def batch(n=6):
    return torch.randn(n, 4), torch.randint(0, 3, (n,))


def loss_of(model, scale=1.0):
    x, y = batch()
    return F.cross_entropy(model(x), y) * scale


def test_a_plain_loop_is_in_order(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    for event in of(events, OptimizerStep):
        assert (event.backwards, event.pending, event.with_grad, event.parameters) == (1, 1, 4, 4)
        assert event.cleared
        flags = (event.emptied, event.reused, event.touched, event.scaled, event.gated)
        assert not any(flags)
    assert [event.wasted for event in of(events, ZeroGrad)] == [()] * 4
    (model_seen,) = of(events, ModelSeen)
    assert len(model_seen.parameters) == 4


@pytest.mark.parametrize("to_none", [True, False])
def test_gradients_cleared_before_the_step(events, to_none):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss_of(model).backward()
        optimizer.zero_grad(set_to_none=to_none)
        optimizer.step()
    assert [event.emptied for event in of(events, OptimizerStep)] == [True, True]
    assert [event.wasted for event in of(events, ZeroGrad)] == [(1,), (1,)]


def test_gradients_zeroed_by_hand_before_the_step(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model).backward()
    for parameter in model.parameters():
        parameter.grad.zero_()
    optimizer.step()
    assert of(events, OptimizerStep)[0].emptied


def test_gradients_that_are_put_back_by_hand_are_not_missing(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        loss_of(model).backward()
        kept = [parameter.grad.clone() for parameter in model.parameters()]
        optimizer.zero_grad()
        for parameter, grad in zip(model.parameters(), kept, strict=True):
            parameter.grad = grad / 2
        optimizer.step()
    assert [(event.emptied, event.touched) for event in of(events, OptimizerStep)] == [(False, True)] * 2


def test_gradients_that_are_never_cleared(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        loss_of(model).backward()
        optimizer.step()
    assert [event.cleared for event in of(events, OptimizerStep)] == [True, False, False]
    assert [event.pending for event in of(events, OptimizerStep)] == [1, 2, 3]


class ClearsItself(torch.optim.Optimizer):
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for parameter in self.param_groups[0]["params"]:
            parameter.sub_(0.1 * parameter.grad)
            parameter.grad = None


def test_an_optimizer_that_clears_its_gradients_itself(events):
    model = net()
    optimizer = ClearsItself(model.parameters())
    for _ in range(3):
        loss_of(model).backward()
        optimizer.step()
    assert [(event.cleared, event.with_grad) for event in of(events, OptimizerStep)] == [(True, 4)] * 3


class Wrapper(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner = inner
        super().__init__(inner.param_groups, {})

    def step(self, closure=None):
        self.inner.step()


def test_a_wrapped_optimizer_makes_one_step(events):
    model = net()
    optimizer = Wrapper(torch.optim.SGD(model.parameters(), lr=0.1))
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(model).backward()
        optimizer.step()
    assert [event.step for event in of(events, OptimizerStep)] == [1, 2, 3]
    assert {event.kind for event in of(events, OptimizerStep)} == {"Wrapper"}


def test_a_step_on_used_gradients_and_one_on_new_ones_made_by_hand(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model).backward()
    optimizer.step()
    optimizer.step()
    optimizer.zero_grad()
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    assert [event.reused for event in of(events, OptimizerStep)] == [False, True, False]


def test_the_scale_of_a_loss_and_whose_it_is(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    loss_of(model).backward()
    (loss_of(model) / 4).backward()
    scaler.scale(loss_of(model) / 4).backward()
    optimizer.step()
    assert [event.scale for event in of(events, Backward)] == [1.0, 0.25, 0.25]
    assert [event.root for event in of(events, Backward)] == ["NllLoss"] * 3
    assert [event.scaled for event in of(events, Backward)] == [False, False, True]
    assert of(events, OptimizerStep)[0].scaled


def test_unscaling_is_not_tampering(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    scaler.scale(loss_of(model)).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    scaler.step(optimizer)
    (event,) = of(events, OptimizerStep)
    assert not event.scaled
    assert not event.touched


def test_a_step_that_waits_for_its_turn(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for number in range(4):
        loss_of(model).backward()
        if (number + 1) % 2 == 0:
            optimizer.step()
            optimizer.zero_grad()
    assert [(event.gated, event.backwards) for event in of(events, OptimizerStep)] == [(True, 2)] * 2


def test_weights_that_are_moved_by_hand_after_a_backward_pass(events):
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of(model).backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.data -= 0.1 * parameter.grad
    optimizer.zero_grad()
    (event,) = of(events, ZeroGrad)
    assert (event.wasted, event.by_hand) == ((1,), True)


def test_copies_of_a_parameter_and_what_moves_them(events):
    model = net()
    target = copy.deepcopy(model)
    both = nn.ModuleDict({"online": model, "target": target})
    optimizer = torch.optim.SGD(both.parameters(), lr=0.1)
    for _ in range(3):
        x, _ = batch()
        with torch.no_grad():
            wanted = target(x)
        optimizer.zero_grad()
        F.mse_loss(model(x), wanted + 1).backward()
        optimizer.step()
        with torch.no_grad():
            for mine, theirs in zip(target.parameters(), model.parameters(), strict=True):
                mine.lerp_(theirs, 0.1)
    last = {link.name: link for link in of(events, Custody)[-1].links}
    assert last["target.0.weight"].shifted
    assert last["target.0.weight"].twin
    assert last["target.0.weight"].ran_without_grad
    assert not last["model.0.weight"].shifted


class Lazy(torch.optim.Optimizer):
    """Updates a copy of every parameter but the first."""

    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.1})

    @torch.no_grad()
    def step(self, closure=None):
        for number, parameter in enumerate(self.param_groups[0]["params"]):
            (parameter if number == 0 else parameter.clone()).sub_(0.1 * parameter.grad)


def test_a_parameter_that_is_stepped_and_does_not_move(events):
    model = net()
    optimizer = Lazy(model.parameters())
    loss_of(model).backward()
    optimizer.step()
    (event,) = of(events, Custody)
    assert [link.stuck for link in event.links] == [False, True, True, True]
    assert all(link.pull > 100 for link in event.links)


def test_losses_may_be_gathered_in_a_tensor(events):
    """Looking at tensors must not turn them into sequences: `torch.tensor` of scalars goes on to work."""
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = [loss_of(model), loss_of(model)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        total = torch.tensor(losses, requires_grad=True).mean()
    total.backward()
    optimizer.step()
    assert "tensor" in {event.op for event in of(events, Detached)}
    assert of(events, GraphWalked)[0].parameters == ()


def test_a_parameter_that_nobody_knows(events):
    model = net()
    scale = nn.Parameter(torch.ones(()))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    (loss_of(model) * scale).backward()
    optimizer.step()
    (loose,) = of(events, GraphWalked)[0].loose
    assert (loose.name, loose.shape) == ("scale", ())


@pytest.mark.parametrize("whole", [True, False])
def test_a_flag_that_torch_does_not_know(events, whole):
    model = net()
    if whole:
        model[0].requires_grad = False
    else:
        for parameter in model[0].parameters():
            parameter.require_grad = False
    loss_of(model).backward()
    (seen,) = of(events, ModelSeen)
    assert {(word.attribute, word.value) for word in seen.misspelt} == {
        ("requires_grad" if whole else "require_grad", False)
    }
