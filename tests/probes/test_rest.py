"""The third gear: what a calm run is still told, and what ends its rest."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import Backward, Forward, LossCall, OptimizerStep, SchedulerStep, StepRefused, ZeroGrad
from premortem.probes import rest
from premortem.run.watcher import Watcher
from tests.twins.grade import entries, grade


@pytest.fixture
def calm(monkeypatch):
    """Rest begins after a dozen steps instead of a thousand."""
    monkeypatch.setattr(rest, "AFTER", 12)
    monkeypatch.setattr(rest, "ALIKE", 2)


class Run:
    """A watched loop, and everything that was told of it."""

    def __init__(self, policy="protect"):
        torch.manual_seed(0)
        self.model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.events = []
        self.watcher = Watcher(policy)
        real = self.watcher.emit

        def emit(event):
            self.events.append(event)
            real(event)

        self.watcher.emit = emit

    def __enter__(self):
        self.watcher.attach()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)
        return self

    def __exit__(self, *_):
        self.watcher.close()

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def session(self):
        return self.watcher._attachment.session

    def step(self, x=None):
        x = torch.randn(6, 4) if x is None else x
        self.optimizer.zero_grad()
        loss = F.cross_entropy(self.model(x), torch.randint(0, 3, (6,)))
        loss.backward()
        self.optimizer.step()
        return loss

    def until_rest(self):
        for _ in range(200):
            self.step()
            if self.session.resting:
                return
        pytest.fail("it never rested")


def test_a_calm_run_is_told_in_whole_steps_and_all_are_counted(calm):
    with Run() as run:
        for _ in range(400):
            run.step()
        assert run.session.step == 400
        told = run.of(OptimizerStep)
        assert len(told) < 120
        assert sum(1 + event.rested for event in told) == told[-1].step
        for kind in (Forward, LossCall, Backward):
            assert len(run.of(kind)) == len(told)
        assert all((e.backwards, e.pending, e.cleared, e.reused) == (1, 1, True, False) for e in told)
    assert run.watcher.findings == []


def test_rest_waits_for_a_thousand_steps():
    with Run() as run:
        for _ in range(990):
            run.step()
        assert len(run.of(OptimizerStep)) == 990


def test_an_evaluation_is_told_from_its_first_batch(calm):
    with Run() as run:
        run.until_rest()
        before = len(run.of(Forward))
        cleared = len(run.of(ZeroGrad))
        run.optimizer.zero_grad()
        run.model.eval()
        with torch.no_grad():
            for _ in range(5):
                run.model(torch.randn(6, 4))
        seen = run.of(Forward)[before:]
        assert [(event.training, event.grad) for event in seen] == [(False, False)] * 5
        # The clearing before it is told too, or the next step would seem to add to old gradients.
        assert len(run.of(ZeroGrad)) == cleared + 1
        run.model.train()
        run.step()
        assert run.of(OptimizerStep)[-1].step == run.session.step


def test_a_loop_that_changes_is_attended_from_the_next_step_on(calm):
    with Run() as run:
        run.until_rest()
        x = torch.randn(6, 4)
        run.optimizer.zero_grad()
        F.cross_entropy(run.model(x), torch.randint(0, 3, (6,))).backward()
        F.cross_entropy(run.model(x), torch.randint(0, 3, (6,))).backward()  # a second one, as never before
        run.optimizer.step()
        assert not run.session.resting
        told = len(run.of(OptimizerStep))
        run.step()
        assert len(run.of(OptimizerStep)) == told + 1


def test_a_step_that_is_not_finite_is_refused_while_resting_and_ends_the_rest(calm):
    with Run() as run:
        run.until_rest()
        weights = copy.deepcopy(run.model.state_dict())
        run.step(torch.full((6, 4), torch.nan))
        assert all(torch.equal(value, weights[name]) for name, value in run.model.state_dict().items())
        assert [event.step for event in run.of(StepRefused)] == [run.session.step]
        assert not run.session.resting
    assert any(finding.family.startswith("numerics") for finding in run.watcher.findings)


@pytest.mark.parametrize("policy", ["protect", "observe"])
def test_the_weights_of_a_rested_run_keep_every_bit(calm, policy):
    with Run(policy) as watched:
        for _ in range(120):
            watched.step()
    alone = Run(policy)
    alone.optimizer = torch.optim.SGD(alone.model.parameters(), lr=0.05)
    for _ in range(120):
        alone.step()
    assert all(
        torch.equal(a, b) for a, b in zip(watched.model.parameters(), alone.model.parameters(), strict=True)
    )


def test_a_scheduler_in_each_step_is_counted_while_resting(calm):
    with Run() as run:
        schedule = torch.optim.lr_scheduler.LambdaLR(run.optimizer, lambda step: 1 / (1 + step))
        for _ in range(200):
            run.step()
            schedule.step()
        told = run.of(SchedulerStep)
        assert len(told) < 100
        assert all(event.count == event.optimizer_steps for event in told)
        assert all(event.since_step == 1 for event in told)
    assert run.watcher.findings == []


def test_accumulation_and_two_optimizers_are_not_rested(calm):
    with Run() as run:
        other = torch.optim.SGD(run.model[2].parameters(), lr=0.01)
        for _ in range(60):
            run.step()
            other.step()
        assert sum(event.rested for event in run.of(OptimizerStep)) == 0
    with Run() as run:
        for _ in range(60):
            run.optimizer.zero_grad()
            for _ in range(2):
                (F.cross_entropy(run.model(torch.randn(6, 4)), torch.randint(0, 3, (6,))) / 2).backward()
            run.optimizer.step()
        assert sum(event.rested for event in run.of(OptimizerStep)) == 0


HEALTHY = [
    pytest.param(entry, id=entry["file"], marks=[pytest.mark.exhaustive] * (number % 32 != 0))
    for number, entry in enumerate(entry for entry in entries() if entry["set"] != "buggy")
    if number % 8 == 0
]


@pytest.mark.parametrize("entry", HEALTHY)
def test_a_healthy_script_that_is_rested_early_hears_nothing(calm, entry):
    assert grade(entry).loud == []
