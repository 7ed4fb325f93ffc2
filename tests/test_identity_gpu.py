"""A healthy run on a GPU is bit-identical with and without premortem, in every gear. Run by hand: `pytest -m gpu`."""

import copy
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import nn, optim

from tests.heard import hearing
from tests.test_guard import same

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
STEPS = 120
RESTS_AFTER = 40  # steps, so that a part of them is audited, a part is told and a part is not

OPTIMIZERS: dict[str, Callable[..., optim.Optimizer]] = {
    "adamw fused": lambda p: optim.AdamW(p, lr=1e-3, fused=True),
    "adamw": lambda p: optim.AdamW(p, lr=1e-3),
    "adam for-loop": lambda p: optim.Adam(p, lr=1e-3, foreach=False),
    "adam capturable": lambda p: optim.Adam(p, lr=1e-3, capturable=True, amsgrad=True),
    "sgd": lambda p: optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True),
    "sgd fused": lambda p: optim.SGD(p, lr=1e-2, momentum=0.9, fused=True),
    "rmsprop": lambda p: optim.RMSprop(p, lr=1e-3),
    "nadam": lambda p: optim.NAdam(p, lr=1e-3),
}


def network(width: int = 64) -> nn.Module:
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 4)).cuda()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(32, 16, device="cuda")
    return x, x[:, :4].argmax(1)


def plainly(make) -> list:
    model = network()
    optimizer = make(model.parameters())
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
    return [model.state_dict(), optimizer.state_dict()]


def accumulating(make) -> list:
    model = network()
    optimizer = make(model.parameters())
    for _ in range(STEPS):
        for _ in range(3):
            x, y = batch()
            (F.cross_entropy(model(x), y) / 3).backward()
        optimizer.step()
        optimizer.zero_grad()
    return [model.state_dict(), optimizer.state_dict()]


def scaled(make) -> list:
    model = network()
    optimizer = make(model.parameters())
    # Some steps are left out, and not the first: momenta of a fused one are what was in memory then.
    scaler = torch.amp.GradScaler("cuda", init_scale=2.0**10, growth_interval=15, growth_factor=2.0**8)
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        with torch.autocast("cuda", torch.float16):
            loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    return [model.state_dict(), optimizer.state_dict(), scaler.state_dict()]


def two_of_them(make) -> list:
    maker, critic = network(), nn.Linear(4, 1).cuda()
    mine, theirs = make(maker.parameters()), make(critic.parameters())
    for _ in range(STEPS):
        x, _ = batch()
        theirs.zero_grad()
        (critic(maker(x).detach()).mean() - critic(x[:, :4]).mean()).backward()
        theirs.step()
        with torch.no_grad():
            for parameter in critic.parameters():
                parameter.clamp_(-0.1, 0.1)
        mine.zero_grad()
        (-critic(maker(x)).mean()).backward()
        mine.step()
    return [maker.state_dict(), critic.state_dict(), mine.state_dict(), theirs.state_dict()]


def written_by_hand(make) -> list:
    """Weights that are perturbed between two passes, decayed before a step and averaged after it."""
    model = network()
    average = copy.deepcopy(model)
    optimizer = make(model.parameters())
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        moved = [0.01 * p.grad.sign() for p in model.parameters()]
        for parameter, by in zip(model.parameters(), moved, strict=True):
            parameter.data.add_(by)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        for parameter, by in zip(model.parameters(), moved, strict=True):
            parameter.data.sub_(by)
            parameter.data.mul_(0.999)
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(average.parameters(), model.parameters(), strict=True):
                old.lerp_(new, 0.1)
    return [model.state_dict(), average.state_dict(), optimizer.state_dict()]


def in_bfloat16(make) -> list:
    model = network().to(torch.bfloat16)
    optimizer = make(model.parameters())
    for _ in range(STEPS):
        x, y = batch()
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(torch.bfloat16)), y).backward()
        optimizer.step()
    return [model.state_dict(), optimizer.state_dict()]


LOOPS = (plainly, accumulating, scaled, two_of_them, written_by_hand, in_bfloat16)


def train(loop, make) -> list:
    torch.manual_seed(0)
    return copy.deepcopy([*loop(make), torch.get_rng_state(), torch.cuda.get_rng_state()])


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_the_same_to_the_last_bit(kind: str, loop) -> None:
    expected = train(loop, OPTIMIZERS[kind])
    with hearing() as (_, watcher):
        watcher._attachment.session.rest.after = RESTS_AFTER
        found = train(loop, OPTIMIZERS[kind])
    assert same(found, expected)
    assert [finding.name for finding in watcher.findings] == []
