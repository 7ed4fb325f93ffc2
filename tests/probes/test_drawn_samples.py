"""Samples that a model draws on its way: heard where they cut the graph, and not where a policy asks for their probability."""

import pytest
import torch
from torch import nn
from torch.distributions import Normal

from premortem.events import SampleDrawn
from tests.heard import hearing


class Coder(nn.Module):
    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.mean, self.back = nn.Linear(4, 2), nn.Linear(2, 4)

    def forward(self, x):
        mean = self.mean(x)
        if self.how == "fixed":
            mean = mean.detach()
        drawn = Normal(mean, 1.0)
        code = drawn.rsample() if self.how == "rsample" else drawn.sample()
        if self.how == "by hand":
            return code, -(code - mean).square().sum(1)
        if self.how == "with its code":
            return self.back(code), torch.zeros(len(x)), code
        if self.how == "policy":
            return self.back(code), drawn.log_prob(code).sum(1)
        return self.back(code), torch.zeros(len(x))


@pytest.mark.parametrize(
    ("how", "heard_of"),
    [("sample", 4), ("rsample", 0), ("fixed", 0), ("policy", 1), ("by hand", 1), ("with its code", 4)],
)
def test_a_sample_that_cuts_the_graph(how, heard_of):
    torch.manual_seed(0)
    model = Coder(how)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with hearing() as (heard, _):
        for _ in range(4):
            x = torch.randn(8, 4)
            out, weight, *_ = model(x)
            loss = (out - x[:, : out.shape[1]]).square().mean() - weight.mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    events = [event for event in heard if isinstance(event, SampleDrawn)]
    assert len(events) == heard_of  # of a policy, the first is drawn before its probability is asked for
    assert all(event.model == "model" for event in events)
