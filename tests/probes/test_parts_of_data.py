"""Parts of one dataset: the rows that loaders share, and the weights at the start of each pass."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset, random_split

from premortem.detectors.held_out_after_training import HeldOutAfterTraining
from premortem.events import PartStarted
from premortem.probes.parts_of_data import PartsOfData
from tests.heard import hearing


def folds(model_of, sampler=False):
    """Four folds of 80 rows."""
    torch.manual_seed(0)
    data = TensorDataset(torch.randn(80, 6), torch.randint(0, 2, (80,)))
    kept = []
    for fold in range(4):
        held = set(range(20 * fold, 20 * fold + 20))
        rows = [i for i in range(80) if i not in held]
        if sampler:
            train = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(rows))
            judge = DataLoader(data, batch_size=10, sampler=SubsetRandomSampler(sorted(held)))
        else:
            train = DataLoader(Subset(data, rows), batch_size=10, shuffle=True)
            judge = DataLoader(Subset(data, sorted(held)), batch_size=10)
        model = model_of(fold)
        kept.append(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            model.train()
            for x, y in train:
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x), y).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for x, _ in judge:
                    model(x)


def set_back(model):
    state = {name: value.clone() for name, value in model.state_dict().items()}

    def of(fold):
        model.load_state_dict(state)
        return model

    return of


def initialised_again(model):
    def of(fold):
        model.reset_parameters()
        return model

    return of


def test_parts_are_cheap():
    data = TensorDataset(torch.zeros(1 << 16, 1))
    parts = random_split(data, [60_000, (1 << 16) - 60_000])
    with hearing() as (heard, watcher):
        for _ in range(50):
            for part in parts:
                next(iter(DataLoader(part, batch_size=8)))
        larger = TensorDataset(torch.zeros((1 << 16) + 1, 1))
        next(iter(DataLoader(Subset(larger, range(10)), batch_size=8)))
        starts = [hears.__self__ for hears in watcher._attachment.loaders.on_start]
        (probe,) = (each for each in starts if isinstance(each, PartsOfData))
    assert len(probe._parts) == 2  # however often loaders are built anew
    assert {n for event in heard if isinstance(event, PartStarted) for n in event.shared.values()} <= {
        0,
        *map(len, parts),
    }


def test_another_dataset_is_not_taken_for_one_that_is_gone():
    with hearing() as (heard, _):
        loaders = []
        for _ in range(20):
            data = TensorDataset(torch.zeros(40, 1))
            loaders.append(DataLoader(Subset(data, range(30)), batch_size=8))
            next(iter(loaders[-1]))
            loaders[-1] = loaders[-1].sampler
            del data
    assert not [event for event in heard if isinstance(event, PartStarted)]


@pytest.mark.parametrize("sampler", [False, True])
@pytest.mark.parametrize("how", ["one model", "set back", "initialised again", "a model each"])
def test_a_model_that_goes_on_from_fold_to_fold(how, sampler):
    model = nn.Linear(6, 2)
    of = {
        "one model": lambda fold: model,
        "set back": set_back(model),
        "initialised again": initialised_again(model),
        "a model each": lambda fold: nn.Linear(6, 2),
    }[how]
    with hearing() as (heard, _):
        folds(of, sampler)
    parts = [event for event in heard if isinstance(event, PartStarted)]
    assert len(parts) == 4 * 4 - 1  # the first pass has nothing to be compared with
    assert parts[0].shared == {1: 0}
    assert {*parts[-1].shared.values()} == {0, 20}
    hears = HeldOutAfterTraining()
    findings = [finding for event in heard for finding in hears.hear(event)]
    assert len(findings) == (how == "one model")
