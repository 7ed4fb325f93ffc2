"""The model of the caching allocator: rounding, segments, splitting, merging, and what happens when the card is full."""

import pytest

from premortem.fit.allocator import Allocator, OutOfMemory
from premortem.fit.gpus import MIB


@pytest.mark.parametrize(
    ("wanted", "allocated", "reserved"),
    [
        (1, 512, 2 * MIB),
        (513, 1024, 2 * MIB),
        (MIB, MIB, 2 * MIB),
        (MIB + 1, MIB + 512, 20 * MIB),
        (10 * MIB, 10 * MIB, 10 * MIB),
        # A rest of up to a megabyte is not worth a block of its own, so it counts as allocated.
        (11 * MIB + 1, 12 * MIB, 12 * MIB),
        (10 * MIB + 512, 10 * MIB + 512, 12 * MIB),
    ],
)
def test_one_allocation(wanted, allocated, reserved):
    allocator = Allocator()
    allocator.allocate(wanted)
    assert (allocator.allocated, allocator.reserved) == (allocated, reserved)


def test_a_freed_block_is_used_again():
    allocator = Allocator()
    first = allocator.allocate(30 * MIB)
    allocator.release(first)
    allocator.allocate(20 * MIB)
    assert (allocator.allocated, allocator.reserved) == (20 * MIB, 30 * MIB)


def test_neighbours_become_one():
    allocator = Allocator()
    whole = allocator.allocate(60 * MIB)
    allocator.release(whole)
    parts = [allocator.allocate(20 * MIB) for _ in range(3)]
    for part in (parts[0], parts[2], parts[1]):
        allocator.release(part)
    allocator.allocate(60 * MIB)
    assert allocator.reserved == 60 * MIB


def test_a_hole_is_not_room():
    """Fragmentation: 40 MiB are free, but not in one piece."""
    allocator = Allocator()
    allocator.release(allocator.allocate(60 * MIB))
    parts = [allocator.allocate(20 * MIB) for _ in range(3)]
    allocator.release(parts[0])
    allocator.release(parts[2])
    allocator.allocate(30 * MIB)
    assert allocator.reserved == 90 * MIB


def test_a_full_card_gives_its_cache_back_before_it_fails():
    allocator = Allocator(limit=100 * MIB)
    allocator.release(allocator.allocate(60 * MIB))
    allocator.allocate(80 * MIB)
    assert allocator.retries == 1
    assert allocator.reserved == 80 * MIB
    with pytest.raises(OutOfMemory):
        allocator.allocate(40 * MIB)
