"""Trials of one process, one after the other: what one leaves behind is not the next one's."""

import threading

import pytest
import torch
from torch import nn

import premortem
from premortem.errors import Stopped
from premortem.run.trial_run import TrialEnded, trial


def train(rate: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(64, 8)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for _ in range(40):
        loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_an_ended_trial_leaves_nothing_to_the_next_one(tmp_path):
    def one(number, rate):
        with trial(lambda: tmp_path / str(number), f"t-{number}", lambda: {"lr": rate}) as running:
            train(rate)
        return running.findings

    with pytest.raises(TrialEnded, match="PM213") as first:
        one(0, 3.0)
    with pytest.raises(TrialEnded, match="PM213") as second:
        one(1, 3.0)
    kept = [first.value, second.value]  # as a sweep's program keeps them
    assert one(2, 0.001) == []
    assert all(each.__context__.__traceback__ is None for each in kept)


def test_what_a_failed_trial_keeps_alive_is_not_judged_again(tmp_path):
    kept = []
    with trial(lambda: tmp_path / "0", "t-0", dict, "observe"):
        model = nn.Linear(8, 1)
        kept.append(torch.optim.SGD(model.parameters(), lr=0.1))
        model.weight.grad = torch.full_like(model.weight, float("nan"))
    with trial(lambda: tmp_path / "1", "t-1", dict) as running:
        train(0.001)
    assert running.findings == []


def test_a_trial_in_another_thread_is_left_alone(tmp_path, capsys):
    """torch's hooks are the process's: one trial is watched, and the others are not taken for it."""
    entered, trained, found = threading.Event(), threading.Event(), []

    def beside():
        entered.wait()
        with trial(lambda: tmp_path / "beside", "t-1", dict) as running:
            train(3.0)
            found.append(running.findings)
        trained.set()

    thread = threading.Thread(target=beside)
    thread.start()
    with trial(lambda: tmp_path / "0", "t-0", dict) as running:
        entered.set()
        trained.wait()  # the other one builds its optimizer first
        train(0.001)
    thread.join()
    assert running.findings == []
    assert found == [[]], "not watched, so that it has no findings of the first one either"
    assert not (tmp_path / "beside").exists()
    assert "only one is watched" in capsys.readouterr().err
    with pytest.raises(TrialEnded, match="PM213"), trial(lambda: tmp_path / "2", "t-2", dict):
        train(3.0)


def test_a_trial_that_is_a_part_of_a_watched_block_ends_with_it(tmp_path):
    """Else every trial after it would end with the first one's finding."""
    block = premortem.watch(policy="strict", quiet=True)
    with pytest.raises(Stopped), block, trial(lambda: tmp_path / "0", "t-0", dict):
        train(3.0)
    assert [each.code for each in block.findings] == ["PM213"]
    with premortem.watch(policy="observe", quiet=True):
        with trial(lambda: tmp_path / "1", "t-1", dict) as first:
            train(3.0)
        with trial(lambda: tmp_path / "2", "t-2", dict) as second:
            train(0.001)
    assert [each.code for each in first.findings] == ["PM213"]
    assert second.findings == []
