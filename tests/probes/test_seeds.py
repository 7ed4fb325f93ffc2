"""Whether a seeding takes the training back to numbers that it has drawn before."""

import pytest
import torch
from torch import nn

from premortem.events import Seeded
from tests.heard import hearing


def seedings(epoch, epochs=5):
    net = nn.Linear(4, 1)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    own = torch.Generator().manual_seed(3)

    def step(noise):
        opt.zero_grad()
        net(noise).square().mean().backward()
        opt.step()

    with hearing() as (heard, _):
        for _ in range(epochs):
            epoch(step, own)
    return [(e.rewound, e.trained) for e in heard if isinstance(e, Seeded)]


def trains_on_the_global_generator(step, own):
    for _ in range(40):
        step(torch.randn(8, 4))
    torch.randn(3, generator=torch.manual_seed(0))


def trains_on_its_own(step, own):
    for _ in range(40):
        step(torch.randn(8, 4, generator=own))
    torch.randn(3, generator=torch.manual_seed(0))


def seeds_and_puts_back(step, own):
    for _ in range(40):
        step(torch.randn(8, 4))
    with torch.random.fork_rng():
        torch.manual_seed(0)
        torch.randn(3)


@pytest.mark.parametrize(
    ("epoch", "again"),
    [
        (trains_on_the_global_generator, [(False, False)] * 2 + [(True, True)] * 3),
        (trains_on_its_own, [(False, False)] + [(False, False)] + [(True, False)] * 3),
    ],
)
def test_what_the_training_draws_after_a_seeding(epoch, again):
    assert seedings(epoch) == again


def test_a_seed_that_is_put_back_takes_nothing_back():
    assert not any(trained for _, trained in seedings(seeds_and_puts_back))
