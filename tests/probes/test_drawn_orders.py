"""The order of a random sampler, pass by pass."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from premortem.detectors.same_order_every_epoch import SameOrderEveryEpoch
from premortem.events import OrderDrawn
from tests.heard import hearing

DATA = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))


def seeded(seed):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize(
    ("how", "passes", "said"),
    [
        ("once", 4, 0),
        ("each epoch", 4, 1),
        ("a generator each", 4, 1),
        ("by the epoch", 4, 0),
        ("in order", 0, 0),
    ],
)
def test_the_order_of_each_epoch(how, passes, said):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(DATA, batch_size=8, shuffle=how != "in order")
    with hearing() as (heard, _):
        for epoch in range(4):
            if how == "each epoch":
                torch.manual_seed(3)
            elif how == "by the epoch":
                torch.manual_seed(epoch)
            elif how == "a generator each":
                loader = DataLoader(DATA, batch_size=8, shuffle=True, generator=seeded(1))
            for x, y in loader:
                optimizer.zero_grad()
                nn.functional.mse_loss(model(x), y).backward()
                optimizer.step()
    drawn = [event for event in heard if isinstance(event, OrderDrawn)]
    assert len(drawn) == passes
    detector = SameOrderEveryEpoch()
    assert len([finding for event in heard for finding in detector.hear(event)]) == said
