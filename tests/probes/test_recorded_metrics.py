"""Metrics that a script only hands to a tracker are heard as if it had printed them."""

import sys
import types
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter

from premortem.events import LogLine
from premortem.terminal.printed_lines import parse
from tests.heard import hearing


class Elsewhere:
    """A number of another library, on a device."""

    def __float__(self) -> float:
        raise AssertionError("it was pulled from there")


def recorded(record: Any, epochs: int = 4, printed: str = "") -> list[tuple[tuple[str, str, float], ...]]:
    """What is heard of `record(epoch)`, called after each of a few epochs."""
    with hearing() as (heard, watcher):
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        for epoch in range(epochs):
            loss = model(torch.randn(8, 4)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if printed and (line := parse(printed)) is not None:
                watcher.attachment.printed(line)
            record(epoch)
    return [event.values for event in heard if isinstance(event, LogLine)]


def test_what_tensorboard_is_given_of_an_evaluation_is_heard(tmp_path):
    with SummaryWriter(tmp_path) as writer:

        def record(epoch: int) -> None:
            writer.add_scalar("train/loss", 0.1, epoch)
            writer.add_scalar("val/loss", torch.tensor(0.5), global_step=epoch)
            writer.add_scalar("best val acc", 0.9, epoch)

        # The first time only says whether it is printed as well.
        assert recorded(record) == [(("val/loss", "0.5", 0.5),)] * 3


def test_what_is_printed_as_well_is_heard_once(tmp_path):
    with SummaryWriter(tmp_path) as writer:

        def record(epoch: int) -> None:
            writer.add_scalar("val/acc", 0.8512, epoch)

        assert recorded(record, printed="epoch 1 val acc 85.12%") == []
        assert recorded(record, printed="epoch 1 val acc 0.85") == []
        assert len(recorded(record, printed="epoch 1 val acc 0.86")) == 3


def test_a_dictionary_is_several_metrics(monkeypatch):
    given: list[Any] = []
    stand_in = types.ModuleType("wandb")
    stand_in.log = lambda data, step=None: given.append(data)
    monkeypatch.setitem(sys.modules, "wandb", stand_in)
    odd = {"val_hist": np.zeros(3), "val_z": torch.tensor(1j), "val_on_gpu": Elsewhere(), "name": "x"}
    near = {"val_loss": float("nan"), "val_f1": np.float32(0.5), "val_acc": np.array(0.25)}
    found = recorded(lambda _: stand_in.log({**odd, **near}), epochs=2)
    assert [values[0][:2] for values in found] == [
        ("val_loss", "nan"),
        ("val_f1", "0.5"),
        ("val_acc", "0.25"),
    ]
    assert len(given) == 2


def test_a_tracker_that_is_given_hundreds_of_numbers_a_second_is_heard_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr("premortem.probes.recorded_metrics.time.monotonic", lambda: 7.0)
    with SummaryWriter(tmp_path) as writer:
        assert len(recorded(lambda epoch: writer.add_scalar("eval/return", 1.5, epoch), epochs=40)) == 20
