"""What a script is seen to do, each fact in a training that has it and one that has not."""

from contextlib import nullcontext

import pytest
import torch
from torch import nn
from torch.nn import functional

from premortem.changes.reach import Reach
from premortem.why.facts import Facts
from premortem.why.generated import Generated, distance


def told(
    *,
    weights=1.0,
    scores=1.0,
    sigmoid=False,
    epsilon=1e-8,
    rises=False,
    bounded=False,
    clips=False,
    falls=False,
    closure=False,
    prepared=False,
):
    torch.manual_seed(0)
    reach = Reach()
    facts = Facts(reach, nullcontext)
    try:
        facts.install()
        model = nn.Sequential(nn.Linear(6, 16), nn.Sigmoid() if sigmoid else nn.ReLU(), nn.Linear(16, 3))
        for parameter in model.parameters():
            parameter.data.mul_(weights)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=epsilon)
        if prepared:  # as accelerate does: the groups are other dicts afterwards
            optimizer.load_state_dict(optimizer.state_dict())

        def turn():
            out = model(torch.randn(8, 6))
            loss = functional.cross_entropy(out * scores, torch.arange(8) % 3)
            if bounded:
                loss = loss + functional.mse_loss(out.tanh(), torch.zeros_like(out))
            optimizer.zero_grad()
            facts.heard(loss)
            loss.backward()
            if clips:
                nn.utils.clip_grad_norm_(model.parameters(), 0.1)
            return loss

        for step in range(5):
            optimizer.param_groups[0]["lr"] = 1e-3 * (step + 1 if rises else 0.5**step if falls else 1)
            if closure:
                optimizer.step(turn)
            else:
                turn()
                optimizer.step()
        return facts.told()
    finally:
        reach.end()


@pytest.mark.parametrize(
    ("fact", "how"),
    [
        ("own_weights", {"weights": 5.0}),
        ("own_weights", {"weights": 0.1}),
        ("odd_scores", {"scores": 100.0}),
        ("odd_scores", {"scores": 1e-3}),
        ("sigmoid_layers", {"sigmoid": True}),
        ("odd_settings", {"epsilon": 0.1}),
        ("warming", {"rises": True}),
        ("bounded", {"bounded": True}),
        ("clips", {"clips": True}),
        ("clips", {"clips": True, "closure": True}),
        ("odd_scores", {"scores": 100.0, "closure": True}),
        ("schedules", {"falls": True}),
        ("schedules", {"falls": True, "prepared": True}),
    ],
)
def test_a_fact_is_seen_where_it_is_and_only_there(fact, how):
    assert told(**how).get(fact)
    assert not told(**{name: how[name] for name in ("closure", "prepared") if name in how}).get(fact)


def test_a_closure_that_a_step_is_given_leaves_no_gradients_behind():
    known = told(closure=True)
    assert not known.get("stale_gradients")
    assert not known.get("cleared_before_step")


def test_what_is_generated_is_compared_with_what_is_real():
    torch.manual_seed(0)
    reach, generated = Reach(), Generated(nullcontext)
    try:
        generated.install(reach)
        generator, critic = nn.Linear(4, 6), nn.Linear(6, 1)
        for _ in range(3):
            critic(torch.randn(32, 6))
            critic(generator(torch.randn(32, 4)).detach())
        assert len(generated.distances) == 3
        critic(torch.randn(32, 6))
        assert len(generated.distances) == 3, "two real batches are no pair"
    finally:
        reach.end()
    same, other = torch.randn(64, 6), torch.randn(64, 6)
    assert distance(same, other) < 0.05 < distance(same, other + 3.0)
