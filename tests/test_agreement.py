"""What ranks with pieces of the same parameters agree on, and what becomes of it when one of them does not come."""

import sys
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from premortem.actions import agreement
from premortem.actions.agreement import Agreement, circle_of, partners


@pytest.fixture
def first_of_four(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)  # torch changes it for a process group
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    yield
    dist.destroy_process_group()


def test_copies_are_counted_once(first_of_four):
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("copies", "pieces"))
    hybrid = distribute_tensor(torch.ones(4), mesh, [Replicate(), Shard(0)])
    everywhere = distribute_tensor(torch.ones(4), mesh, [Replicate(), Replicate()])
    row = distribute_tensor(torch.ones(4), mesh["pieces"], [Shard(0)])
    plain = torch.ones(4)
    circle = circle_of([row, hybrid, plain, everywhere])
    assert circle.ranks == (0, 1, 2, 3)
    assert [id(p) for p in circle.parameters] == [id(row), id(hybrid), id(everywhere)]
    assert circle.shares == [0.5, 0.5, 0.25]
    assert circle_of([plain]) is None


def test_who_does_not_come_is_waited_for_once(first_of_four, monkeypatch):
    monkeypatch.setattr(agreement, "_PATIENCE", timedelta(seconds=1))
    mesh = init_device_mesh("cpu", (4,))
    weight = distribute_tensor(torch.ones(8), mesh, [Shard(0)])
    said, store = [], dist.HashStore()
    store.set_timeout(timedelta(seconds=1))
    ranks = Agreement(lambda name: dist.PrefixStore(name, store), said.append)
    circle = circle_of([weight])
    assert ranks.norms(circle, [weight], [1.0], False) is None
    started = time.monotonic()
    assert not ranks.any(circle, True), "without the others nothing is refused"
    assert time.monotonic() - started < 0.5
    (sentence,) = said
    assert "from here on no step is refused" in sentence


def test_one_alarm_is_heard_by_all(first_of_four, monkeypatch):
    """Of a parameter that is not in pieces only one rank may know: it is not in the sums."""
    mesh = init_device_mesh("cpu", (4,))
    weight, plain = distribute_tensor(torch.ones(8), mesh, [Shard(0)]), torch.ones(2)
    circle = circle_of([weight, plain])
    ranks = Agreement(lambda name: None, lambda text: None)
    monkeypatch.setattr(ranks, "_summed", lambda circle, numbers: [1.0, 1.0, 3.0, 4 * numbers[3]])
    answer = ranks.norms(circle, [plain, weight], [7.0, 2.0], False)
    assert answer == ([7.0, 4.0], 4.0, True)
    assert ranks.bad_rank == 3


def test_a_flag_that_two_ranks_have_raised_is_still_one(first_of_four, monkeypatch):
    """torch's kernels leave a step out when `found_inf` is 1, and make it when it is 2."""
    circle = circle_of([distribute_tensor(torch.ones(8), init_device_mesh("cpu", (4,)), [Shard(0)])])

    def of_two(flag, op=dist.ReduceOp.SUM, group=None):
        others = torch.ones_like(flag)
        flag.copy_(torch.maximum(flag, others) if op == dist.ReduceOp.MAX else flag + others)

    monkeypatch.setattr(agreement.dist, "all_reduce", of_two)
    flag = torch.ones(())
    Agreement(lambda name: None, lambda text: None).on_device(circle, flag)
    assert flag == 1


@pytest.mark.parametrize("world", [2, 3, 5, 8, 13, 1000])
def test_all_ranks_have_the_sum_after_few_turns(world):
    plans = [partners(rank, world) for rank in range(world)]
    assert len({len(plan) for plan in plans}) == 1
    assert len(plans[0]) <= world.bit_length() + 1
    sums = [{rank} for rank in range(world)]
    for turn in range(len(plans[0])):
        before = list(sums)
        for rank, plan in enumerate(plans):
            meeting = plan[turn]
            if meeting is None:
                continue
            answer = plans[meeting.rank][turn]
            assert (answer.rank, answer.sends, answer.takes) == (rank, meeting.takes, meeting.sends)
            if meeting.takes:
                assert not (meeting.adds and before[rank] & before[meeting.rank]), "no rank is counted twice"
                sums[rank] = before[meeting.rank] | (before[rank] if meeting.adds else set())
    assert all(held == set(range(world)) for held in sums)
