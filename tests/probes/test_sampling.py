"""Values that stand for many: whatever the shape, no dimension is met at one place only."""

import math

import pytest
import torch

from premortem.probes.numbers import summarise
from premortem.probes.sampling import stride_over
from premortem.probes.session import fingerprint, sampled


@pytest.mark.parametrize("size", [17, 32, 48, 784 * 64, 3 * 32 * 32 * 16, 128 * 512, 1_000_003])
@pytest.mark.parametrize("most", [8, 16, 64])
def test_the_stride_has_no_divisor_in_common_with_the_size(size, most):
    stride = stride_over(size, most)
    assert math.gcd(stride, size) == 1
    assert max(1, size // most) <= stride <= 2 * max(1, size // most) + 6, (
        "and is about as long as it should be"
    )


@pytest.mark.parametrize("shape", [(16, 784), (32, 1, 28, 28), (64, 128), (16, 3, 8, 8)])
def test_batches_with_a_corner_that_is_always_the_same_have_fingerprints(shape):
    first, second = torch.rand(shape), torch.rand(shape)
    for each in (first, second):
        each.reshape(shape[0], -1)[:, 0] = 0.0  # a black corner, a token that begins every sentence
    assert len(set(sampled(first))) > 4
    assert None not in (one := fingerprint([first]), other := fingerprint([second]))
    assert one != other
    assert fingerprint([first.clone()]) == one


def test_a_summary_of_many_values_is_not_one_of_a_single_feature():
    wide = torch.zeros(1 << 15, 4)
    wide[:, 1:] = 1.0
    assert summarise(wide).mean == pytest.approx(0.75, abs=0.01)


def test_nothing_is_no_content():
    assert fingerprint([torch.zeros(64, 64)]) is None
    assert sampled(torch.zeros(0)) == []
