"""Rows of a batch beside the samples they were made of: pictures and masks that are turned, labels that are out of order."""

import random

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from premortem.events import LabelsPlaced, PictureTurned
from premortem.probes.batch_rows import turned_by
from tests.heard import hearing


def flipped(*tensors):
    way = [axis for axis in (-1, -2) if random.random() < 0.5]
    return [t.flip(way) for t in tensors] if way else list(tensors)


class Cells(Dataset):
    def __init__(self, how):
        self.how = how
        self.pictures = torch.randn(12, 1, 8, 8)
        self.masks = (torch.rand(12, 8, 8) < 0.3).float()

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        picture, mask = self.pictures[i], self.masks[i]
        if self.how == "together":
            return tuple(flipped(picture, mask))
        if self.how == "two views":
            return flipped(picture)[0], flipped(picture)[0]
        if self.how == "two drawings":
            return flipped(self.masks[i : i + 1])[0], flipped(self.masks[i])[0]
        if self.how == "whole numbers":
            return flipped(picture)[0], flipped(mask)[0].long()
        if self.how == "picture alone":
            return flipped(picture)[0], mask
        if self.how == "mask alone":
            return picture, flipped(mask)[0]
        if self.how == "each":
            return flipped(picture)[0], flipped(mask)[0]
        return picture + torch.randn(1), mask  # another change: nothing is known


@pytest.mark.parametrize(
    ("how", "alike", "apart"),
    [
        ("together", True, False),
        ("picture alone", False, True),
        ("mask alone", False, True),
        ("each", True, True),
        ("whole numbers", True, True),
        ("brighter", False, False),
        ("two views", False, False),
        ("two drawings", False, False),
    ],
)
def test_pictures_and_masks_that_come_again_turned(how, alike, apart):
    random.seed(0)
    torch.manual_seed(0)
    model = nn.Conv2d(1, 1, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(6):
            for picture, mask in DataLoader(loader_of[how], batch_size=4, shuffle=True):
                loss = nn.functional.binary_cross_entropy_with_logits(
                    model(picture)[:, 0], mask.reshape(-1, 8, 8).float()
                )
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    events = [event for event in heard if isinstance(event, PictureTurned)]
    assert any(not event.alone for event in events) is alike
    assert any(event.alone for event in events) is apart


class Regions(Dataset):
    """Pieces of larger pictures, with their masks."""

    def __init__(self, how):
        self.how = how
        where = torch.rand(12, 1, 1) * 8 + 8
        rows, columns = torch.meshgrid(torch.arange(24), torch.arange(24), indexing="ij")
        self.masks = ((rows - where) ** 2 + (columns - 12) ** 2 < 20).float()
        self.pictures = self.masks[:, None] + torch.randn(12, 1, 24, 24)

    def __len__(self):
        return len(self.pictures)

    def __getitem__(self, i):
        both = torch.stack([self.pictures[i][0], self.masks[i]])
        picture, mask = piece(both) if self.how == "together" else (piece(both)[0], piece(both)[1])
        return picture[None], mask


def piece(picture):
    top, left = random.randrange(7), random.randrange(7)
    cut = picture[..., top : top + 18, left : left + 18]
    return cut.flip(-1) if random.random() < 0.5 else cut


@pytest.mark.parametrize("how", ["together", "each"])
def test_pictures_and_masks_that_come_again_cropped(how):
    random.seed(0)
    torch.manual_seed(0)
    model, regions = nn.Conv2d(1, 1, 1), Regions(how)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(6):
            for picture, mask in DataLoader(regions, batch_size=4, shuffle=True):
                loss = nn.functional.binary_cross_entropy_with_logits(model(picture)[:, 0], mask)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    events = [event for event in heard if isinstance(event, PictureTurned)]
    assert len([event for event in events if event.alone == (how == "each")]) > 8
    assert len([event for event in events if event.alone != (how == "each")]) <= (how == "each")


HOW = (
    "together",
    "picture alone",
    "mask alone",
    "each",
    "brighter",
    "two views",
    "two drawings",
    "whole numbers",
)
loader_of = {how: Cells(how) for how in HOW}


def test_how_a_picture_was_turned():
    picture = torch.arange(16.0).reshape(4, 4)
    assert turned_by(picture, picture.flip(-1)) == "left and right"
    assert turned_by(picture, picture.flip(-2)) == "top and bottom"
    assert turned_by(picture, picture.flip(-1, -2)) == "both ways"
    assert turned_by(picture, picture.clone()) == "as it was"
    assert turned_by(picture, picture + 1) == turned_by(picture, picture[:2]) == ""


@pytest.mark.parametrize("sorts", ["pairs", "inputs alone"])
def test_labels_of_rows_that_lie_in_a_list(sorts):
    torch.manual_seed(0)
    samples = [(torch.randn(5 + i % 4), i) for i in range(24)]

    def collate(items):
        if sorts == "pairs":
            items = sorted(items, key=lambda item: len(item[0]))
        inputs = sorted((item[0] for item in items), key=len)
        filled = torch.stack([nn.functional.pad(each, (0, 8 - len(each))) for each in inputs])
        return filled, torch.tensor([item[1] for item in items])

    model = nn.Linear(8, 24)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for x, y in DataLoader(samples, batch_size=8, shuffle=True, collate_fn=collate):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    placed = [event for event in heard if isinstance(event, LabelsPlaced)]
    assert sum(event.rows for event in placed) == 24
    assert (sum(event.wrong for event in placed) > 0) is (sorts == "inputs alone")


@pytest.mark.parametrize("made", [lambda label: label - 1, lambda label: label // 5])
def test_labels_that_are_made_of_those_in_the_list(made):
    torch.manual_seed(0)
    samples = [(torch.randn(8), i) for i in range(24)]

    def collate(items):
        return torch.stack([item[0] for item in items]), torch.tensor([made(item[1]) for item in items])

    with hearing() as (heard, _):
        list(DataLoader(samples, batch_size=8, shuffle=True, collate_fn=collate))
    assert not any(isinstance(event, LabelsPlaced) for event in heard)
