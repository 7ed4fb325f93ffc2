"""Which link broke first: asked of real losses that are not finite."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import NonFinite
from premortem.probes import Attachment
from premortem.probes.graph_values import birth_of


def given(*values):
    return torch.tensor(values, requires_grad=True) * 1.0


@pytest.mark.parametrize(
    ("loss", "op", "detail", "overflow"),
    [
        (lambda: given(1.0, 0.0).log().sum(), "log", "the logarithm of 0", False),
        (lambda: given(1.0, -2.0).log().sum(), "log", "the logarithm of -2", False),
        (lambda: torch.sum(given(1.0) / torch.zeros(1)), "div", "a division by 0 (1 of 1 divisors)", False),
        (lambda: torch.sum(given(-0.5) ** 0.75), "pow", "a negative number (-0.5) to the power 0.75", False),
        (lambda: given(1.0, 100.0).exp().sum(), "exp", "exp", True),
        (lambda: given(2.0).std(), "std", "the std of a single value", False),
        (
            lambda: F.cross_entropy(given(1.0, 2.0)[None], torch.tensor([-100])),
            "nll_loss",
            "the mean over no target at all (every one is ignore_index)",
            False,
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:std")
def test_the_first_broken_operation_is_named(loss, op, detail, overflow):
    birth = birth_of(loss())
    assert (birth.op, birth.detail, birth.overflow) == (op, detail, overflow)


@pytest.mark.filterwarnings("ignore:Mean of empty")
def test_losses_of_single_samples_have_no_mean_over_targets():
    loss = F.cross_entropy(given(1.0, 2.0)[None].expand(3, 2), torch.tensor([0, 1, 1]), reduction="none")
    birth = birth_of(loss[torch.tensor([False] * 3)].mean())
    assert (birth.op, birth.detail) == ("mean", "the mean of an empty tensor")


def test_a_finite_loss_has_no_birth():
    assert birth_of((given(1.0, 2.0).log() / given(3.0)).sum()) is None


@pytest.fixture
def heard():
    torch.manual_seed(0)
    events, faults = [], []
    attachment = Attachment(events.append, lambda unit, error: faults.append((unit, error)))
    yield events
    attachment.detach()
    assert faults == []


def train(loss_of, steps=3):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        loss = loss_of(model, step)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_a_broken_row_of_the_input_is_found(heard):
    x = torch.randn(6, 4)
    x[2, 1] = float("nan")
    train(lambda model, step: model(x).pow(2).mean())
    (case,) = [event for event in heard if isinstance(event, NonFinite)]
    assert (case.stage, case.what, case.rows) == ("data", "input", (2,))


def test_a_gradient_that_is_born_broken_is_told_from_a_loss_that_is(heard):
    x = torch.randn(6, 4)
    train(lambda model, step: (model(x) - model(x)).pow(2).sum().sqrt(), steps=1)
    (case,) = [event for event in heard if isinstance(event, NonFinite)]
    assert (case.stage, case.value) == ("backward", 0.0)
