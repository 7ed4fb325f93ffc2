"""Weights of rows in a loss: read in its graph."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from premortem.events import GraphWalked, RowWeights
from tests.heard import hearing

WEIGHTS = torch.zeros(64).index_put((torch.tensor([3, 17]),), torch.tensor([0.5, 2.0]))

# What a loss does with scores, targets and the weights that the loader gave.
WEIGHED = {
    "rows of a loss": lambda s, y, w: (F.mse_loss(s, y, reduction="none") * w).mean(),
    "by their sum": lambda s, y, w: (w * (s - y) ** 2).sum() / w.sum(),
    "scaled": lambda s, y, w: ((w / w.mean()) * (s - y).abs()).mean(),
    "a dot product": lambda s, y, w: torch.dot(w, (s - y) ** 2),
    "a column": lambda s, y, w: (w[:, None] * (s - y)[:, None] ** 2).mean(),
    "of the loss itself": lambda s, y, w: F.binary_cross_entropy_with_logits(s, (y > 0).float(), weight=w),
    "two terms": lambda s, y, w: (w * (s - y) ** 2).mean() + 0.1 * (w * s.abs()).mean(),
}
OTHERS = {
    "another term sees all rows": lambda s, y, w: (w * (s - y) ** 2).mean() + s.pow(2).mean(),
    "never 0": lambda s, y, w: ((w + 0.1) * (s - y) ** 2).mean(),
    "no data": lambda s, y, w: ((s - y).detach().abs() * (torch.arange(64) < 3) * (s - y)).mean(),
    "hard samples": lambda s, y, w: (
        ((s - y).detach().abs().topk(3).values.min() <= (s - y).abs()).float().mul(s - y).mean()
    ),
    "a hinge": lambda s, y, w: (1 - y.sign() * s).relu().mean(),
    "counts": lambda s, y, w: (s.exp() - w * s).mean(),
}


def walked(loss):
    torch.manual_seed(0)
    x, y = torch.randn(64, 4), torch.randn(64)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for xb, yb, wb in DataLoader(TensorDataset(x, y, WEIGHTS), batch_size=64):
            optimizer.zero_grad()
            loss(model(xb)[:, 0], yb, wb).backward()
            optimizer.step()
    (event,) = [each for each in heard if isinstance(each, GraphWalked)]
    return event.weighed


@pytest.mark.parametrize("how", WEIGHED)
def test_the_rows_that_can_change_the_model_are_counted(how):
    assert walked(WEIGHED[how]) == RowWeights(64, 2, uneven=True)


@pytest.mark.parametrize("how", OTHERS)
def test_other_losses_have_no_weights(how):
    assert walked(OTHERS[how]) is None


def test_a_mask_is_even():
    seen = walked(lambda s, y, w: ((w > 0).float() * (s - y) ** 2).mean())
    assert seen == RowWeights(64, 2, uneven=False)
