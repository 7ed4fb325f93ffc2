"""One batch again and again: only its own gradients count."""

import pytest
import torch

from premortem.preflight.rehearsal.judging import falls
from premortem.rehearsal.overfit import Trials


def made(optimizer, turned):
    """Trials on one batch, after other batches have set the optimizer in motion the other way."""
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 1)
    x = torch.randn(16, 4)
    with torch.no_grad():
        y = model(x) + 0.01  # this batch is nearly learned
    stepping = optimizer(model)
    for _ in range(50):
        stepping.zero_grad()
        (100 * model(x).mean()).backward()
        rates = [group["lr"] for group in stepping.param_groups]
        for group in stepping.param_groups:
            group["lr"] = 0.0
        stepping.step()
        for group, rate in zip(stepping.param_groups, rates, strict=True):
            group["lr"] = rate
    trials = Trials([model], stepping)
    while not trials.over:
        stepping.zero_grad()
        loss = (model(x) - y).pow(2).mean()
        (-loss if turned else loss).backward()
        trials.loss(loss.item())
        trials.stepping()
        stepping.step()
        trials.stepped()
    return falls(trials.result)


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda model: torch.optim.Adam(model.parameters(), lr=1e-3),
        lambda model: torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.99),
    ],
    ids=["adam", "momentum"],
)
def test_what_other_batches_have_set_in_motion_does_not_count(optimizer):
    assert made(optimizer, turned=False) is not False
    assert made(optimizer, turned=True) is False
