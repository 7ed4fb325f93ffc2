"""Pictures as a model is given them: how alike neighbours are in their layout, and in the other one."""

import pytest
import torch
from torch import nn

from premortem.events import LayoutRead
from premortem.probes.picture_layout import torn
from tests.heard import hearing


def pictures() -> torch.Tensor:
    """Smooth in height and width, with a level of its own in each channel: (number, height, width, channels)."""
    torch.manual_seed(0)
    levels = torch.tensor([-2.0, 0.0, 2.0])
    waves = torch.linspace(0, 6, 24).sin()
    phase = torch.rand(16, 1, 1, 1) * 3
    smooth = (waves[:, None, None] + phase) * (waves[None, :, None] + phase) + levels
    return smooth + 0.3 * torch.randn(16, 24, 24, 3)


def test_the_layout_in_which_neighbours_are_alike():
    lying = pictures()
    found = torn(lying.reshape(16, 3, 24, 24))
    assert max(found.across, found.down) < 0.85
    assert 0.7 < found.seams < 1.4
    found = torn(lying.permute(0, 3, 1, 2))
    assert min(found.across, found.down) > 1
    assert all(abs(each - 1) < 0.1 for each in torn(torch.randn(16, 3, 24, 24)))


@pytest.mark.parametrize(
    "input_of",
    [
        lambda n: torch.zeros(n, 3, 24, 24),
        lambda n: torch.randn(n, 1, 24, 24),
        lambda n: torch.randn(n, 3, 4, 4),
        lambda n: torch.randn(n, 3, 24),
    ],
)
def test_what_says_nothing(input_of):
    assert torn(input_of(16)) is None


def test_gray_pictures_and_edges_are_as_they_should_be():
    gray = pictures().mean(3, keepdim=True).expand(-1, -1, -1, 3).permute(0, 3, 1, 2)
    assert torn(gray)[0] > 1
    stripes = (torch.arange(24) % 3 == 0).float().expand(16, 3, 24, 24).contiguous()
    found = torn(stripes + 0.01 * torch.randn(16, 3, 24, 24))
    assert not (found[0] < 0.85 and found[1] < 0.85)


def board(tile: int, channels: int) -> torch.Tensor:
    """A map of tiles with lines between them, and something in one of them."""
    side = 8 * tile
    found = torch.zeros(16, channels, side, side)
    found[:, :, ::tile] = found[..., ::tile] = 0.5
    for each, (row, column) in zip(found, torch.randint(0, 8, (16, 2)).tolist(), strict=True):
        each[0, row * tile + 1 : (row + 1) * tile, column * tile + 1 : (column + 1) * tile] = 1
    return found


def mosaic(period: int, channels: int) -> torch.Tensor:
    smooth = pictures().mean(3)[:, None].expand(-1, channels, -1, -1)
    return smooth + 4 * torch.rand(period, period).repeat(24 // period, 24 // period)


@pytest.mark.parametrize("of", [board(3, 3), board(4, 4), mosaic(2, 4), mosaic(3, 3), mosaic(4, 4)])
def test_a_texture_with_as_many_pixels_as_there_are_channels(of):
    found = torn(of)
    assert not 0 < found.across < min(0.85, 1 / found.seams**2)


def test_a_model_without_filters_has_no_neighbours():
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 24 * 24, 1))
    with hearing() as (heard, _):
        for _ in range(2):
            net(pictures().reshape(16, 3, 24, 24)).square().mean().backward()
    assert not [event for event in heard if isinstance(event, LayoutRead)]


def test_it_is_heard_of_what_a_model_is_given():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 22 * 22, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
    data = pictures().reshape(16, 3, 24, 24)
    with hearing() as (heard, _):
        for _ in range(6):
            optimizer.zero_grad()
            net(data).square().mean().backward()
            optimizer.step()
    events = [event for event in heard if isinstance(event, LayoutRead)]
    assert len(events) == 4
    assert all(event.across < 0.85 for event in events)
