"""What a loop throws away, hides or makes 0, in real loops: told with the operation that made it."""

import math
from typing import Any

import pytest
import torch
from torch import nn
from torch.distributions import Categorical, kl_divergence

from premortem.events import LossTested
from tests.heard import hearing


def told(watcher: Any) -> list[tuple[str, str, str]]:
    return [(f.name, f.severity.value, f.evidence.get("op", "")) for f in watcher.findings]


def skipping(asks: Any, epochs: int, *, bad: bool = True) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net = nn.Linear(4, 1)
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        x, y = torch.rand(64, 4) + 0.1, torch.rand(64)
        x[40] = -5.0 if bad else 0.5
        for _ in range(epochs):
            for j in range(0, 64, 8):
                scale = torch.log(x[j : j + 8].sum(1))
                loss = (net(x[j : j + 8])[:, 0] * scale - y[j : j + 8]).abs().mean()
                if asks(loss):
                    continue
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        return told(watcher)


@pytest.mark.parametrize(
    "asks",
    [
        lambda loss: not math.isfinite(loss.item()),
        lambda loss: bool(loss != loss),  # noqa: PLR0124 - as it is written
        lambda loss: bool(torch.isnan(loss)),
    ],
)
def test_a_batch_that_is_left_out_in_every_epoch(asks):
    assert skipping(asks, 5) == [("masked-non-finite", "warning", "log")]


def test_a_guard_that_never_has_to_act_and_a_single_bad_batch_are_no_news():
    assert skipping(lambda loss: not math.isfinite(loss.item()), 5, bad=False) == []
    assert skipping(lambda loss: not math.isfinite(loss.item()), 2) == []


def normalising(dtype: torch.dtype) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        encoder, head = nn.Linear(8, 32), nn.Linear(32, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=1e-2)
        for _ in range(6):
            h = encoder(torch.randn(16, 8) * 3e3).to(dtype)
            h = h * torch.rsqrt(h.pow(2).sum(1, keepdim=True))
            loss = (head(h.float()) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


def test_an_overflow_that_a_division_makes_0():
    assert ("masked-non-finite", "warning", "pow") in normalising(torch.float16)
    assert "masked-non-finite" not in {name for name, _, _ in normalising(torch.float32)}


class Standardised(nn.Module):
    """Data, before they meet a weight."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.dtype, self.head = dtype, nn.Linear(8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.to(self.dtype)
        scale = torch.rsqrt(x.pow(2).mean(1, keepdim=True).float())
        return self.head(x.float() * scale)


def standardising(dtype: torch.dtype) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        model = Standardised(dtype)
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for _ in range(6):
            loss = (model(300 * torch.randn(16, 8)) - 1).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


def test_an_overflow_of_data_that_a_root_makes_0():
    assert ("masked-non-finite", "warning", "pow") in standardising(torch.float16)
    assert "masked-non-finite" not in {name for name, _, _ in standardising(torch.float32)}


def cleaning(hook: Any, *, zeros: bool) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net = nn.Linear(4, 4, bias=False)
        for parameter in net.parameters():
            parameter.register_hook(hook)
        optimizer = torch.optim.Adam(net.parameters(), 1e-3)
        points = torch.randn(50, 4)
        if zeros:
            points[::3] = 0
        for _ in range(8):
            y = net(points[torch.randint(0, 50, (10,))])
            loss = y.square().sum(1).sqrt().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


@pytest.mark.parametrize(
    "hook",
    [
        lambda g: torch.where(torch.isnan(g), torch.zeros_like(g), g),
        lambda g: g.masked_fill(~torch.isfinite(g), 0),
        lambda g: torch.nan_to_num(g, 0.0, 0.0, 0.0),
    ],
)
def test_gradients_that_a_hook_cleans(hook):
    assert cleaning(hook, zeros=True) == [("masked-non-finite", "error", "sqrt")]
    assert cleaning(hook, zeros=False) == []


def test_data_is_blamed_where_it_was_read(tmp_path):
    """A table with a hole, a file with one, and the item of a dataset that makes one."""
    import numpy as np

    from premortem.probes.microscope import Microscope

    net = nn.Linear(3, 1)
    hole = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, 3.0]], dtype="float32")
    torch.save(torch.from_numpy(hole), tmp_path / "x.pt")

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return torch.tensor(hole[index])

    def read(how):
        with Microscope() as scope:
            loss = net(how()).sum()
            loss.backward()
            return scope.certificate()

    line = read.__code__.co_firstlineno
    array = read(lambda: torch.from_numpy(hole))
    assert (array.stage, array.rows) == ("data", (1,))
    assert array.at.line > line + 5, "not the line of the model's call"
    assert read(lambda: torch.load(tmp_path / "x.pt")).stage == "data"
    items = Items()
    found = read(lambda: torch.stack([items[0], items[1]]))
    assert found.what == "Items[1]"
    assert found.at.line < line


def spelling(length: int) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net = nn.Linear(6, 6)
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        letters = torch.eye(6)[torch.randint(6, (8, length))]
        for _ in range(6):
            likely = (net(letters).softmax(-1) * letters).sum(-1).prod(1)
            loss = -likely.clamp_min(1e-30).log().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


def test_a_product_that_is_too_small_for_its_type():
    assert ("underflow", "error", "prod") in spelling(200)
    assert "underflow" not in {name for name, _, _ in spelling(10)}


def bounded(least: float) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net = nn.Linear(6, 4)
        optimizer = torch.optim.Adam(net.parameters(), 1e-3)
        x, wanted = torch.randn(40, 6), torch.randn(40, 4).softmax(1)
        wanted[:, 0] = least
        for step in range(16):
            to = wanted if step > 8 else wanted + 0.1
            apart = kl_divergence(Categorical(logits=net(x)), Categorical(probs=to))
            loss = apart.clamp(max=5.0).mean() + net(x).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


def test_an_infinite_divergence_behind_a_bound():
    assert ("masked-non-finite", "warning", "kl_divergence") in bounded(0.0)
    assert bounded(0.01) == []


def averaged(first: int) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net, average = nn.Linear(4, 2), nn.Linear(4, 2)
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        x, y = torch.randn(16, 4), torch.randint(2, (16,))
        for step in range(6):
            loss = nn.functional.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            with torch.no_grad():
                for held, weight in zip(average.parameters(), net.parameters(), strict=True):
                    correction = 1 - torch.tensor(0.9) ** (step + first)
                    held.mul_(0.9).add_(weight * 0.1 / correction)
        with torch.no_grad():
            average(x).nan_to_num().argmax(1)
        return told(watcher)


def test_an_average_of_weights_that_is_infinite_since_its_first_step():
    assert averaged(0) == [("weights-not-finite", "error", "div")]
    assert averaged(1) == []


def initialised(length: float) -> list[tuple[str, str, str]]:
    with hearing() as (_, watcher):
        net = nn.Linear(4, 3)
        with torch.no_grad():
            net.weight[1] = length
            net.weight.div_(net.weight.norm(dim=1, keepdim=True))
        optimizer = torch.optim.Adam(net.parameters(), 1e-2)
        for _ in range(5):
            loss = net(torch.randn(16, 4)).nan_to_num().pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return told(watcher)


def test_a_weight_that_was_never_finite_behind_a_mask():
    assert "weights-not-finite" in {name for name, _, _ in initialised(0.0)}
    assert initialised(1.0) == []


def test_a_loss_that_was_sent_back_is_not_one_that_the_script_left_out():
    with hearing() as (events, _):
        encoder, head = nn.Linear(4, 4, bias=False), nn.Linear(4, 1)
        optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.0)
        for step in range(8):
            x = torch.zeros(4, 4) if step % 3 == 2 else torch.rand(4, 4)
            h = encoder(x)  # two models, so that one is called while the last loss is still in its variable
            loss = head(h / h.abs().sum(1, keepdim=True)).pow(2).mean() / 2
            optimizer.zero_grad()
            (loss * 2).backward()
            if step % 3 != 2:
                optimizer.step()
        assert not [event for event in events if isinstance(event, LossTested)]
