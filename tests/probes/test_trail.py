"""The failing forward pass is walked once more, when the run is over."""

import pytest
import torch
from torch import nn

from premortem.events import RunEnded
from premortem.probes.shape_trail import walk


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        f = self.body(x)
        f = f.permute(0, 3, 1, 2)
        return self.out(f)


def failure(call):
    with pytest.raises(RuntimeError) as caught:
        call()
    return caught.value


def test_the_trail_leads_from_the_input_to_the_layer_that_fails():
    net = Net()
    error = failure(lambda: net(torch.randn(2, 3, 6, 5)))
    event = walk(error, RunEnded(reason="crashed", error="RuntimeError"))
    assert event.inputs == ((2, 3, 6, 5),)
    assert [(step.name, step.after) for step in event.trail] == [
        ("body.0", (2, 8, 6, 5)),
        ("body.1", (2, 8, 6, 5)),
        ("permute", (2, 5, 8, 6)),
    ]
    assert (event.failed.name, event.failed.before, event.channels) == ("out", (2, 5, 8, 6), 8)
    assert event.trail[-1].at.file == __file__


def test_no_hook_stays_in_the_model():
    net = Net()
    walk(failure(lambda: net(torch.randn(2, 3, 6, 5))), RunEnded(reason="crashed", error="RuntimeError"))
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in net.modules())


def test_outside_of_a_model_the_tensors_of_the_line_are_named():
    outputs, labels = torch.randn(4, 3), torch.randn(5, 3)
    event = walk(failure(lambda: outputs + labels), RunEnded(reason="crashed", error="RuntimeError"))
    assert event.names == (("outputs", (4, 3)), ("labels", (5, 3)))
    assert event.failed is None
