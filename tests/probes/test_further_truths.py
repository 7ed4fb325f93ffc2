"""What probes say of losses, masks, states and loads: each in a loop that does it wrong, and in one that does it right."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Categorical, Normal
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from premortem.events import (
    Aligned,
    Experimented,
    Forward,
    GraphWalked,
    InitialisedAgain,
    LayerStats,
    LossCall,
    ModelSeen,
    PaddingMask,
    StateCarried,
)
from tests.heard import hearing


@pytest.mark.parametrize(("how", "off"), [("checkpoint", False), ("no_grad", True), ("plainly", False)])
def test_who_turned_gradients_off(how, off):
    """A frozen part: only what the script turns off is off."""
    low, head = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.1)), nn.Linear(4, 1)
    low.requires_grad_(False)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.low, self.head = low, head

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if how == "checkpoint":
                return self.head(checkpoint(self.low, x.requires_grad_(), use_reentrant=True))
            with torch.set_grad_enabled(how == "plainly"):
                held = self.low(x)
            return self.head(held)

    net = Net()
    layers = trained(net, lambda _: net(torch.rand(8, 4)).square().mean(), LayerStats)
    assert {each.off for each in layers if each.kind == "Dropout"} == {off}


def trained(model: nn.Module, loss_of: Any, kind: type, *, steps: int = 8, batches: Any = None) -> list[Any]:
    """The events of this kind in a short training."""
    with hearing() as (heard, _):
        optimizer = torch.optim.Adam(model.parameters(), 1e-3)
        for batch in batches() if batches else range(steps):
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [event for event in heard if isinstance(event, kind)]


@pytest.mark.parametrize("same", [True, False])
def test_a_loss_of_identical_numbers_is_seen(same):
    model, teacher = nn.Linear(4, 3), nn.Linear(4, 3)

    def loss_of(_):
        x = torch.randn(16, 4)
        soft = functional.log_softmax(teacher(x).detach(), 1)
        other = soft.clone() if same else functional.log_softmax(model(x), 1)
        term = functional.kl_div(other, soft, log_target=True, reduction="batchmean")
        return term + functional.cross_entropy(model(x), torch.randint(0, 3, (16,)))

    calls = [each for each in trained(model, loss_of, LossCall) if each.fn == "kl_div"]
    assert calls
    assert all(each.identical is same for each in calls)


def policy(how: str, normal: bool) -> list[Any]:
    actor, critic = nn.Linear(4, 3), nn.Linear(4, 1)
    both = nn.ModuleList([actor, critic])

    def loss_of(_):
        x = torch.randn(16, 4)
        spread = Normal(actor(x), 1.0) if normal else Categorical(logits=actor(x))
        drawn = spread.sample()
        chance = spread.log_prob(drawn).sum(-1) if normal else spread.log_prob(drawn)
        value = critic(x).squeeze(1)
        advantage = torch.randn(16) - value
        fit = functional.mse_loss(value, torch.randn(16))
        if how == "ratio":
            return -((chance - chance.detach()).exp() * advantage.detach()).mean() + fit
        if how == "centred":
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        return -(chance * (advantage.detach() if how == "detached" else advantage)).mean() + fit

    return trained(both, loss_of, GraphWalked)


@pytest.mark.parametrize("normal", [False, True])
@pytest.mark.parametrize(
    ("how", "so"), [("graph", True), ("centred", True), ("detached", False), ("ratio", False)]
)
def test_an_advantage_with_a_gradient_is_seen_in_the_graph(how, so, normal):
    walks = policy(how, normal)
    assert walks
    assert all(each.weighed_by_error is so for each in walks)


def test_a_weighted_likelihood_is_no_policy():
    model, weights = nn.Linear(4, 3), nn.Linear(4, 1)

    def loss_of(_):
        x, y = torch.randn(16, 4), torch.randint(0, 3, (16, 1))
        picked = functional.log_softmax(model(x), 1).gather(1, y).squeeze(1)
        return -(picked * weights(x).sigmoid().squeeze(1)).mean()

    walks = trained(nn.ModuleList([model, weights]), loss_of, GraphWalked)
    assert walks
    assert not any(each.weighed_by_error for each in walks)


@pytest.mark.parametrize(
    ("how", "so"), [("graph", True), ("detached", False), ("two views", False), ("an equation", False)]
)
def test_a_target_that_holds_an_own_estimate_with_its_graph_is_seen(how, so):
    values = nn.Linear(4, 3)

    def loss_of(_):
        now, then = torch.randn(16, 4), torch.randn(16, 4)
        chosen = values(now).gather(1, torch.randint(0, 3, (16, 1))).squeeze(1)
        target = torch.randn(16) + 0.9 * torch.ones(16) * values(then).max(1)[0]
        if how == "two views":  # one model on two pictures of the same thing: both are trained
            return functional.mse_loss(values(now), values(then))
        if how == "an equation":  # y' = 1 - 2 y
            y = values(now.requires_grad_())
            (slope,) = torch.autograd.grad(y.sum(), now, create_graph=True)
            return functional.mse_loss(slope[:, :3], -2.0 * y + 1.0)
        return functional.mse_loss(chosen, target.detach() if how == "detached" else target)

    calls = [each for each in trained(values, loss_of, LossCall) if each.parameters]
    assert calls
    assert all(each.promised is so for each in calls)


class ActNorm(nn.Module):
    def __init__(self, buffer: bool) -> None:
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(4))
        self.done: Any
        if buffer:
            self.register_buffer("done", torch.zeros((), dtype=torch.bool))
        else:
            self.done = False

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.done:
            with torch.no_grad():
                self.shift.copy_(-x.mean(0))
            self.done = torch.ones((), dtype=torch.bool) if isinstance(self.done, torch.Tensor) else True
        return x + self.shift


@pytest.mark.parametrize("trains", [True, False], ids=["and trains", "and is only used"])
@pytest.mark.parametrize("buffer", [True, False])
def test_a_layer_that_initialises_itself_again_after_a_load_is_seen(buffer, trains):
    with hearing() as (heard, _):
        models = [nn.Sequential(ActNorm(buffer), nn.Linear(4, 1)) for _ in range(2)]
        for number, model in enumerate(models):
            if number:
                model.load_state_dict(models[0].state_dict())
            optimizer = torch.optim.Adam(model.parameters(), 1e-3)
            for _ in range(3):
                loss = model(torch.randn(16, 4) + 3).pow(2).mean()
                if number and not trains:
                    continue
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    again = [event for event in heard if isinstance(event, InitialisedAgain)]
    assert [(each.layer, each.flag, each.parameters) for each in again] == (
        [] if buffer else [("0", "done", ("shift",))]
    )


class Adapted(nn.Linear):
    def __init__(self) -> None:
        super().__init__(4, 4)
        self.a, self.b, self.merged = nn.Parameter(torch.rand(2, 4)), nn.Parameter(torch.rand(4, 2)), False

    def merge(self) -> None:
        with torch.no_grad():
            self.weight += self.b @ self.a
        self.merged = True

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = super().forward(x)
        return y if self.merged else y + x @ self.a.T @ self.b.T


@pytest.mark.parametrize("first", [True, False], ids=["evaluated before", "merged at once"])
def test_adapters_that_are_merged_after_a_load(first):
    with hearing() as (heard, _):
        model, other = nn.Sequential(Adapted(), nn.Linear(4, 1)), nn.Linear(4, 4)
        model.load_state_dict(model.state_dict())
        with torch.no_grad():
            for _ in range(2):
                model(other(torch.rand(8, 4))) if first else None
                model[0].merge() if not model[0].merged else None
                model(torch.rand(8, 4))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        model(torch.rand(8, 4)).mean().backward()
        optimizer.step()
    assert not [event for event in heard if isinstance(event, InitialisedAgain)]


class Remembering(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how, self.hidden = how, None
        self.mix, self.out = nn.GRU(3, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen, hidden = self.mix(x, None if self.how == "kept for a look" else self.hidden)
        self.hidden = hidden.detach()
        return self.out(seen[:, -1])


@pytest.mark.parametrize(("how", "so"), [("carried", True), ("reset", False), ("kept for a look", False)])
def test_a_state_that_goes_from_batch_to_batch_is_seen(how, so):
    model = Remembering(how)
    data = TensorDataset(torch.randn(160, 5, 3), torch.randint(0, 2, (160,)))

    def loss_of(batch):
        if how == "reset":
            model.hidden = None
        return functional.cross_entropy(model(batch[0]), batch[1])

    carried = trained(model, loss_of, StateCarried, batches=lambda: DataLoader(data, 16, shuffle=True))
    assert [(each.attributes, each.batched) for each in carried[:1]] == ([(("hidden",), True)] if so else [])


@pytest.mark.parametrize(("first", "blanks"), [(0, True), (1, False)])
def test_blanks_among_the_labels_are_counted_and_the_padding_is_not(first, blanks):
    model = nn.Linear(4, 6)
    lengths = torch.full((8,), 3)

    def loss_of(_):
        labels = torch.randint(first, 5, (8, 5))
        labels[:, 3:] = 0  # fills them up
        labels[0, 0] = first
        scores = functional.log_softmax(model(torch.randn(20, 8, 4)), -1)
        return functional.ctc_loss(scores, labels, torch.full((8,), 20), lengths)

    calls = trained(model, loss_of, Aligned)
    assert calls
    assert all(each.labels == 24 and bool(each.blanks) is blanks for each in calls)


class Reader(nn.Module):
    def __init__(self, inverted: bool) -> None:
        super().__init__()
        self.inverted = inverted
        self.tokens = nn.Embedding(30, 8)
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)
        self.out = nn.Linear(8, 2)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        h = self.tokens(ids)
        padding = ids == 0
        h = self.attend(h, h, h, key_padding_mask=~padding if self.inverted else padding)[0]
        return self.out(h.mean(1))


@pytest.mark.parametrize("inverted", [True, False])
def test_a_mask_that_shows_padding_alone_is_seen(inverted):
    model = Reader(inverted)

    def loss_of(_):
        ids = torch.randint(1, 30, (16, 9))
        ids[:, 6:] = 0
        return functional.cross_entropy(model(ids), torch.randint(0, 2, (16,)))

    masks = trained(model, loss_of, PaddingMask)
    assert masks
    assert all((each.shown_values == 1 < each.masked_values) is inverted for each in masks)


def test_a_loss_knows_the_parameters_that_it_could_train():
    heads = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 1)])

    def loss_of(_):
        x = torch.randn(16, 4)
        functional.cross_entropy(heads[0](x), torch.randint(0, 2, (16,)))
        return functional.mse_loss(heads[1](x), torch.randn(16, 1))

    calls = trained(heads, loss_of, LossCall)
    led = {each.fn: each.parameters for each in calls if each.parameters}
    assert len(led["cross_entropy"]) == 2 == len(led["mse_loss"])
    assert not set(led["cross_entropy"]) & set(led["mse_loss"])


class Copying(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.mix, self.out = (
            nn.Embedding(20, 8),
            nn.GRU(8, 8, batch_first=True),
            nn.Linear(8, 20),
        )

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.out(self.mix(self.tokens(ids))[0])


def test_the_future_of_sequences_that_all_end_alike_is_changed_where_they_differ():
    model = Copying()

    def loss_of(_):
        ids = torch.zeros(16, 10, dtype=torch.long)
        ids[:, 1:5] = torch.randint(2, 20, (16, 4))
        ids[:, 5] = 1
        targets = ids.masked_fill(torch.arange(10) > 5, -100)
        return functional.cross_entropy(model(ids).flatten(0, 1), targets.flatten())

    told = trained(model, loss_of, Experimented)
    assert [(each.relation, each.effects["another future"]) for each in told[:1]] == [("same", 0)]


def test_a_norm_that_remembers_the_last_batch_alone_is_named():
    model = nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4, momentum=0.9), nn.BatchNorm1d(4), nn.Linear(4, 1)
    )
    (seen,) = [
        each for each in trained(model, lambda _: model(torch.randn(16, 4)).mean(), ModelSeen) if each.hasty
    ]
    assert [(each.layer.rpartition(".")[2], each.momentum) for each in seen.hasty] == [("1", 0.9)]


PAIRS = {
    "quantiles": (lambda out, other: (out.view(8, 8, 1) - other.view(8, 1, 8)).abs().mean(), (8, 8)),
    "one action's": (
        lambda out, other: (
            out.gather(1, torch.zeros(8, 1, 8).long()).view(8, 8, 1) - other.view(8, 1, 8)
        ).abs(),
        (8, 3, 8),
    ),
    "a kernel": (
        lambda out, other: (-(out.tanh().view(-1, 1) - other[0].view(1, -1)).pow(2)).exp().mean(),
        (8, 1),
    ),
    "each of one dimension": (
        lambda out, other: (out.tanh().view(-1, 1) - other[0].view(1, -1)).abs().mean(),
        (8,),
    ),
}


@pytest.mark.parametrize("how", PAIRS)
def test_each_against_each(how):
    loss_of, shape = PAIRS[how]

    class Net(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x).view(shape)

    net = Net(4, math.prod(shape) // 8)
    walks = trained(net, lambda _: loss_of(net(torch.randn(8, 4)), torch.randn(8, 8)).mean(), GraphWalked)
    assert walks
    assert not any(event.broadcasts for event in walks)


@pytest.mark.parametrize("shape", [(16,), (16, 1)], ids=["stretched", "as it is"])
def test_the_column_of_an_action_is_an_output_too(shape):
    net = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(4):
            chosen = net(torch.randn(16, 4)).gather(1, torch.randint(0, 3, (16, 1)))
            error = torch.randn(shape) - chosen
            optimizer.zero_grad()
            torch.where(error.abs() < 1, 0.5 * error**2, error.abs() - 0.5).mean().backward()
            optimizer.step()
    walks = [event for event in heard if isinstance(event, GraphWalked)]
    assert walks
    assert all(bool(event.broadcasts) is (shape == (16,)) for event in walks)


def test_a_model_is_given_what_torch_drew_before_the_first_step():
    with hearing() as (heard, _):
        drawn, net = torch.randn(16, 4), torch.nn.Linear(4, 1)
        for given in (drawn, drawn + 1):
            net(given)
    assert [event.noise for event in heard if isinstance(event, Forward)] == [True, False]
