"""Class numbers that an interpolation has mixed are seen where they become whole numbers again."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from premortem.events import Blended
from tests.heard import hearing


def train(mode, masks, steps=4):
    options = {} if "nearest" in mode else {"align_corners": False}
    with hearing() as (heard, _watcher):
        model = nn.Conv2d(3, 4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(steps):
            mask = functional.interpolate(masks, size=(4, 4), mode=mode, **options)[:, 0].long()
            loss = functional.cross_entropy(model(torch.randn(2, 3, 4, 4)), mask.clamp(0, 3))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [event for event in heard if isinstance(event, Blended)]


CLASSES = torch.tensor([0.0, 3.0, 1.0, 2.0] * 16).reshape(1, 1, 8, 8).expand(2, 1, 8, 8)


def test_a_mask_of_classes_that_is_interpolated_is_seen():
    found = train("bilinear", CLASSES)
    assert found
    assert (found[0].mode, found[0].values, found[0].shape) == ("bilinear", 4, (2, 4, 4))


@pytest.mark.parametrize(
    ("mode", "masks"),
    [("nearest", CLASSES), ("bilinear", CLASSES.clamp(max=1)), ("bilinear", CLASSES / 7)],
    ids=["nearest", "two classes", "no whole numbers"],
)
def test_what_is_no_mixture_of_classes_is_not(mode, masks):
    assert not train(mode, masks)
