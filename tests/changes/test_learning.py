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
    loader = DataLoader(Points(augmented), batch_size=16, shuffle=True)
    for _ in range(epochs):
        losses = []
        for x, y in loader:
            with torch.autocast("cpu", torch.bfloat16, enabled=half):
                out = model(x)
                out = out + 512 - 512 if half else out  # in 16 bits little is left of it
            loss = functional.cross_entropy(out.float(), y)
            losses.append(loss.item())
            optimizer.zero_grad()
            (sign * loss).backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
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
