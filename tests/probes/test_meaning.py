"""Which way a loss is meant, and what feeds what, read off its graph."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.probes.graph import walk
from premortem.probes.loss_meaning import crossed, feeds, sense

torch.manual_seed(0)
SCORES, ONE = nn.Linear(5, 3), nn.Linear(5, 1)
X = torch.randn(8, 5)
Y = torch.randint(0, 3, (8,))
REAL = torch.randn(8, 1)
BINARY = torch.randint(0, 2, (8, 1)).float()
ONE_HOT = F.one_hot(Y, 3).float()


def scores():
    return SCORES(X)


def logs():
    return F.log_softmax(scores(), 1)


def one():
    return ONE(X)


def likelihood():
    p = torch.sigmoid(one())
    return (BINARY * torch.log(p + 1e-7) + (1 - BINARY) * torch.log(1 - p + 1e-7)).mean()


@pytest.mark.parametrize(
    "loss",
    [
        lambda: F.cross_entropy(scores(), Y),
        lambda: F.cross_entropy(scores(), Y, label_smoothing=0.1),
        lambda: F.cross_entropy(scores(), ONE_HOT),
        lambda: torch.mean((one() - REAL) ** 2),
        lambda: (REAL - one()).abs().mean() / 4,
        lambda: F.mse_loss(one(), REAL).sqrt(),
        lambda: -logs()[torch.arange(8), Y].mean(),
        lambda: -(ONE_HOT * logs()).sum(1).mean(),
        lambda: F.kl_div(logs(), ONE_HOT * 0.9 + 0.1 / 3, reduction="batchmean"),
        lambda: -likelihood(),
        lambda: -torch.distributions.Normal(one(), 2.0).log_prob(REAL).mean(),
        lambda: torch.stack([F.mse_loss(one(), REAL), F.l1_loss(one(), REAL)]).mean(),
        lambda: F.cross_entropy(scores(), Y) + 1e-3 * sum((w**2).sum() for w in SCORES.parameters()),
    ],
)
def test_a_criterion_is_to_be_made_small_and_its_negative_large(loss):
    assert sense(loss()) == "min"
    assert sense(-loss()) == "max"


@pytest.mark.parametrize(
    "loss",
    [
        lambda: (logs().exp() * logs()).sum(1).mean(),  # an entropy
        lambda: -(logs().gather(1, Y[:, None]) * torch.randn(8, 1)).mean(),  # advantages of both signs
        lambda: torch.mean(logs().gather(1, Y[:, None]) * torch.rand(8, 1)),  # a cost, or a reward
        lambda: (
            F.cross_entropy(scores(), Y) - 0.1 * F.cross_entropy(scores(), Y.flip(0))
        ),  # gradient reversal
        lambda: -one().mean(),  # a critic
        lambda: 1 - F.cosine_similarity(scores(), ONE_HOT).mean(),
        lambda: -((one() - ONE(X + 1)) ** 2).mean(),  # two things that are learned, pushed apart
        lambda: -(one() ** 2).mean(),
    ],
)
def test_what_may_be_meant_either_way_is_left_open(loss):
    assert sense(loss()) == ""


def odd():
    """A term that is not understood."""
    return torch.logsumexp(scores(), 1).mean()


@pytest.mark.parametrize(
    ("loss", "meant"),
    [
        (lambda: F.mse_loss(one(), REAL) + odd(), ""),
        (lambda: -(F.mse_loss(one(), REAL) + odd()), "turned"),
        (lambda: -1.0 * (odd() + F.mse_loss(one(), REAL)) / 4, "turned"),
        (lambda: odd() - F.mse_loss(one(), REAL), ""),  # against another player, perhaps
        (lambda: -(odd() - F.mse_loss(one(), REAL)), ""),
        (lambda: -(odd() + F.mse_loss(one(), REAL) - F.l1_loss(one(), REAL)), ""),
        (lambda: -(odd() + likelihood()), ""),
    ],
)
def test_a_minus_before_all_of_it_turns_a_criterion_round(loss, meant):
    assert sense(loss()) == meant


def test_a_softmax_that_is_taken_for_scores_is_named():
    assert feeds(walk(F.cross_entropy(scores().softmax(1), Y)).nodes) == (("LogSoftmax", "Softmax"),)
    assert feeds(walk(F.cross_entropy(scores(), Y)).nodes) == ()


@pytest.mark.skipif(
    not hasattr(torch.ones(1, requires_grad=True).exp().grad_fn, "_input_metadata"),
    reason="torch 2.5 says which shapes a node has",
)
@pytest.mark.parametrize(
    ("dim", "wrong"), [(-1, ()), (2, ()), (1, (((8, 4, 5), 1),)), (0, (((8, 4, 5), 0),))]
)
def test_attention_weights_sum_to_one_over_what_is_summed(dim, wrong):
    weights = torch.randn(8, 4, 5, requires_grad=True).softmax(dim)
    assert crossed(walk((F.dropout(weights, 0.1) @ torch.randn(8, 5, 3)).sum()).nodes) == wrong
