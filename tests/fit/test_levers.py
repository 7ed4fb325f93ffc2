"""The batch of a stranger's script is changed from outside."""

import argparse

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from premortem.fit.levers import BATCH, SIDE, Lever, Levers, candidates, sides
from premortem.points import Subscriptions

SCRIPT = b"""import torch
BATCH = 8  # samples
epochs = 8
def loader(batch_size: int = 8):
    return torch.utils.data.DataLoader(data, batch_size=8, shuffle=True)
"""


@pytest.fixture
def points():
    installed = Subscriptions()
    yield installed
    installed.end()


def test_numbers_that_are_named_like_a_batch_are_found():
    levers = Levers()
    assert levers.rewritten(SCRIPT) == SCRIPT
    found = {(lever.name, lever.value) for lever in levers.found if lever.what == BATCH}
    assert found == {("BATCH", 8), ("batch_size", 8)}


def test_only_the_number_that_was_chosen_is_changed():
    levers = Levers(Lever("constant", "BATCH", 8), 1024)
    assert levers.rewritten(SCRIPT) == SCRIPT.replace(b"BATCH = 8 ", b"BATCH = 1024 ")


def test_a_script_that_cannot_be_parsed_stays_as_it_is():
    assert Levers().rewritten(b"def broken(:\n") == b"def broken(:\n"


def test_an_argument_is_turned(points):
    levers = Levers(Lever("argument", "batch_size", 4), 32)
    levers.install(points)
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=4)
    options = parser.parse_args([])
    assert (options.batch_size, options.epochs) == (32, 4)


def test_a_loader_is_turned_even_beyond_its_data(points):
    levers = Levers(Lever("loader", "DataLoader(batch_size=…)", 4), 32)
    levers.install(points)
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
def test_a_loader_that_got_the_turned_number_goes_beyond_its_data(kind, points):
    levers = Levers(Lever(kind, "batch_size", 4), 4096)
    levers.install(points)
    data = TensorDataset(torch.randn(10, 3), torch.arange(10))
    loader = DataLoader(data, 4096, True, drop_last=True)
    batches = list(loader)
    assert [len(x) for x, _ in batches] == [4096] * len(batches)
    assert len(batches) > 8
    assert loader.batch_size == 4096


def test_a_collate_function_with_the_batch_elsewhere_does_it_itself(points):
    levers = Levers(Lever("loader", "DataLoader(batch_size=…)", 4), 32)
    levers.install(points)
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
def test_an_option_is_called_as_its_parser_calls_it(options, spelled, points):
    levers = Levers()
    levers.install(points)
    parser = argparse.ArgumentParser()
    parser.add_argument(
        *options, type=int, default=4, **({"dest": "batch_size"} if options[0] == "-b" else {})
    )
    parser.parse_args(["4"] if options == ("batch_size",) else [])
    assert [lever.spelled for lever in levers.found] == [spelled]


IMAGES = b"""import torch
SIZE = 64
x = torch.randn(8, 3, 96, 96); y = torch.zeros([8, 96, 96])
crop = RandomCrop(96)
hidden = 96
"""


def test_a_number_twice_in_a_row_may_be_a_side():
    levers = Levers(Lever("literal", "96", 96, what=SIDE), 128)
    expected = IMAGES.replace(b"96, 96", b"128, 128").replace(b"Crop(96)", b"Crop(128)")
    assert levers.rewritten(IMAGES) == expected
    kinds = [(lever.kind, lever.name) for lever in sides(levers.found, 96)]
    assert kinds == [("constant", "hidden"), ("literal", "96")]
    assert [lever.name for lever in sides(levers.found, 64)] == ["SIZE"]


def test_a_pair_of_arguments_is_turned(points):
    levers = Levers(Lever("argument", "size", 64, what=SIDE), 96)
    levers.install(points)
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, nargs=2, default=[64, 64])
    assert parser.parse_args([]).size == [96, 96]
    assert levers.found[0].what == SIDE


def test_a_loader_gives_larger_images_with_targets_that_fit_them(points):
    levers = Levers(Lever("loader", "images", 16, what=SIDE), 24)
    levers.install(points)
    mask = torch.arange(16 * 16).reshape(1, 16, 16).repeat(4, 1, 1)
    sharp = torch.randn(4, 3, 32, 32)
    data = TensorDataset(torch.randn(4, 3, 16, 16), mask, sharp, torch.arange(4), torch.randn(4, 5, 7))
    x, y, z, label, other = next(iter(DataLoader(data, batch_size=2)))
    assert (x.shape, y.shape, z.shape) == ((2, 3, 24, 24), (2, 24, 24), (2, 3, 48, 48))
    assert set(y.unique().tolist()) <= set(range(256)), "classes stay classes"
    assert label.shape == (2,)
    assert other.shape == (2, 5, 7)
