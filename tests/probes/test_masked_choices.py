"""The smallest of numbers some of which are masked out: read in the graph of a loss."""

import pytest
import torch
from torch import nn

from premortem.events import GraphWalked
from tests.heard import hearing

FAR = 1e9
NOT_MASKED = torch.eye(6).logical_not()  # each with the others


def scaled(values):
    return (values - values.min()) / values.max()


# What a loss takes of a table of distances and of a mask, and whether a filler wins in its rows.
WRONG = {
    "product": lambda d, m: (m * d).min(1)[0],
    "product, in place": lambda d, m: d.clone().mul_(m).min(1).values,
    "without a dimension": lambda d, m: torch.min(d * m),
    "amin": lambda d, m: (d * m).amin((1,)),
    "amin of torch": lambda d, m: torch.amin(d * m.bool(), dim=-1, keepdim=True),
    "largest of negative scores": lambda d, m: torch.max(-d * m, dim=1).values,
    "filled by hand": lambda d, m: d.masked_fill(m == 0, 0).min(1).values,
    "the wrong sign": lambda d, m: d.masked_fill(m == 0, -FAR).min(1).values,
    "where": lambda d, m: torch.where(m.bool(), d, 0.0).amin(1),
    "where, turned": lambda d, m: torch.where(m == 0, torch.zeros(()), d).amin(1),
    "places": lambda d, m: d.gather(1, (d * m).argmin(1, keepdim=True)),
    "places of min": lambda d, m: d[torch.arange(6), (d * m).min(1).indices],
    "selected": lambda d, m: d.index_select(1, torch.argmin(d * m, dim=1)),
}
RIGHT = {
    "from 0 on": lambda d, m: scaled(d * m),
    "largest distance": lambda d, m: (d * m).max(1).values,
    "features after a ReLU": lambda d, m: ((d - 1).relu() * m).amax(1),
    "filled with what loses": lambda d, m: d.masked_fill(m == 0, FAR).min(1).values,
    "largest of scores that differ": lambda d, m: ((d - 0.05) * m).amax(1),
}
SILENT = {
    "filled with the largest": lambda d, m: torch.where(m.bool(), d, d.max()).min(1).values,
    "far away": lambda d, m: (d + FAR * (1 - m)).min(1).values,
    "nothing is masked": lambda d, m: (d * torch.ones_like(m)).min(1).values,
    "rows that are masked out": lambda d, m: (d * m[0].reshape(-1, 1)).min(1).values,
    "gates": lambda d, m: (d * d.sigmoid()).min(1).values,
    "weights": lambda d, m: (d * (m + 0.5)).min(1).values,
    "dropout": lambda d, m: nn.functional.dropout(d, 0.3).min(1).values,
    "one entry that is selected": lambda d, m: (-d * torch.eye(6)).sum(1),
    "two tables": lambda d, m: torch.min(d * m, d + 1),
    "only looked at": lambda d, m: ((d * m).min().item(), d.mean())[1],
    "without gradients": lambda d, m: d[torch.arange(6), (d.detach() * (1 - m)).argmin(1)],
    "moved, against overflow": lambda d, m: ((-d * m - (-d * m).amax(1, keepdim=True)).exp() * m).sum(),
    "moved, of the unmasked": lambda d, m: (-d - (-d * m).max(1, keepdim=True)[0]).exp().sum(),
}


@pytest.mark.parametrize("how", WRONG)
def test_a_filler_that_wins_is_counted(how):
    (seen,) = {(each.rows, each.wrong) for each in chosen_by(WRONG[how])}
    assert seen[0] == seen[1] > 0


@pytest.mark.parametrize("how", RIGHT)
def test_a_filler_that_loses_is_no_fault(how):
    seen = chosen_by(RIGHT[how])
    assert seen
    assert all(each.wrong * 2 <= each.rows for each in seen)


@pytest.mark.parametrize("how", SILENT)
def test_other_products_and_other_choices(how):
    assert chosen_by(SILENT[how]) == []


def test_the_calls_of_one_line_are_added_up():
    seen = chosen_by(lambda d, m: sum((row * keep).min() for row, keep in zip(d, m, strict=True)))
    assert {(each.op, each.rows, each.wrong) for each in seen} == {("min", 6, 6)}


def chosen_by(term):
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    with hearing() as (heard, _):
        for _ in range(3):
            points = model(torch.randn(6, 4))
            distances = (points.unsqueeze(0) - points.unsqueeze(1)).pow(2).sum(-1).add(0.01).sqrt()
            loss = term(distances, NOT_MASKED.float()).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return [each for event in heard if isinstance(event, GraphWalked) for each in event.chosen]
