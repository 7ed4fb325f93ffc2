"""What is said when memory runs out: through the real probes, with an error that a layer raises."""

import json
import linecache
import sys

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.detectors.out_of_memory import Growth
from premortem.events import OutOfMemory, RunEnded
from premortem.findings import Severity
from premortem.run.watcher import Watcher
from tests import starting

MIB = 1 << 20


class Bursting(nn.Module):
    """Runs out of memory in its n-th call."""

    def __init__(self, calls):
        super().__init__()
        self.fc, self.calls = nn.Linear(6, 3), calls

    def forward(self, x):
        self.calls -= 1
        if not self.calls:
            raise torch.OutOfMemoryError("not read")
        return self.fc(x)


class Net(nn.Module):
    def __init__(self, calls):
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.head = Bursting(calls)

    def forward(self, x):
        return self.head(self.body(x).relu())


class Counters:
    """An allocator that holds `level` bytes and `step` more after every look."""

    def __init__(self, level=100 * MIB, step=0):
        self.level, self.step = level, step

    def ready(self):
        return True

    def allocated(self):
        self.level += self.step
        return self.level

    def reserved(self):
        return self.level + 8 * MIB

    def room(self):
        return 0, 256 * MIB

    def largest_gap(self):
        return 2 * MIB


@pytest.fixture
def watcher():
    torch.manual_seed(0)
    watcher = Watcher("observe")
    watcher.attach()
    faults = []
    watcher._attachment.session._fault = lambda unit, error: faults.append((unit, error))
    yield watcher
    watcher.close()
    assert faults == []


def crash(watcher, train):
    """As `premortem run` does it: the error leaves the script, and the run is over."""
    with pytest.raises(torch.OutOfMemoryError):
        train()
    watcher.close(RunEnded(reason="crashed", error="OutOfMemoryError"))
    (finding,) = [f for f in watcher.findings if f.name == "out-of-memory"]
    return finding


def steps(model, count, each=lambda loss: None):
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(count):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 6)), torch.randint(3, (8,)))
        loss.backward()
        optimizer.step()
        each(loss)


def test_the_place_the_batch_and_what_is_held(watcher):
    model = Net(calls=3)
    finding = crash(watcher, lambda: steps(model, 5))
    assert finding.severity is Severity.ERROR
    assert finding.family == "memory-fit"
    assert finding.message.startswith("memory ran out in the forward pass, with a batch of 8")
    assert finding.where.module == "model.head"
    assert finding.where.file == __file__
    assert linecache.getline(__file__, finding.where.line).strip().startswith("raise torch.Out")
    kinds = finding.evidence["by_kind"]
    size = sum(p.numel() for p in model.parameters()) * 4
    assert kinds["parameters"] == size
    assert kinds["optimizer state"] >= 2 * size


def test_a_list_of_losses_is_named_with_its_line(watcher):
    def train():
        model, history = Net(calls=14), []
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 6)).square().mean()
            loss.backward()
            optimizer.step()
            history.append(loss)

    finding = crash(watcher, train)
    assert finding.family == "memory-leak"
    assert "`history` holds the graphs of 13 past results" in finding.cause
    assert "loss.item()" in finding.remedy
    assert linecache.getline(__file__, finding.where.line).strip() == "history.append(loss)"


def test_a_sum_that_carries_its_graph_is_named(watcher):
    def train():
        model, total = Net(calls=14), 0.0
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            loss = model(torch.randn(8, 6)).square().mean()
            loss.backward()
            optimizer.step()
            total += loss

    finding = crash(watcher, train)
    assert finding.family == "memory-leak"
    assert "`total`" in finding.cause
    assert linecache.getline(__file__, finding.where.line).strip() == "total += loss"


def test_what_the_step_itself_has_made_is_no_leak(watcher):
    """A list of features and a chain of sums are what deep models are made of."""

    class Deep(nn.Module):
        def __init__(self, calls):
            super().__init__()
            self.blocks = nn.ModuleList(nn.Linear(6, 6) for _ in range(16))
            self.head = Bursting(calls)

        def forward(self, x):
            features = []
            for block in self.blocks:
                x = x + block(x)
                features.append(x)
            return self.head(x)

    finding = crash(watcher, lambda: steps(Deep(calls=14), 20))
    assert finding.family == "memory-fit"
    assert "kept" not in finding.evidence


def test_growth_from_step_to_step_is_a_leak_whoever_keeps_it(watcher):
    watcher._attachment.memory.meter = Counters(step=MIB)
    finding = crash(watcher, lambda: steps(Net(calls=80), 90))
    assert finding.family == "memory-leak"
    assert "grew by" in finding.cause


def test_a_steady_level_is_no_leak(watcher):
    watcher._attachment.memory.meter = Counters()
    finding = crash(watcher, lambda: steps(Net(calls=80), 90))
    assert finding.family == "memory-fit"
    assert "grew" not in finding.cause
    assert "smaller batches" in finding.remedy


def test_an_allocation_that_had_room_but_not_in_one_piece(watcher):
    memory = watcher._attachment.memory
    memory.meter = Counters()
    model = Net(calls=3)
    fails = model.head.forward

    def forward(x):
        if model.head.calls == 1:
            memory.allocation_failed(6 * MIB, 256 * MIB, 0)
        return fails(x)

    model.head.forward = forward
    finding = crash(watcher, lambda: steps(model, 5))
    assert "6 MiB" in finding.message
    assert finding.evidence["fragmented"] is True
    assert "in pieces, the largest 2 MiB" in finding.cause
    assert "expandable_segments" in finding.remedy


def test_an_allocation_that_failed_without_an_error_is_no_news(watcher):
    """cuDNN tries a large workspace and does with a smaller one."""
    memory = watcher._attachment.memory
    memory.meter = Counters()
    steps(Net(calls=-1), 2, each=lambda loss: memory.allocation_failed(MIB, MIB, 0))
    watcher.close(RunEnded())
    assert [f.name for f in watcher.findings if f.family.startswith("memory")] == []


def test_a_script_that_copes_is_only_told(watcher):
    model = Net(calls=3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(6):
        optimizer.zero_grad()
        try:
            loss = model(torch.randn(8, 6)).square().mean()
        except torch.OutOfMemoryError:
            continue
        loss.backward()
        optimizer.step()
    watcher.close(RunEnded())
    (finding,) = [f for f in watcher.findings if f.name == "out-of-memory"]
    assert finding.severity is Severity.INFO


def test_out_of_memory_outside_the_model_is_told_at_the_end(watcher):
    heard = []
    real = watcher.emit
    watcher._attachment.session._emit = lambda event: (heard.append(event), real(event))

    def train():
        steps(Net(calls=-1), 3)
        raise torch.OutOfMemoryError("not read")

    finding = crash(watcher, train)
    assert "outside the model" in finding.message
    assert [event.phase for event in heard if isinstance(event, OutOfMemory)] == [""]


def test_out_of_memory_in_the_step(watcher):
    class Hungry(torch.optim.SGD):
        def step(self, closure=None):
            raise torch.OutOfMemoryError("not read")

    def train():
        model = Net(calls=-1)
        optimizer = Hungry(model.parameters(), lr=0.1)
        model(torch.randn(8, 6)).sum().backward()
        optimizer.step()

    finding = crash(watcher, train)
    assert "in the optimizer's step" in finding.message
    assert "fused=True" in finding.remedy


@pytest.mark.parametrize(
    ("levels", "leaks"),
    [
        ([100] * 20, False),
        ([100 + 2 * n for n in range(20)], True),
        ([100 + n % 5 * 10 for n in range(20)], False),
        ([100, 200, *([300] * 18)], False),  # the optimizer's state comes with the first step
        ([100] * 10 + [200] * 10, False),  # one jump: another phase, no leak
        ([100, 110, 120], False),
    ],
)
def test_growth(levels, leaks):
    assert Growth(tuple(enumerate(levels))).leaks is leaks


SCRIPT = """
import torch
from torch import nn

class Layer(nn.Linear):
    def forward(self, x):
        if torch.is_grad_enabled() and len(x) > ROOM:
            raise torch.OutOfMemoryError
        return super().forward(x)

torch.manual_seed(0)
model = nn.Sequential(Layer(6, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(32, 6)
    optimizer.zero_grad()
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    loss.backward()
    optimizer.step()
print(f"done {loss.item():.4f}")
"""


def supervised(tmp_path, room, policy):
    script, findings = tmp_path / "train.py", tmp_path / "findings.json"
    script.write_text(SCRIPT.replace("ROOM", str(room)))
    command = [sys.executable, "-m", "premortem", "run", "--findings", str(findings), "--policy", policy]
    done = starting.run([*command, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    return done, json.loads(findings.read_text())["findings"]


def test_a_run_that_would_have_died_goes_on_and_learns_the_same(tmp_path):
    saved, (finding,) = supervised(tmp_path, 10, "protect")
    assert saved.returncode == 0
    assert (finding["code"], finding["severity"]) == ("PM361", "warning")
    assert finding["evidence"] == {"samples": 32, "parts": 4}
    whole, nothing = supervised(tmp_path, 32, "protect")
    assert nothing == []
    assert saved.stdout == whole.stdout


def test_under_observe_it_dies_and_is_explained(tmp_path):
    done, (finding,) = supervised(tmp_path, 10, "observe")
    assert done.returncode == 1
    assert "OutOfMemoryError" in done.stderr
    assert (finding["code"], finding["severity"], finding["family"]) == ("PM360", "error", "memory-fit")
    assert finding["where"]["module"] == "model.0"
    assert finding["where"]["line"] == 8
