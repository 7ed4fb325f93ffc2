import pytest

from premortem.probes.op_audit import joins, merges, scrambles


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ((32, 20, 9), (32, 9, 20), True),
        ((32, 24, 1, 6), (32, 6, 24), True),  # a dimension of one vanishes on the way
        ((32, 6, 24), (32, 24, 1, 6), True),
        ((32, 24, 1, 6), (32, 24, 6), False),
        ((32, 24), (32, 24, 1, 1), False),
        ((32, 64, 1, 1), (32, 64), False),
        ((8, 8), (8, 8, 1), False),
        ((32, 20, 9), (32, 180), False),
        ((32, 12, 5), (32, 3, 4, 5), False),
    ],
)
def test_the_same_sizes_in_another_order(before, after, answer):
    assert scrambles(before, after) is answer


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ((24, 4, 14, 8), (24, 14, 32), True),
        ((24, 14, 4, 8), (24, 14, 32), False),  # it was transposed before
        ((24, 4, 14, 8), (24, 448), False),
        ((24, 14, 14, 8), (24, 14, 112), False),  # as many heads as places: it cannot be known
        ((24, 4, 7, 8), (24, 7, 32), False),  # no size of the input
        ((24, 3, 14, 14), (24, 14, 42), False),
    ],
)
def test_axes_that_are_no_neighbours(before, after, answer):
    assert merges(before, after, (24, 14)) is answer


@pytest.mark.parametrize(
    ("before", "after", "answer"),
    [
        ((24, 16, 4, 5, 5), (96, 16, 25), True),
        ((24, 16, 4, 5, 5), (96, 16, 5, 5), True),
        ((24, 16, 5), (120, 16), True),
        ((24, 16, 5), (120, 16, 1), True),
        ((24, 4, 16, 5, 5), (96, 16, 25), False),  # it was permuted before
        ((24, 4, 4, 5, 5), (96, 4, 25), False),  # as many channels as moments: it cannot be known
        ((24, 16, 4, 5, 5), (384, 4, 25), False),  # neighbours
        ((24, 16, 4, 5, 5), (48, 8, 4, 5, 5), False),  # groups of channels
        ((24, 14, 64), (96, 14, 16), False),  # heads are cut out of the features
        ((24, 16, 4, 6), (96, 16, 2, 3), False),
        ((12, 16, 4, 5), (48, 16, 5), False),  # not the samples
        ((24, 16, 5), (12, 16, 10), False),
    ],
)
def test_samples_that_are_joined_with_what_stands_behind_the_channels(before, after, answer):
    assert joins(before, after, (24, 16)) is answer
