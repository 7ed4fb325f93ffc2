"""On an accelerator: clipping does not wait for it, and the guard gives the bits of plain addition there, too."""

import pytest
import torch
from torch.nn import functional as F

from premortem.parts import MSSSIM, AdaptiveClip, Charbonnier, ClipRecord, GuardedLoss, safe_clip

pytestmark = [
    pytest.mark.filterwarnings("ignore:Synchronization debug mode"),  # torch says so at the first use
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an accelerator"),
]


@pytest.fixture
def net():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 4)).cuda()


@pytest.fixture
def no_waiting():
    torch.cuda.set_sync_debug_mode("error")
    yield
    torch.cuda.set_sync_debug_mode("default")


def test_clipping_does_not_wait(net, no_waiting):
    record, adaptive = ClipRecord(), AdaptiveClip(warmup=2)
    inputs = torch.zeros(8, 16, device="cuda")
    for _ in range(5):
        net(inputs).sum().backward()
        safe_clip(net.parameters(), 1.0, record=record)
        adaptive(net.parameters())
    torch.cuda.set_sync_debug_mode("default")
    assert record.steps == adaptive.record.steps == 5


def test_the_bits_of_plain_addition(net):
    guarded = GuardedLoss({"a": Charbonnier(), "b": (0.3, F.mse_loss)}, fallbacks={"b": F.l1_loss})
    inputs, target = torch.rand(8, 16, device="cuda"), torch.rand(8, 4, device="cuda")
    gradients = []
    for total in (guarded, lambda p, t: Charbonnier()(p, t) + 0.3 * F.mse_loss(p, t)):
        net.zero_grad()
        total(net(inputs), target).backward()
        gradients.append([p.grad.clone() for p in net.parameters()])
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(*gradients, strict=True))


def test_similarity_in_half_precision():
    target = torch.rand(2, 3, 192, 192, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        prediction = (1 - target).half().requires_grad_()
        value = MSSSIM().loss(prediction, target)
    value.backward()
    assert value.isfinite()
    assert prediction.grad.isfinite().all()
