"""Each layer gets its own format, the faster one stays, and the model is otherwise untouched."""

import copy
import sys

import pytest
import torch
from torch import nn

from premortem.parts import channels_last


def in_format(layer):
    kind = torch.channels_last_3d if layer.weight.dim() == 5 else torch.channels_last
    return layer.weight.is_contiguous(memory_format=kind)


class Mixed(nn.Module):
    """A clip through a Conv3d, its frames through a Conv2d."""

    def __init__(self):
        super().__init__()
        self.clip = nn.Conv3d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm3d(8)
        self.drop = nn.Dropout(0.5)
        self.frames = nn.Conv2d(8, 8, 3, padding=1)

    def forward(self, x):
        x = self.drop(self.norm(self.clip(x)))
        batch, channels, time, height, width = x.shape
        return self.frames(x.transpose(1, 2).reshape(batch * time, channels, height, width))


def test_the_common_way_raises_on_it():
    with pytest.raises(RuntimeError, match="rank 4"):
        Mixed().to(memory_format=torch.channels_last)


def test_without_an_example_each_layer_gets_its_format():
    model = Mixed()
    wanted = copy.deepcopy(model)
    report = channels_last(model)
    assert report.kept
    assert in_format(model.clip)
    assert in_format(model.frames)
    assert str(report) == "channels last is kept: not measured: there was no example"
    for one, other in zip(model.parameters(), wanted.parameters(), strict=True):
        assert torch.equal(one, other)
    assert channels_last(model).reason == "the convolutions have it already"


@pytest.mark.parametrize("kept", [True, False])
def test_the_faster_one_stays(kept, monkeypatch):
    """The clock is the test's: one of the formats takes twice as long."""
    module = sys.modules["premortem.parts.channels_last"]
    model = Mixed()
    slow = {True: 1.0, False: 2.0} if kept else {True: 2.0, False: 1.0}
    monkeypatch.setattr(module._Step, "seconds", lambda step: slow[in_format(model.clip)])
    report = channels_last(model, torch.rand(2, 3, 4, 8, 8), rounds=3)
    assert report.kept is kept
    assert report.ratio == (0.5 if kept else 2.0)
    assert (in_format(model.clip), in_format(model.frames)) == (kept, kept)
    assert (report.convolutions, report.followed) == (2, 2)
    assert report.difference < 1e-5
    assert ("channels last is kept" if kept else "the model stays as it was") in str(report)


def test_it_measures_for_real_and_leaves_everything_else_as_it_was():
    model = Mixed()
    model.norm.eval()
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.rand(2, 3, 4, 8, 8)).sum().backward()
    optimizer.step()
    before = copy.deepcopy(model.state_dict())
    gradients = [weight.grad.clone() for weight in model.parameters()]
    held = list(map(id, model.parameters()))
    state = torch.get_rng_state()
    report = channels_last(
        model, (torch.rand(2, 3, 4, 8, 8, generator=torch.Generator().manual_seed(1)),), rounds=3
    )
    assert report.before > 0
    assert report.after > 0
    assert report.kept == (report.ratio < 0.97)
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(map(torch.equal, gradients, (weight.grad for weight in model.parameters())))
    assert held == list(map(id, model.parameters()))
    assert (model.training, model.norm.training) == (True, False)
    assert all(not module._forward_hooks for module in model.modules())
    optimizer.step()


class Scrambled(nn.Module):
    """Reads the memory of its activations and not their order: another format gives another result."""

    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        out = self.net(x)
        return out.as_strided((out.numel(),), (1,)) * torch.arange(out.numel())


def test_numbers_that_change_are_not_accepted():
    model = Scrambled()
    report = channels_last(model, torch.rand(2, 3, 8, 8))
    assert not report.kept
    assert "which is more than rounding" in str(report)
    assert not in_format(model.net)


def test_activations_that_do_not_follow_are_counted():
    class Back(nn.Conv2d):
        def forward(self, x):
            return super().forward(x).contiguous()

    report = channels_last(nn.Sequential(nn.Conv2d(3, 4, 3), Back(4, 4, 3)), torch.rand(2, 3, 8, 8), rounds=1)
    assert (report.followed, report.convolutions) == (1, 2)


def test_a_model_without_convolutions_is_said():
    report = channels_last(nn.Linear(2, 2), torch.rand(1, 2))
    assert str(report) == "the model stays as it was: the model has no two- or three-dimensional convolutions"
