"""A loss that is divided for accumulation is shown as the mean that the script means; clipping keeps the norm before it."""

import pytest
import torch
from torch import nn

from premortem.events import Clip, StepStats
from premortem.probes import Attachment


def steps(passes, divided, epochs=3, last=None):
    """The numbers of a loop in which each step sums up so many backward passes, and the losses that it computed."""
    heard = []
    attachment = Attachment(heard.append, lambda _unit, error: pytest.fail(repr(error)))
    try:
        torch.manual_seed(0)
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        made = []
        for number in range(epochs):
            own = []
            for _ in range(last if last is not None and number == epochs - 1 else passes):
                loss = (model(torch.randn(8, 4)) - 1).square().mean()
                own.append(loss.item())
                (loss / passes if divided else loss).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01)
            optimizer.step()
            optimizer.zero_grad()
            made.append(own)
        attachment.drain()
    finally:
        attachment.detach()
    return heard, made


def shown(heard):
    return [event.loss for event in heard if isinstance(event, StepStats)]


@pytest.mark.parametrize("last", [4, 1])
def test_the_mean_of_the_parts_also_where_the_last_window_is_short(last):
    heard, made = steps(4, divided=True, last=last)
    assert shown(heard) == pytest.approx([sum(own) / len(own) for own in made], rel=1e-5)
    assert {event.share for event in heard if isinstance(event, StepStats)} == {0.25}


def test_other_losses_are_shown_as_they_are():
    heard, made = steps(1, divided=False)
    assert shown(heard) == pytest.approx([own[-1] for own in made])
    heard, made = steps(2, divided=False)
    assert shown(heard) == pytest.approx([own[-1] for own in made])


def test_the_norm_before_clipping_is_not_the_one_of_the_step():
    heard, _ = steps(4, divided=True)
    clips = [event for event in heard if isinstance(event, Clip)]
    after = [event.grad_norm for event in heard if isinstance(event, StepStats)]
    assert all(clip.norm > 10 * clip.limit for clip in clips)
    assert after == pytest.approx([0.01] * 3, rel=1e-3)
