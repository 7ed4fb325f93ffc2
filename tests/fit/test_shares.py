"""Masks whose values are not known, but where they come from is."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from premortem.fit import gpus
from premortem.fit.fakes import Fakes
from premortem.fit.pretend import pretending
from premortem.fit.session import rehearse
from premortem.fit.shares import spread

TOKENS, EXPERTS, WIDTH = 4096, 8, 32


def scores():
    return torch.randn(TOKENS, EXPERTS, device="cuda")


def by_equality():
    chosen = scores().topk(2, dim=-1).indices
    return (chosen == 3).nonzero(as_tuple=True)[0]


def by_one_hot():
    mask = F.one_hot(scores().topk(2, dim=-1)[1], EXPERTS).permute(2, 1, 0)
    return torch.where(mask[3])[1]


def by_argmax_and_counts():
    best = scores().argmax(-1)
    assert (best == 3).any()
    assert torch.bincount(best, minlength=EXPERTS).tolist() == [TOKENS // EXPERTS] * EXPERTS
    assert best.unique().tolist() == list(range(EXPERTS))
    return scores()[(best == 3) | (best == 4)]


def by_scatter():
    mask = torch.zeros(TOKENS, EXPERTS, device="cuda").scatter_(1, scores().topk(2, dim=-1)[1], 1.0)
    return scores()[mask[:, 3] > 0]


def by_any():
    return scores()[(scores().topk(2, dim=-1)[1] == 3).any(-1)]


def by_chance():
    return scores()[torch.rand(TOKENS, device="cuda") < 0.25]


def by_the_opposite():
    return scores()[~(torch.rand(TOKENS, device="cuda") > 0.25)]


def after_being_sampled():
    drawn = torch.multinomial(scores().softmax(-1), 2)
    return scores()[(drawn.flatten()[:TOKENS] == 1).logical_or(drawn[:, 0] == 2)]


EVEN = [
    by_equality,
    by_one_hot,
    by_argmax_and_counts,
    by_scatter,
    by_any,
    by_chance,
    by_the_opposite,
    after_being_sampled,
]


@pytest.fixture
def fakes():
    made = Fakes(gpus.by_name("h100"))
    with pretending(made), made:
        yield made


def selected(make, fakes):
    from premortem.fit.decisions import Paths

    paths = Paths(fakes.on_card, fakes.kernels)
    paths.install()
    try:
        return len(make())
    finally:
        paths.remove()


@pytest.mark.parametrize("make", EVEN, ids=[make.__name__ for make in EVEN])
def test_a_quarter_of_the_tokens_is_selected(make, fakes):
    assert selected(make, fakes) == TOKENS // 4
    assert any("an even share" in sentence for sentence in fakes.values.assumed)


def test_what_was_written_later_ends_what_was_known(fakes):
    mask = torch.zeros(2, 1 << 20, dtype=torch.bool, device="cuda")
    mask[:, : 1 << 19] = torch.randn(2, 1, device="cuda") > 0
    assert len(mask.nonzero()) == mask.numel()
    assert any("select all" in sentence for sentence in fakes.values.assumed)


def test_a_comparison_of_learned_numbers_is_not_guessed(fakes):
    x = torch.randn(TOKENS, device="cuda")
    assert len(x[x > 0.5]) == TOKENS


def test_labels_in_their_range_do_not_stop_the_script(fakes):
    labels = torch.randint(0, 1000, (1 << 21,), device="cuda")
    assert not (labels >= 1000).any()
    assert not (labels < 0).any()


def test_counts_are_whole_and_lose_nothing():
    assert spread(10, 4) == [3, 3, 2, 2]


def test_experts_with_two_of_eight_need_a_quarter_of_all():
    """Each token goes through two experts, and no more is kept for the backward pass."""
    from premortem.fit.prediction import predict

    def step():
        router = nn.Linear(WIDTH, EXPERTS).cuda()
        experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(EXPERTS)).cuda()
        optimizer = torch.optim.SGD([*router.parameters(), *experts.parameters()], lr=0.1)
        x = torch.randn(TOKENS, WIDTH, device="cuda")
        while True:
            weight, chosen = router(x).softmax(-1).topk(2, dim=-1)
            total = 0.0
            for n, expert in enumerate(experts):
                token, place = (chosen == n).nonzero(as_tuple=True)
                total = total + (expert(x[token]).exp() * weight[token, place, None]).sum()
            optimizer.zero_grad()
            total.backward()
            optimizer.step()

    found = predict(rehearse(step, gpus.by_name("h100")))
    kept = sum(group["bytes"] for group in found.groups if group["op"] == "exp")
    assert kept == 2 * TOKENS * WIDTH * 4
