"""The accuracy of a pass over a loader, counted again, and what a script prints of it."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from premortem.detectors.loop_habits import DividedByBatches, OnlyTheLastBatch
from premortem.events import LogLine, ScoreRecounted
from tests.heard import hearing


def evaluated(how, heard, loader, model, detector):
    """One evaluation, as the script counts it; what a detector says of the line that it prints."""
    correct = seen = 0
    model.eval()
    with torch.no_grad():
        for x, y in loader:
            if how == "last":
                correct = seen = 0
            correct += int((model(x).argmax(1) == y).sum())
            seen += len(y)
    shown = correct / (len(loader) if how == "batches" else seen)
    shown *= 100 if how == "percent" else 1
    text = f"{shown:.3f}"
    (counted,) = [event for event in heard if isinstance(event, ScoreRecounted)]
    line = LogLine(text=f"val acc {text}", template="val acc #", values=(("acc", text, shown),))
    heard.clear()
    return counted, [finding for event in (counted, line) for finding in detector.hear(event)]


@pytest.mark.parametrize(
    ("how", "kind", "said"),
    [
        ("whole", OnlyTheLastBatch, 0),
        ("percent", OnlyTheLastBatch, 0),
        ("last", OnlyTheLastBatch, 1),
        ("batches", OnlyTheLastBatch, 0),
        ("batches", DividedByBatches, 1),
        ("whole", DividedByBatches, 0),
        ("last", DividedByBatches, 0),
    ],
)
def test_what_is_printed_is_held_against_what_is_counted(how, kind, said):
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(150, 6), torch.randint(0, 3, (150,)))
    loader = DataLoader(data, batch_size=32)
    train = DataLoader(data, batch_size=32, shuffle=True)
    model = nn.Linear(6, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    detector, findings = kind(), []
    with hearing() as (heard, _):
        for _ in range(4):
            for x, y in train:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            counted, found = evaluated(how, heard, loader, model, detector)
            findings += found
            with torch.no_grad():
                right = int((model(data.tensors[0]).argmax(1) == data.tensors[1]).sum())
            assert (counted.right, counted.of, counted.batches, counted.last[1]) == (right, 150, 5, 22)
    assert len(findings) == said
    assert all(finding.severity == "error" for finding in findings)


def test_a_pass_of_which_a_part_is_answered_is_not_counted():
    data = TensorDataset(torch.randn(64, 6), torch.randint(0, 3, (64,)))
    model = nn.Linear(6, 3)
    with hearing() as (heard, _), torch.no_grad():
        for at, (x, _) in enumerate(DataLoader(data, batch_size=16)):
            if at != 2:
                model(x)
    assert not [event for event in heard if isinstance(event, ScoreRecounted)]
