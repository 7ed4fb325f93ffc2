"""The batch of a stranger's script is changed from outside."""

import argparse

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from premortem.fit.levers import Lever, Levers, candidates
from premortem.fit.patches import Patches

SCRIPT = b"""import torch
BATCH = 8  # samples
epochs = 8
def loader(batch_size: int = 8):
    return torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
"""


@pytest.fixture
def patches():
    installed = Patches()
    yield installed
    installed.undo()


def test_numbers_that_are_named_like_a_batch_are_found():
    levers = Levers()
    assert levers.rewritten(SCRIPT) == SCRIPT
    assert {(lever.name, lever.value) for lever in levers.found} == {("BATCH", 8), ("batch_size", 8)}


def test_only_the_number_that_was_chosen_is_changed():
    levers = Levers(Lever("constant", "BATCH", 8), 1024)
    assert levers.rewritten(SCRIPT) == SCRIPT.replace(b"BATCH = 8 ", b"BATCH = 1024 ")


def test_a_script_that_cannot_be_parsed_stays_as_it_is():
    assert Levers().rewritten(b"def broken(:\n") == b"def broken(:\n"


def test_an_argument_is_turned(patches):
    levers = Levers(Lever("argument", "batch_size", 4), 32)
    levers.install(patches)
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args([])
    assert (options.batch_size, options.epochs) == (32, 4)


def test_a_loader_is_turned_even_beyond_its_data(patches):
    levers = Levers(Lever("loader", "DataLoader(batch_size=…)", 4), 32)
    levers.install(patches)
    data = TensorDataset(torch.arange(10))
    (first,) = next(iter(DataLoader(data, batch_size=4, shuffle=True, drop_last=True)))
    assert len(first) == 32
    assert len(next(iter(DataLoader(data, batch_size=2)))[0]) == 2, "another loader stays as it is"


def test_the_likeliest_lever_comes_first():
    found = [
        Lever("loader", "l", 4),
        Lever("argument", "batch_size", 4),
        Lever("argument", "bs", 3),
        Lever("constant", "B", 8),
    ]
    assert [lever.name for lever in candidates(found, 8)] == ["B", "batch_size", "l"]


@pytest.mark.parametrize("kind", ["argument", "constant"])
def test_a_loader_that_got_the_turned_number_goes_beyond_its_data(kind, patches):
    levers = Levers(Lever(kind, "batch_size", 4), 4096)
    levers.install(patches)
    data = TensorDataset(torch.randn(10, 3), torch.arange(10))
    loader = DataLoader(data, 4096, True, drop_last=True)
    batches = list(loader)
    assert [len(x) for x, _ in batches] == [4096] * len(batches)
    assert len(batches) > 8
    assert loader.batch_size == 4096


def test_a_collate_function_with_the_batch_elsewhere_does_it_itself(patches):
    levers = Levers(Lever("loader", "DataLoader(batch_size=…)", 4), 32)
    levers.install(patches)
    made = next(iter(DataLoader([torch.ones(7)] * 5, 4, collate_fn=lambda many: torch.stack(many, 1))))
    assert made.shape == (7, 32)


@pytest.mark.parametrize(
    ("options", "spelled"),
    [
        (("-b", "--batch_size"), "--batch_size"),
        (("-b",), "-b"),
        (("batch_size",), "the argument `batch_size`"),
    ],
)
def test_an_option_is_called_as_its_parser_calls_it(options, spelled, patches):
    levers = Levers()
    levers.install(patches)
    parser = argparse.ArgumentParser()
    parser.add_argument(
        *options, type=int, default=4, **({"dest": "batch_size"} if options[0] == "-b" else {})
    )
    parser.parse_args(["4"] if options == ("batch_size",) else [])
    assert [lever.spelled for lever in levers.found] == [spelled]
