"""What ranks with pieces of the same parameters agree on, and what becomes of it when one of them does not come."""

import sys
import threading
import time
from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Replicate, Shard, distribute_tensor
from torch.testing._internal.distributed.fake_pg import FakeStore

from premortem.actions import agreement
from premortem.actions.agreement import Agreement, circle_of
from premortem.actions.sums import Sums


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


def connected(size: int) -> list[Sums]:
    """The ends of all ranks, in one process."""
    store, ends = dist.HashStore(), {}

    def connect(rank: int) -> None:
        group = dist.ProcessGroupGloo(store, rank, size, timedelta(seconds=20))
        ends[rank] = Sums(group, rank, size)

    at_once(connect, size)
    return [ends[rank] for rank in range(size)]


def at_once(call, size: int) -> None:
    threads = [threading.Thread(target=call, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_all_ranks_hear_the_same_sums(size):
    ends, heard = connected(size), {}

    def speak(rank: int) -> None:
        heard[rank] = [
            ends[rank].of([0.1 * (rank + 1), 1.0, 1e-9 * rank * turn], patience) for turn in range(4)
        ]
        heard[rank].append(ends[rank].of([float("inf") if rank == 1 else 0.0], patience))

    patience = timedelta(seconds=20)
    at_once(speak, size)
    assert all(heard[rank] == heard[0] for rank in range(size)), "to the last bit"
    for turn, (first, count, small) in enumerate(heard[0][:4]):
        expected = sum(range(size)) * turn * 1e-9
        assert (first, small) == (pytest.approx(0.1 * size * (size + 1) / 2), pytest.approx(expected))
        assert count == size
    assert heard[0][4] == [float("inf")]


@pytest.mark.parametrize("before", [0, 2])
def test_a_rank_that_comes_too_late_is_told_at_once(before):
    ends, patience = connected(2), timedelta(seconds=20)
    at_once(lambda rank: [ends[rank].of([1.0], patience) for _ in range(before)], 2)
    with pytest.raises(RuntimeError):
        ends[0].of([1.0], timedelta(milliseconds=300))
    started = time.monotonic()
    with pytest.raises(RuntimeError):  # else it would act on numbers that the other has given up
        ends[1].of([1.0], patience)
    assert time.monotonic() - started < 10


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
