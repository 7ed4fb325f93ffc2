"""A step as a transaction, with real optimizers: a refused step leaves every bit as it was."""

import copy
import math

import pytest
import torch
from torch import nn, optim
from torch.optim.swa_utils import AveragedModel

from premortem.events import StepRefused
from premortem.run.watcher import Watcher


class Stranger(optim.Optimizer):
    """As people write them: sign of the gradient, momentum in a buffer of its own name."""

    def __init__(self, params, lr=0.01):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                memory = self.state[p].setdefault("memory", torch.zeros_like(p))
                memory.mul_(0.9).add_(p.grad / p.grad.norm())
                p.sub_(group["lr"] * memory)
                self.state[p]["count"] = self.state[p].get("count", 0) + 1


OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.1),
    "sgd fused": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, fused=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "adamw foreach": lambda p: optim.AdamW(p, lr=0.01, foreach=True),
    "adamw for-loop": lambda p: optim.AdamW(p, lr=0.01, foreach=False),
    "adamw fused": lambda p: optim.AdamW(p, lr=0.01, fused=True),
    "adam amsgrad": lambda p: optim.Adam(p, lr=0.01, amsgrad=True),
    "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.9),
    "adagrad": lambda p: optim.Adagrad(p, lr=0.01),
    "stranger": Stranger,
}


@pytest.fixture
def guarded():
    torch.manual_seed(0)
    heard = []
    watcher = Watcher("protect")
    watcher.attach()
    real = watcher.emit
    watcher._attachment.session._emit = lambda event: (heard.append(event), real(event))
    faults = []
    watcher._attachment.session._fault = lambda unit, error: faults.append((unit, error))
    yield heard
    watcher.close()
    assert faults == []


def network():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def everything(model, optimizer):
    return copy.deepcopy((model.state_dict(), optimizer.state_dict()))


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) and one.dtype == other.dtype
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def train(model, optimizer, x, after=lambda: None):
    optimizer.zero_grad()
    loss = model(x).pow(2).mean()
    loss.backward()
    optimizer.step()
    after()
    return loss.item()


def refusals(heard):
    return [event for event in heard if isinstance(event, StepRefused)]


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_refused_step_leaves_every_bit_as_it_was(guarded, make):
    model = network()
    optimizer = make(model.parameters())
    good, bad = torch.randn(16, 4), torch.full((16, 4), math.nan)
    for _ in range(3):
        train(model, optimizer, good)
    before = everything(model, optimizer)
    train(model, optimizer, bad)
    assert same(everything(model, optimizer), before)
    assert [(event.reason, event.row, event.made) for event in refusals(guarded)] == [("gradient", 1, 3)]
    train(model, optimizer, good)
    assert not same(everything(model, optimizer), before)
    assert len(refusals(guarded)) == 1


@pytest.mark.parametrize("make", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_the_very_first_step_can_be_refused(guarded, make):
    model = network()
    optimizer = make(model.parameters())
    before = everything(model, optimizer)
    train(model, optimizer, torch.full((16, 4), math.inf))
    assert same(everything(model, optimizer), before)


@pytest.mark.parametrize(
    ("make", "gradient", "reason"),
    [
        (lambda p: optim.Adam(p, lr=0.01, eps=0.0), 0.0, "update"),  # 0 / 0
        (Stranger, 0.0, "update"),  # divided by a norm of 0
        (lambda p: optim.Adam(p, lr=0.01), 1e25, "update"),  # its square is infinite
    ],
    ids=["eps 0", "stranger", "second moment"],
)
def test_an_update_that_breaks_on_sound_gradients_is_undone(guarded, make, gradient, reason):
    model = nn.Linear(2, 1, bias=False)
    optimizer = make(model.parameters())
    before = everything(model, optimizer)
    model.weight.grad = torch.full_like(model.weight, gradient)
    optimizer.step()
    assert same(everything(model, optimizer), before)
    assert [event.reason for event in refusals(guarded)] == [reason]


def test_a_large_gradient_is_no_broken_one(guarded):
    """Its square does not fit into 32 bits, but plain SGD squares nothing."""
    model = nn.Linear(2, 1, bias=False)
    optimizer = optim.SGD(model.parameters(), lr=1e-25)
    before = everything(model, optimizer)
    model.weight.grad = torch.full_like(model.weight, 1e25)
    optimizer.step()
    assert not same(everything(model, optimizer), before)
    assert refusals(guarded) == []


def test_a_closure_is_undone_too(guarded):
    model = nn.Linear(4, 1)
    optimizer = optim.LBFGS(model.parameters(), lr=0.1, max_iter=4)
    x, poison = torch.randn(16, 4), [0.0]

    def closure():
        optimizer.zero_grad()
        loss = (model(x) + poison[0]).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(closure)
    before = everything(model, optimizer)
    poison[0] = math.nan
    optimizer.step(closure)
    assert same(everything(model, optimizer), before)
    assert len(refusals(guarded)) == 1


def test_statistics_that_a_bad_batch_has_ruined_are_as_before(guarded):
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    x = torch.randn(8, 4)
    for _ in range(3):
        train(model, optimizer, x)
    before = everything(model, optimizer)
    train(model, optimizer, x * math.nan)
    kept = {name: value for name, value in before[0].items() if "num_batches" not in name}
    assert all(torch.equal(model.state_dict()[name], value) for name, value in kept.items())


@pytest.mark.parametrize("make", [OPTIMIZERS["adamw foreach"], OPTIMIZERS["sgd fused"]])
def test_a_closure_that_makes_the_gradients_is_judged_inside(guarded, make):
    """As Lightning steps: `optimizer.step(closure)`, with any optimizer."""
    model = network()
    optimizer = make(model.parameters())
    x = torch.randn(8, 4)

    def closure(batch):
        optimizer.zero_grad()
        loss = model(batch).pow(2).mean()
        loss.backward()
        return loss

    for _ in range(3):
        optimizer.step(lambda: closure(x))
    before = everything(model, optimizer)
    loss = optimizer.step(lambda: closure(x * math.nan))
    assert math.isnan(loss.detach())
    assert same(everything(model, optimizer), before)
    assert all(p.grad is not None for p in model.parameters())
    optimizer.step(closure=lambda: closure(x))
    assert not same(everything(model, optimizer), before)
    assert [(event.reason, event.made) for event in refusals(guarded)] == [("gradient", 3)]


def test_a_closure_of_none_is_none(guarded):
    """As accelerate steps: `optimizer.step(None)`."""
    model = network()
    optimizer = optim.Adam(model.parameters())
    model(torch.full((8, 4), math.nan)).sum().backward()
    before = everything(model, optimizer)
    optimizer.step(None)
    assert same(everything(model, optimizer), before)
    assert len(refusals(guarded)) == 1


def test_two_optimizers_are_refused_apart(guarded):
    one, two = network(), network()
    first, second = optim.Adam(one.parameters()), optim.Adam(two.parameters())
    x = torch.randn(8, 4)
    train(one, first, x)
    train(two, second, x)
    before = everything(one, first)
    train(one, first, x * math.nan)
    train(two, second, x)
    assert same(everything(one, first), before)
    assert [event.optimizer for event in refusals(guarded)] == [1]


def test_scheduler_and_average_do_not_advance(guarded):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    average = AveragedModel(model)
    x = torch.randn(8, 4)

    def after():
        scheduler.step()
        average.update_parameters(model)

    train(model, optimizer, x, after)
    before = copy.deepcopy((scheduler.state_dict(), average.state_dict()))
    train(model, optimizer, x * math.nan, after)
    assert same((scheduler.state_dict(), average.state_dict()), before)
    train(model, optimizer, x, after)
    assert scheduler.last_epoch == 2
    assert int(average.n_averaged) == 2


def test_a_scheduler_of_epochs_advances_though_the_last_step_was_refused(guarded):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    x = torch.randn(8, 4)
    train(model, optimizer, x)
    train(model, optimizer, x * math.nan)
    scheduler.step()
    assert scheduler.last_epoch == 1


def test_a_scaler_refuses_by_itself(guarded):
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    for x in (torch.randn(8, 4), torch.full((8, 4), math.inf), torch.randn(8, 4)):
        optimizer.zero_grad()
        scaler.scale(model(x).pow(2).mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.get_scale() == 2.0**9
    assert refusals(guarded) == []
    assert all(torch.isfinite(p).all() for p in model.parameters())


@pytest.mark.skipif(
    not hasattr(nn.utils.clip_grad, "_clip_grads_with_norm_"),
    reason="torch 2.6 takes the norm apart from the clipping",
)
def test_a_broken_norm_does_not_pass_through_clipping(guarded):
    model = network()
    x = torch.randn(8, 4)
    model(x).pow(2).mean().backward()
    first, last = model[0].weight, model[2].weight
    first.grad[0, 0] = math.nan
    kept = last.grad.clone()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    assert math.isnan(norm)
    assert torch.equal(last.grad, kept)


def test_clipping_is_otherwise_what_it_was(guarded):
    one = network()
    two = copy.deepcopy(one)
    x = torch.randn(8, 4)
    one(x).pow(2).mean().backward()
    two(x).pow(2).mean().backward()
    nn.utils.clip_grad_norm_(one.parameters(), 0.01)
    norm = torch.linalg.vector_norm(torch.stack([p.grad.norm() for p in two.parameters()]))
    for p in two.parameters():
        p.grad.mul_((0.01 / (norm + 1e-6)).clamp(max=1.0))
    assert all(torch.equal(p.grad, q.grad) for p, q in zip(one.parameters(), two.parameters(), strict=True))


def test_nothing_is_refused_under_observe():
    watcher = Watcher("observe")
    watcher.attach()
    try:
        model = network()
        train(model, optim.SGD(model.parameters(), lr=0.1), torch.full((8, 4), math.nan))
    finally:
        watcher.close()
    assert not any(torch.isfinite(p).all() for p in model.parameters())


def test_torch_is_left_as_it_was():
    model = network()
    optim.SGD(model.parameters(), lr=0.1)
    hooked = optim.SGD.step
    watcher = Watcher("protect")
    watcher.attach()
    optim.SGD(model.parameters(), lr=0.1)
    assert optim.SGD.step is not hooked
    watcher.close()
    assert optim.SGD.step is hooked
