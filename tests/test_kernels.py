"""Fused optimizers, refused where their kernel is called. The same on the CPU, whose kernels heed the flag as well."""

import copy
import threading

import pytest
import torch
from torch import nn, optim

from premortem.actions.kernels import Kernels
from premortem.probes.session import Session
from tests.test_guard import everything, same

MAKERS = {
    "adam": lambda groups: optim.Adam(groups, lr=0.01, fused=True),
    "adamw, amsgrad": lambda groups: optim.AdamW(groups, lr=0.01, amsgrad=True, fused=True),
    "sgd, momentum": lambda groups: optim.SGD(groups, lr=0.1, momentum=0.9, fused=True),
    "adagrad": lambda groups: optim.Adagrad(groups, lr=0.1, fused=True),
}


@pytest.fixture
def kernels():
    faults = []
    session = Session(lambda event: None, lambda unit, error: faults.append(error))
    kernels = Kernels(session)
    kernels.install()
    kernels.faults = faults
    yield kernels
    session.restore()


def trained(make):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = make([{"params": model[0].parameters()}, {"params": model[2].parameters()}])
    for _ in range(3):
        with_gradients(model, optimizer)
        optimizer.step()
    with_gradients(model, optimizer)
    return model, optimizer


def with_gradients(model, optimizer):
    optimizer.zero_grad()
    model(torch.linspace(-1, 1, 64).view(16, 4)).pow(2).mean().backward()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_step_is_left_out_with_every_bit(kernels, make):
    model, optimizer = trained(make)
    before, asked = everything(model, optimizer), []
    model[2].weight.grad[0, 0] = float("nan")
    kernels.expect(lambda grads: asked.append(len(grads)) or torch.ones(()))
    optimizer.step()
    kernels.release()
    assert same(everything(model, optimizer), before)
    assert asked == [2]  # once for the two kernels, one for each group


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_sound_step_is_the_same_to_the_last_bit(kernels, make):
    model, optimizer = trained(make)
    twin, other = copy.deepcopy((model, optimizer))
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        theirs.grad = mine.grad.clone()
    kernels.expect(lambda grads: torch.zeros(()))
    optimizer.step()
    kernels.release()
    other.step()  # nobody expects it
    assert same(everything(model, optimizer), everything(twin, other))


def test_what_a_scaler_says_counts_where_nobody_expects_anything(kernels):
    model, optimizer = trained(MAKERS["adam"])
    before = everything(model, optimizer)
    optimizer.found_inf, optimizer.grad_scale = torch.ones(()), None
    optimizer.step()
    assert same(everything(model, optimizer), before)


def test_a_bug_of_ours_leaves_the_step_to_the_user(kernels):
    def bug(grads):
        raise KeyError("ours")

    model, optimizer = trained(MAKERS["adamw, amsgrad"])
    before = everything(model, optimizer)
    kernels.expect(bug)
    optimizer.step()
    kernels.release()
    assert not same(everything(model, optimizer), before)
    assert [type(each) for each in kernels.faults] == [KeyError, KeyError]


def test_a_step_in_another_thread_is_none_of_ours(kernels):
    model, optimizer = trained(MAKERS["adam"])
    before = everything(model, optimizer)
    kernels.expect(lambda grads: torch.ones(()))
    thread = threading.Thread(target=optimizer.step)
    thread.start()
    thread.join()
    kernels.release()
    assert not same(everything(model, optimizer), before)


def test_momenta_of_a_first_step_that_is_left_out_begin_at_zero(kernels):
    model = nn.Linear(64, 64)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, fused=True)
    model(torch.full((2, 64), float("nan"))).sum().backward()
    kernels.expect(lambda grads: torch.ones(()))
    torch.use_deterministic_algorithms(True)  # then what is not initialised is NaN
    optimizer.step()
    torch.use_deterministic_algorithms(False)
    kernels.release()
    assert all(not state["momentum_buffer"].any() for state in optimizer.state.values())
