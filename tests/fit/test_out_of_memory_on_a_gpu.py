"""The real thing: a device whose memory is limited until a batch does not fit any more."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import BatchSplit, OutOfMemory, RunEnded, StepRefused
from tests.fit.watched import Run

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
MIB = 1 << 20


class Net(nn.Module):
    def __init__(self, width=1024, depth=12):
        super().__init__()
        self.inp = nn.Linear(64, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(depth)
        )
        self.out = nn.Linear(width, 10)

    def forward(self, x):
        x = self.inp(x)
        for block in self.blocks:
            x = x + block(x)
        return self.out(x)


@pytest.fixture
def limit():
    """Limits this process to what is held now and so many bytes more."""
    total = torch.cuda.get_device_properties(0).total_memory

    def set_limit(room):
        torch.cuda.empty_cache()
        torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + room) / total)

    yield set_limit
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()


@pytest.fixture
def watched():
    """A run, closed also when the test fails: else the next test would run inside of it."""
    runs = []

    def begin(policy):
        runs.append(Run(policy))
        return runs[-1]

    yield begin
    for run in runs:
        run.watcher.close()
        print([(event.phase, event.unsplit) for event in run.of(OutOfMemory)])


def setting(samples=16384):
    torch.manual_seed(0)
    model = Net().cuda()
    x = torch.randn(samples, 64, device="cuda")
    y = torch.randint(10, (samples,), device="cuda")
    return model, x, y


def needs(model, x, y):
    """Peaks of the forward pass and of the whole step, beyond what is held; and the gradients."""
    model = copy.deepcopy(model)
    F.cross_entropy(model(x[:2]), y[:2]).backward()  # workspaces
    model.zero_grad()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    loss = F.cross_entropy(model(x), y)
    forward = torch.cuda.max_memory_allocated() - before
    loss.backward()
    whole = torch.cuda.max_memory_allocated() - before
    gradients = [p.grad.clone() for p in model.parameters()]
    return forward, whole, gradients


def close(model, wanted):
    for p, other in zip(model.parameters(), wanted, strict=True):
        assert float((p.grad - other).norm()) <= 1e-4 * float(other.norm())


@pytest.mark.parametrize("share", [0.75, 0.4])
def test_a_forward_that_does_not_fit_is_split(limit, watched, share):
    model, x, y = setting()
    forward, _, wanted = needs(model, x, y)
    run = watched("protect")
    model(x[:2])
    limit(int(share * forward))
    F.cross_entropy(model(x), y).backward()
    limit(1 << 34)
    run.watcher.close()
    assert run.faults == []
    (split,) = run.of(BatchSplit)
    assert split.requested is not None
    close(model, wanted)


def test_a_backward_that_does_not_fit_costs_one_step_at_most(limit, watched):
    model, x, y = setting()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    forward, whole, wanted = needs(model, x, y)
    assert whole > forward + 16 * MIB
    run = watched("protect")
    F.cross_entropy(model(x[:2]), y[:2]).backward()
    limit(forward + (whole - forward) // 2)
    for _ in range(3):
        optimizer.zero_grad(set_to_none=False)
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    limit(1 << 34)
    run.watcher.close()
    assert run.faults == []
    assert [event.reason for event in run.of(StepRefused)] in (["memory"], [])
    assert run.of(BatchSplit)
    close(model, wanted)


def test_what_is_said_about_a_real_one(limit, watched):
    model, x, y = setting()
    forward, _, _ = needs(model, x, y)
    run = watched("observe")
    F.cross_entropy(model(x[:256]), y[:256]).backward()
    limit(forward // 2)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        model(x)
    (event,) = run.of(OutOfMemory)
    assert event.phase == "forward"
    assert event.module.startswith("model")  # of the sum, or of a block, whichever comes first
    assert event.requested == 16384 * 1024 * 4
    assert event.allocated <= event.reserved <= event.total
    assert event.kinds["parameters"] >= sum(p.numel() for p in model.parameters()) * 4
    assert event.modules[0][1] >= event.requested
    run.watcher.close(RunEnded(reason="crashed", error="OutOfMemoryError"))
    (finding,) = run.watcher.findings
    assert "64 MiB" in finding.message
    assert run.faults == []


def test_an_allocation_that_somebody_copes_with_is_no_news(limit, watched):
    model, x, y = setting(1024)
    run = watched("observe")
    model(x)
    limit(64 * MIB)
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(1 << 30, device="cuda")  # outside of any model, and caught
    F.cross_entropy(model(x[:64]), y[:64]).backward()
    run.watcher.close(RunEnded())
    assert run.of(OutOfMemory) == []
    assert run.faults == []


def test_speed_ups_are_measured_on_the_device(tmp_path):
    from premortem.fit.speed import SpeedOptions, measure

    script = tmp_path / "train.py"
    script.write_text(
        """
import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
def block(i, o): return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(8, o), nn.SiLU())
model = nn.Sequential(block(3, 64), *[block(64, 64) for _ in range(6)], nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x, y = torch.randn(64, 3, 64, 64, device="cuda"), torch.randint(10, (64,), device="cuda")
for step in range(100000):
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
    )
    report = measure(SpeedOptions(target=str(script), seconds=120.0))
    assert report.problem == ""
    rows = {row.name: row for row in report.rows}
    assert {"autocast", "channels-last", "compile", "fused-optimizer"} <= set(rows)
    assert all(row.agrees for row in rows.values() if not row.error)
    assert rows["autocast"].peak_bytes > 0
    assert report.recommended
