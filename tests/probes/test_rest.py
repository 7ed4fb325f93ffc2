"""Rest: what a calm run is still told, what is counted meanwhile, and what ends it."""

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from premortem.events import (
    Backward,
    BufferBroken,
    Custody,
    Forward,
    LossCall,
    OptimizerStep,
    SchedulerStep,
    StepRefused,
    ZeroGrad,
)
from premortem.probes import rest, session
from premortem.run.watcher import Watcher
from tests.twins.grade import entries, grade


@pytest.fixture
def calm(monkeypatch):
    """Rest begins after a dozen steps, and its looks do not depend on how fast this machine is."""
    monkeypatch.setattr(rest, "AFTER", 12)
    monkeypatch.setattr(rest, "ALIKE", 2)
    monkeypatch.setattr(rest, "A_SECOND", 0.0)


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
        assert len(told) < 200
        assert sum(1 + event.rested for event in told) == told[-1].step
        for kind in (Forward, LossCall, Backward):
            assert len(run.of(kind)) == len(told)
        assert all((e.backwards, e.pending, e.cleared, e.reused) == (1, 1, True, False) for e in told)
    assert run.watcher.findings == []


def test_the_first_steps_are_told_one_by_one():
    with Run() as run:
        for _ in range(rest.AFTER):
            run.step()
        assert len(run.of(OptimizerStep)) == rest.AFTER


def test_a_long_run_is_told_ever_less(calm, monkeypatch):
    monkeypatch.setattr(rest, "YOUNG", 200)
    with Run() as run:
        for _ in range(3500):
            run.step()
        late = [event for event in run.of(OptimizerStep) if event.step > 300]
        assert 2 <= len(late) < 40


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


def accumulating(run):
    run.optimizer.zero_grad()
    for _ in range(3):
        (F.cross_entropy(run.model(torch.randn(6, 4)), torch.randint(0, 3, (6,))) / 3).backward()
    run.optimizer.step()


def two_optimizers(run):
    if not hasattr(run, "head"):
        run.head = nn.Linear(3, 2)
        run.heads = torch.optim.SGD(run.head.parameters(), lr=0.01)
    run.optimizer.zero_grad()
    run.heads.zero_grad()
    F.cross_entropy(run.head(run.model(torch.randn(6, 4))), torch.randint(0, 2, (6,))).backward()
    run.optimizer.step()
    run.heads.step()


def scaled(run):
    if not hasattr(run, "scaler"):
        run.scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    run.optimizer.zero_grad()
    loss = F.cross_entropy(run.model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
    run.scaler.scale(loss).backward()
    run.scaler.step(run.optimizer)
    run.scaler.update()


def closure(run):
    def make():
        run.optimizer.zero_grad()
        loss = F.cross_entropy(run.model(torch.randn(6, 4)), torch.randint(0, 3, (6,)))
        loss.backward()
        return loss

    run.optimizer.step(make)


def many_forwards(run):
    for _ in range(int(torch.randint(1, 6, ()))):
        with torch.no_grad():
            run.model(torch.randn(1, 4))
    run.step()


def alternating(run):
    """One step of a generator for each two of its judge."""
    if not hasattr(run, "maker"):
        run.maker = nn.Linear(2, 4)
        run.makers = torch.optim.Adam(run.maker.parameters())
    for _ in range(2):
        run.optimizer.zero_grad()
        fake = run.maker(torch.randn(6, 2)).detach()
        F.cross_entropy(
            run.model(torch.cat([torch.randn(6, 4), fake])), torch.tensor([0] * 6 + [1] * 6)
        ).backward()
        run.optimizer.step()
    run.makers.zero_grad()
    F.cross_entropy(run.model(run.maker(torch.randn(6, 2))), torch.zeros(6, dtype=torch.long)).backward()
    run.makers.step()


@pytest.mark.parametrize(
    "turn",
    [accumulating, two_optimizers, scaled, closure, many_forwards, alternating],
    ids=lambda each: each.__name__,
)
def test_every_kind_of_loop_rests_in_whole_cycles(calm, turn):
    with Run() as run:
        for _ in range(120):
            turn(run)
        told = run.of(OptimizerStep)
        assert len(told) < 0.75 * run.session.step
        for track in run.watcher._attachment.optimizers.tracks.values():
            mine = [event for event in told if event.optimizer == track.key]
            assert sum(1 + event.rested for event in mine) + track.untold == track.steps
            assert len(mine) > 2  # each of them is looked at
    assert run.watcher.findings == []


def test_a_cell_that_is_called_for_each_moment_is_told_for_a_part_of_them(calm):
    with Run() as run:
        state = torch.zeros(6, 3)
        for _ in range(400):
            state = torch.tanh(run.model(torch.cat([state, torch.ones(6, 1)], dim=1)))
        state.sum().backward()
        run.optimizer.step()
        assert 100 < len(run.of(Forward)) < 300
        assert len(run.of(OptimizerStep)) == 1


def test_moving_buffers_need_no_look_of_their_own_and_one_that_breaks_is_told(calm, monkeypatch):
    with Run() as run:
        norm = nn.BatchNorm1d(8)
        run.model = nn.Sequential(nn.Linear(4, 8), norm, nn.Linear(8, 3))
        run.optimizer = torch.optim.SGD(run.model.parameters(), lr=0.05)
        run.until_rest()
        recorder = run.watcher._attachment.recorder
        assert recorder.moving
        run.session.rest._credit = -1e6  # no look that could be paid
        looks, real = [], run.session.looking_at
        monkeypatch.setattr(
            run.session, "looking_at", lambda unit, **how: looks.append(unit) or real(unit, **how)
        )
        monkeypatch.setattr(run.watcher._attachment.optimizers, "_leisure", float("inf"))
        rested = []
        for _ in range(40):  # the first rested step, and the one before an audit, are more than that
            before = run.session.resting
            looks.clear()
            run.step()
            if before and run.session.resting:
                rested.append(list(looks))
        assert rested[-1] == []
        assert rested.count([]) > len(rested) // 2
        assert torch.equal(recorder.window.copies[0], norm.running_mean)
        norm.running_var.fill_(float("inf"))
        run.step()
        assert [event.buffer for event in run.of(BufferBroken)] == ["running_var"]


def test_bounds_are_not_heard_in_a_rested_step(calm):
    with Run() as run:
        run.until_rest()
        masks = run.watcher._attachment.op_audit._masks
        assert masks.silent
        assert torch.clamp(torch.ones(2), max=0.5).tolist() == [0.5, 0.5]
        run.session.rest.wake()
        assert not masks.silent


HEALTHY = [
    pytest.param(entry, id=entry["file"], marks=[pytest.mark.exhaustive] * (number % 32 != 0))
    for number, entry in enumerate(entry for entry in entries() if entry["set"] != "buggy")
    if number % 8 == 0
]


@pytest.mark.parametrize("entry", HEALTHY)
def test_a_healthy_script_that_is_rested_early_hears_nothing(calm, entry):
    assert grade(entry).loud == []


@pytest.mark.parametrize("given", [True, False])
def test_what_becomes_trainable_in_a_rested_run_is_looked_at(calm, monkeypatch, given):
    monkeypatch.setattr(session, "_AUDIT_AT_FIRST", -1e9)  # no audit by the calendar can be afforded
    with Run() as run:
        body, head = run.model[0], run.model[2]
        body.requires_grad_(False)
        run.optimizer = torch.optim.SGD(head.parameters(), lr=0.05)
        for _ in range(65):  # the last of the first audits
            run.step()
        run.until_rest()
        body.requires_grad_(True)
        if given:
            run.optimizer.add_param_group({"params": body.parameters()})
        before = len(run.of(Custody))
        for _ in range(400):  # until its looks are paid
            run.step()
        seen = [each.links for each in run.of(Custody)[before:]]
        assert len(seen) >= 4
        assert all(bool(link.owners) is given for links in seen for link in links[:2])
    assert ("PM103" in [each.code for each in run.watcher.findings]) is not given


def test_what_is_frozen_in_turns_is_no_news(calm):
    """Of two players, each step freezes the other one's parameters."""
    with Run() as run:
        other = torch.optim.SGD(run.model[0].parameters(), lr=0.05)
        mine = torch.optim.SGD(run.model[2].parameters(), lr=0.05)
        looks = 0
        for number in range(400):
            run.model[0].requires_grad_(bool(number % 2))
            run.model[2].requires_grad_(not number % 2)
            run.optimizer = other if number % 2 else mine
            run.step()
            looks = run.session._looks if number == 200 else looks
        assert run.session._looks == looks
