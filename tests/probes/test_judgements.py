"""The slope of a loss in a model's verdicts: which way it points, and that the step is the same to the last bit."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as entropy

from premortem.events import GraphWalked, Pull
from tests.heard import hearing


def game(sign: float = 1.0, *, hooked: bool = False) -> tuple[list[GraphWalked], torch.Tensor]:
    with hearing() as (heard, _watcher):
        maker, judge = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
        players = [torch.optim.Adam(player.parameters()) for player in (maker, judge)]
        ones, zeros, seen = torch.ones(4, 1), torch.zeros(4, 1), []
        for _ in range(2):
            made = maker(torch.randn(4, 3))
            if hooked:
                made.register_hook(seen.append)
            judge_loss = entropy(judge(torch.randn(4, 2)), ones) + entropy(judge(made.detach()), zeros)
            for player, loss in zip(players, (sign * entropy(judge(made), ones), judge_loss), strict=True):
                player.zero_grad()
                loss.backward()
                player.step()
    assert len(seen) == (2 if hooked else 0)
    walks = [event for event in heard if isinstance(event, GraphWalked)]
    return walks, torch.cat([p.flatten() for player in (maker, judge) for p in player.parameters()])


def ways(pulls: tuple[Pull, ...]) -> dict[bool, int]:
    """Of what was made, and of what was not."""
    return {bool(pull.maker): 1 if pull.slope > 0 else -1 for pull in pulls}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_each_loss_says_which_way_it_pulls_the_verdicts(sign):
    walks, _ = game(sign)
    makers, judges = walks[0].pulls, walks[1].pulls
    assert ways(makers) == {True: -sign}
    assert ways(judges) == {True: 1, False: -1}
    assert all(abs(pull.slope) == pytest.approx(pull.size) for pull in makers + judges)


def test_a_script_that_hooks_tensors_is_left_alone():
    walks, _ = game(hooked=True)
    assert not any(walk.pulls for walk in walks)


def test_the_weights_are_the_same_to_the_last_bit(monkeypatch):
    _, watched = game()
    monkeypatch.setattr("premortem.probes.judgements.Judgements.pulls", lambda *_args: ())
    _, bare = game()
    assert torch.equal(watched, bare)
