"""What makes a model learn, shown on small trainings that do not: the loss with the change against the loss without it."""

import random

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

from premortem import changes
from premortem.changes import RunDescription
from premortem.changes.reach import Reach


class Points(Dataset):
    """A sample is shown from another side each time, which leaves little of it."""

    def __init__(self, augmented):
        draw = torch.Generator().manual_seed(1)
        self.x = torch.randn(64, 8, generator=draw)
        self.y = (self.x[:, 0] > 0).long()
        self.augmented = augmented

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = self.x[index]
        return (x.roll(random.randrange(8)) if self.augmented else x), self.y[index]


def learned(
    *,
    clip=0.0,
    rate=0.05,
    decays=False,
    augmented=False,
    frozen=False,
    still=False,
    half=False,
    sign=1,
    epochs=15,
    closure=False,
    prepared=False,
):
    """The mean of the loss over the last epoch."""
    random.seed(0)
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.Tanh(), nn.Linear(32, 2))
    if still:  # as after an evaluation, with statistics of something else
        model[1].running_var.fill_(1e6)
        model.eval()
    if frozen:
        for parameter in (*model[0].parameters(), *model[3].parameters()):
            parameter.requires_grad = False
    optimizer = torch.optim.SGD(filter(lambda p: p.requires_grad, model.parameters()), lr=rate)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.01 if decays else 1.0)
    if prepared:  # as accelerate does: the groups are other dicts afterwards
        optimizer.load_state_dict(optimizer.state_dict())
    loader = DataLoader(Points(augmented), batch_size=16, shuffle=True)
    for _ in range(epochs):
        losses = []
        for x, y in loader:

            def turn(x=x, y=y, losses=losses):
                with torch.autocast("cpu", torch.bfloat16, enabled=half):
                    out = model(x)
                    out = out + 512 - 512 if half else out  # in 16 bits little is left of it
                loss = functional.cross_entropy(out.float(), y)
                losses.append(loss.item())
                optimizer.zero_grad()
                (sign * loss).backward()
                if clip:
                    nn.utils.clip_grad_norm_(model.parameters(), clip)

            if closure:  # as Lightning does
                optimizer.step(turn)
            else:
                turn()
                optimizer.step()
        scheduler.step()
    return sum(losses) / len(losses)


def with_change(name, **how):
    change = changes.of("learning")[name](Reach(), RunDescription(device="cpu"))
    with change.on():
        return learned(**how)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("no-clipping", {"clip": 1e-4}),
        ("rate-times-ten", {"rate": 0.001}),
        ("rate-tenth", {"rate": 50.0}),
        ("rate-constant", {"decays": True}),
        ("rate-constant", {"decays": True, "prepared": True}),
        ("no-clipping", {"clip": 1e-4, "closure": True}),
        ("no-augmentation", {"augmented": True, "rate": 0.5}),
        ("unfrozen", {"frozen": True}),
        ("train-mode", {"still": True}),
        ("float32", {"half": True}),
        ("loss-sign-flipped", {"sign": -1}),
    ],
)
def test_a_training_that_does_not_learn_learns_with_the_change(name, fault):
    as_it_is, changed, healthy = learned(**fault), with_change(name, **fault), learned()
    assert changed < 0.9 * as_it_is
    assert healthy < 0.5, "the training itself must be one that learns"


def test_labels_that_belong_to_other_samples_cannot_be_learned():
    assert with_change("labels-shuffled") > 1.3 * learned()


def test_one_batch_is_learned_sooner_than_all():
    assert with_change("same-batch", epochs=4) < learned(epochs=4)


def test_one_batch_is_learned_where_there_is_no_loader():
    """What is drawn anew in each step has nothing in it that could be learned."""

    def train():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        for step in range(60):
            rows = 8 if step % 7 else 5  # the last batch of an epoch is smaller
            loss = functional.cross_entropy(
                input=model(torch.randn(rows, 8)), target=torch.randint(2, (rows,))
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    assert train() > 0.5
    with changes.of("learning")["same-batch"](Reach(), RunDescription(targets=True)).on():
        assert train() < 0.1


def test_statistics_that_batch_norm_kept_wrongly_are_not_used():
    def evaluated():
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16, momentum=0.0), nn.Linear(16, 2))
        model[1].running_mean.fill_(50.0)
        x = torch.randn(64, 8)
        y = (x[:, 0] > 0).long()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(30):
            optimizer.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            return functional.cross_entropy(model(x), y).item()

    assert evaluated() > 1.0
    with changes.of("learning")["batch-norm-on-batch"](Reach(), RunDescription()).on():
        assert evaluated() < 0.2


@pytest.mark.parametrize("name", ["plain-adam", "plain-sgd"])
def test_an_optimizer_with_settings_that_stop_it_is_replaced(name):
    def train():
        torch.manual_seed(0)
        model = nn.Linear(8, 1)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01, eps=1e6)
        x = torch.randn(64, 8)
        for _ in range(400):
            optimizer.zero_grad()
            loss = functional.mse_loss(model(x).squeeze(1), 0.5 * x[:, 0])
            loss.backward()
            optimizer.step()
        return loss.item()

    assert train() > 0.2
    with changes.of("learning")[name](Reach(), RunDescription()).on():
        assert train() < 0.1


def three_layers(*, scores=1.0, weights=1.0, sigmoid=False, epsilon=1e-8, sgd=None):
    """The share of samples that a classifier of three layers has right after a short training."""
    torch.manual_seed(0)
    between = nn.Sigmoid if sigmoid else nn.ReLU
    model = nn.Sequential(
        nn.Linear(8, 32),
        between(),
        nn.Linear(32, 32),
        between(),
        nn.Linear(32, 32),
        between(),
        nn.Linear(32, 4),
    )
    for parameter in model.parameters():
        parameter.data.mul_(weights)
    rate, momentum = sgd or (0.003, 0.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate, eps=epsilon)
    if sgd:
        optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    x = torch.randn(256, 8)
    y = (x[:, 0] > 0).long() + 2 * (x[:, 1] * x[:, 2] > 0).long()
    for _ in range(60):
        optimizer.zero_grad()
        out = model(x)
        functional.cross_entropy(out * scores, y).backward()
        optimizer.step()
    return (out.argmax(1) == y).float().mean().item()


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("scores-scaled", {"scores": 1e-3, "epsilon": 1e-3}),
        ("scores-scaled", {"scores": 300.0, "sgd": (0.01, 0.9)}),
        ("default-initialisation", {"weights": 20.0}),
        ("relu-between-layers", {"sigmoid": True}),
        ("usual-settings", {"epsilon": 1.0}),
        ("usual-settings", {"sgd": (0.3, 0.999)}),
    ],
)
def test_a_value_that_is_wrong_by_far_costs_what_the_change_gives_back(name, fault):
    as_it_is, healthy = three_layers(**fault), three_layers()
    with changes.of("learning")[name](Reach(), RunDescription()).on() as change:
        changed = three_layers(**fault)
    assert change.touched
    assert as_it_is + 0.1 < changed
    assert healthy > 0.7, "the training itself must be one that learns"


def test_a_step_with_a_closure_is_made_by_the_other_optimizer():
    weight = nn.Parameter(torch.ones(1))

    def loss():
        optimizer.zero_grad()
        made = (weight - 3).square().sum()
        made.backward()
        return made

    with changes.of("learning")["plain-sgd"](Reach(), RunDescription()).on() as change:
        optimizer = torch.optim.Adam([weight], lr=1.0)
        assert optimizer.step(loss).item() == 4.0
    assert change.touched
    assert weight.item() == pytest.approx(1.04), "0.01 times the slope"


class Mixing(nn.Module):
    """Takes (batch, features) for (features, batch)."""

    def __init__(self, wrong):
        super().__init__()
        self.layer, self.wrong = nn.Linear(8, 2), wrong

    def forward(self, x):
        return self.layer(x.T.reshape(x.shape) if self.wrong else x)


@pytest.mark.parametrize("wrong", [False, True])
def test_the_place_in_a_batch_matters_only_to_a_model_that_mixes_samples(wrong):
    def second_loss():
        torch.manual_seed(0)
        model = Mixing(wrong)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            x = torch.randn(16, 8)
            loss = functional.cross_entropy(model(x), (x[:, 0] > 0).long())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return loss.item()

    before = second_loss()
    with changes.of("learning")["batch-permuted"](Reach(), RunDescription(targets=True)).on() as change:
        after = second_loss()
    assert change.touched
    assert (abs(after - before) > 1e-3 * before) is wrong


def test_each_backward_pass_has_its_own_step():
    weights = []
    with changes.of("learning")["no-accumulation"](Reach(), RunDescription(backwards_per_step=2)).on():
        weight = nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.SGD([weight], lr=1.0)
        for number in range(4):
            (-weight).sum().backward()
            if number % 2:
                optimizer.step()
                optimizer.zero_grad()
            weights.append(weight.item())
    assert weights == [1.0, 2.0, 3.0, 4.0]


def test_in_float64_layers_begin_with_the_same_numbers():
    def weights():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 4), nn.Embedding(3, 4)).state_dict().values()

    before = [each.double() for each in weights()]
    with changes.of("learning")["float64"](Reach(), RunDescription(stuck=True)).on():
        after = list(weights())
    assert [each.dtype for each in after] == [torch.float64] * len(after)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize(
    "name", ["scores-scaled", "relu-between-layers", "no-activation-before-loss", "no-dropout"]
)
def test_what_is_given_by_name_arrives(name):
    """`functional.linear(input=x, …)` is as good a call as any."""
    x = torch.randn(4, 3)
    with changes.of("learning")[name](Reach(), RunDescription()).on():
        out = functional.linear(input=torch.sigmoid(input=x), weight=torch.randn(2, 3))
        out = functional.dropout(input=functional.log_softmax(input=out, dim=1), p=0.5)
    assert out.shape == (4, 2)
