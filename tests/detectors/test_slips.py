"""What was probably meant where shapes do not fit."""

import pytest

from premortem.detectors.shared.slips import expects, slip, trail, way
from premortem.events import Passed, ShapesMet, Site

LINE = Site("net.py", 9, "forward")


def met(failed, trail=(), inputs=((4, 3, 32, 32),), **wants):
    return ShapesMet(model="Net", inputs=inputs, trail=tuple(trail), failed=failed, **wants)


def test_a_permute_of_what_is_channels_first_already_is_named_with_its_line():
    turned = Passed("permute", "", (4, 8, 16, 16), (4, 16, 8, 16), LINE)
    found = slip(met(Passed("out", "Conv2d", (4, 16, 8, 16), ()), [turned], channels=8, dims=4))
    assert found.at == LINE
    assert "`permute`" in found.remedy


def test_a_permute_that_was_needed_is_not_blamed():
    turned = Passed("permute", "", (4, 32, 32, 3), (4, 3, 32, 32), LINE)
    found = slip(met(Passed("head", "Linear", (4, 512), ()), [turned], features=256))
    assert found is None


@pytest.mark.parametrize(
    ("failed", "inputs", "wants", "sentence"),
    [
        (
            Passed("bn", "BatchNorm2d", (8, 26, 26), ()),
            ((3, 28, 28),),
            {"channels": 8, "dims": 4},
            "without a batch",
        ),
        (
            Passed("c", "Conv2d", (4, 28, 28, 3), ()),
            ((4, 28, 28, 3),),
            {"channels": 3, "dims": 4},
            "last dimension",
        ),
        (Passed("fc", "Linear", (4, 8, 5, 5), ()), ((4, 3, 9, 9),), {"features": 200}, "not in one row"),
        (Passed("fc", "Linear", (4, 64, 100), ()), ((4, 64, 100),), {"features": 64}, "in dimension 1"),
    ],
)
def test_the_likely_slip_is_said(failed, inputs, wants, sentence):
    assert sentence in slip(met(failed, inputs=inputs, **wants)).cause


def test_a_flattened_size_is_multiplied_out():
    flat = Passed("flatten", "", (4, 8, 30, 30), (4, 7200), LINE)
    found = slip(met(Passed("fc", "Linear", (4, 7200), ()), [flat], features=5408))
    assert "8 x 30 x 30 = 7200" in found.cause
    assert "5408" in found.cause


def test_a_view_with_the_sizes_of_a_transpose_is_named():
    view = Passed("view", "", (4, 10, 6), (4, 6, 10), LINE)
    found = slip(met(Passed("mix", "Mixer", (4, 6, 10), ()), [view]))
    assert found.at == LINE
    assert "not the numbers" in found.cause


def test_without_a_model_nothing_is_guessed():
    assert slip(ShapesMet(names=(("out", (8, 10)),))) is None
    assert way(ShapesMet()) == ""


def test_the_trail_ends_where_it_failed():
    lines = trail(met(Passed("out", "Conv2d", (4, 16, 8, 16), ()), channels=8, dims=4))
    assert lines == [
        "input (4, 3, 32, 32)",
        "out (Conv2d): (4, 16, 8, 16) does not fit, wants 8 channels, 4 dimensions",
    ]


@pytest.mark.parametrize(
    ("wanted", "shape", "said"),
    [
        ({"features": 64}, (8, 128), "64 features in the last dimension and was given (8, 128)"),
        ({"channels": 3}, (8, 32, 32, 3), "3 channels in the second dimension and was given (8, 32, 32, 3)"),
        ({"channels": 1, "dims": 4}, (8, 1, 5), "4 dimensions and was given (8, 1, 5)"),
        ({"features": 1}, (4, 2), "1 feature in the last dimension and was given (4, 2)"),
        ({"features": 64}, (8, 64), ""),
        ({}, (8, 64), ""),
    ],
)
def test_a_layer_says_what_it_expects(wanted, shape, said):
    failed = Passed("head", "Linear", shape, ())
    told = expects(ShapesMet(model="net", failed=failed, **wanted))
    assert told == (f"`net.head` (Linear) expects {said}" if said else "")
