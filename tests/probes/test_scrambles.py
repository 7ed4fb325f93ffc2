import pytest

from premortem.probes.op_audit import merges, scrambles


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
