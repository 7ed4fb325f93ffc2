"""One copy for all workers, the same bytes that the dataset gave, nothing left behind."""

import collections
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import psutil
import pytest
import torch
from torch.utils.data import DataLoader

from premortem.parts import RamCache
from tests import starting


class Pair(NamedTuple):
    image: torch.Tensor
    label: int


pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Samples(torch.utils.data.Dataset):
    """Reads are counted in a file, because workers have no other common memory."""

    def __init__(self, count=40, log=None, side=32):
        self.count, self.log, self.side = count, log, side

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.log:
            with Path(self.log).open("a") as file:
                file.write(f"{index}\n")
        image = torch.full((3, self.side, self.side), index, dtype=torch.uint8)
        return {"image": image, "index": index, "name": f"sample {index}"}


def untouched(batch):
    return batch


def rich_samples():
    generator = torch.Generator().manual_seed(0)
    image = torch.rand(2, 3, 5, 7, generator=generator)
    return [
        Pair(image.to(memory_format=torch.channels_last), 3),
        (torch.tensor(1.5, dtype=torch.bfloat16), torch.empty(0, 4), torch.tensor([True, False])),
        {"a": [np.arange(12, dtype=np.int16).reshape(3, 4).T, np.float64(2.5)], "b": b"bytes", "c": "text"},
        image[:, :, ::2, 1:3],  # a view with gaps
        np.asfortranarray(np.ones((3, 4))),
        np.array([("x", 1)], dtype=[("name", "U4"), ("count", "i4")]),
        torch.complex(image, image).conj(),
        None,
        {1, 2, 3},
    ]


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert torch.equal(one, other)
    elif isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert (one == other).all()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for name in one:
            assert_same(one[name], other[name])
    elif isinstance(one, (tuple, list)):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_same(first, second)
    else:
        assert one == other


@pytest.mark.parametrize("number", range(len(rich_samples())))
def test_what_comes_out_is_what_went_in(number):
    samples = rich_samples()
    cache = RamCache(samples, "1MiB")
    for _ in range(3):
        assert_same(samples[number], cache[number])
    assert (cache.report().hits, cache.report().misses) == (2, 1)


def test_channels_last_and_fortran_order_stay():
    samples = rich_samples()
    cache = RamCache(samples, "1MiB")
    cache.preload()
    assert cache[0].image.stride() == samples[0].image.stride()
    assert cache[4].strides == samples[4].strides


def test_what_is_returned_is_a_copy():
    cache = RamCache([(torch.ones(4), np.ones(4), [1])], "1MiB")
    for _ in range(3):
        tensor, array, numbers = cache[0]
        assert (tensor.sum(), array.sum(), numbers) == (4, 4, [1])
        tensor.zero_()
        array[:] = 0
        numbers.append(2)


EXHAUSTIVE = [pytest.param("spawn", ending, marks=pytest.mark.exhaustive) for ending in ("wait", "raise")]


@pytest.mark.parametrize(
    ("context", "persistent"),
    [
        ("fork", True),
        pytest.param("fork", False, marks=pytest.mark.exhaustive),
        pytest.param("spawn", True, marks=pytest.mark.exhaustive),
    ],
)
def test_each_sample_is_read_once_by_all_workers_of_all_loaders(context, persistent, tmp_path):
    log = tmp_path / "reads"
    cache = RamCache(Samples(log=log), "8MiB")
    options = {
        "num_workers": 2,
        "batch_size": 4,
        "multiprocessing_context": context,
        "persistent_workers": persistent,
    }
    loaders = [DataLoader(cache, **options, shuffle=True), DataLoader(cache, **options)]
    for loader in [loaders[0], loaders[1], loaders[0]]:
        seen = []
        for batch in loader:
            assert (batch["image"].flatten(1) == batch["index"][:, None]).all()
            seen += batch["index"].tolist()
        assert sorted(seen) == list(range(40))
    del loader, loaders
    reads = collections.Counter(map(int, log.read_text().split()))
    # The four samples that are read again, to see whether they are random, are read three times.
    assert sorted(reads.values()) == [1] * 36 + [3] * 4
    report = cache.report()
    assert (report.held, report.misses, report.hits) == (40, 40, 80)


@pytest.mark.parametrize("policy", ["lru", "pinned"])
def test_races_of_many_processes_over_little_room_give_no_wrong_sample(policy):
    samples = Samples(count=30, side=40)
    cache = RamCache(samples, "60KiB", policy=policy)  # about a dozen of 30
    children = []
    for seed in range(4):
        child = os.fork()
        if not child:
            wrong = 1
            try:
                draw = torch.Generator().manual_seed(seed)
                for _ in range(600):
                    index = int(torch.randint(30, (), generator=draw))
                    sample = cache[index]
                    assert sample["name"] == f"sample {index}"
                    assert (sample["image"] == index).all()
                wrong = 0
            finally:
                os._exit(wrong)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    report = cache.report()
    assert report.hits + report.misses == 2400
    assert report.used <= report.budget
    assert (report.evicted > 0) == (policy == "lru")
    assert 0 < report.held < 30


def test_the_least_recently_used_goes():
    samples = [torch.full((1000,), index, dtype=torch.uint8) for index in range(10)]
    cache = RamCache(samples, "6KiB", policy="lru")  # two pages each: three samples
    for index in (0, 1, 2, 0, 3):  # 1 is the oldest when 3 comes
        assert int(cache[index][0]) == index
    before = cache.report().misses
    for index in (0, 2, 3):
        assert int(cache[index][0]) == index
    assert cache.report().misses == before
    assert int(cache[1][0]) == 1
    assert cache.report().misses == before + 1


def test_room_of_any_shape_is_used_again():
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(1, 9000, (50,), generator=draw).tolist()
    samples = [torch.full((length,), index, dtype=torch.uint8) for index, length in enumerate(lengths)]
    cache = RamCache(samples, "24KiB", policy="lru")
    for _ in range(20):
        for index in torch.randperm(50, generator=draw).tolist():
            assert_same(samples[index], cache[index])
    assert cache.report().used <= 24 * 1024


def test_pinned_hits_its_share_and_lru_less():
    rates = {}
    for policy in ("pinned", "lru"):
        cache = RamCache(Samples(count=100), "160KiB", policy=policy)
        draw = torch.Generator().manual_seed(0)
        for _epoch in range(5):
            for index in torch.randperm(100, generator=draw).tolist():
                cache[index]
        rates[policy] = cache.report().hit_rate
    assert rates["pinned"] > 1.5 * rates["lru"]


def test_it_says_what_did_not_fit_and_why():
    large, unfit = torch.zeros(100_000), torch.zeros(3, requires_grad=True)
    cache = RamCache([torch.zeros(10), large, unfit, *[torch.zeros(2000)] * 9], "32KiB")
    with pytest.warns(
        UserWarning, match="cannot hold sample 2: it holds a tensor that requires a gradient"
    ) as said:
        [cache[index] for index in range(12)]
    assert len(said) == 1
    report = cache.report()
    assert (report.held, report.too_large, report.cannot_be_held, report.no_room) == (4, 1, 1, 6)
    assert str(cache).splitlines() == [
        "RamCache: 4 of 12 samples in 25.0 KiB of 32.0 KiB, pinned",
        "hit rate 0.0 % (0 hits, 12 misses)",
        "6 did not fit: the budget is used up; all would need about 75.0 KiB",
        "1 did not fit: each is larger than the whole budget",
        "1 cannot be held: see the warning",
    ]


def test_what_cannot_be_pickled_is_still_returned():
    cache = RamCache([lambda: 1], "1MiB")
    with pytest.warns(UserWarning, match="it cannot be pickled"):
        assert cache[0]() == 1
    assert cache[0]() == 1


class Flipped(Samples):
    def __getitem__(self, index):
        return torch.rand(4)


def test_a_random_sample_is_noticed_and_the_generator_is_put_back():
    torch.manual_seed(0)
    plain = [torch.rand(4) for _ in range(3)]
    torch.manual_seed(0)
    cache = RamCache(Flipped(), "1MiB")
    with pytest.warns(UserWarning, match="is another one each time it is read") as said:
        drawn = [cache[index] for index in range(3)]
    assert len(said) == 1
    assert all(map(torch.equal, plain, drawn))
    assert cache.report().random
    assert "freezes" in str(cache)


def test_the_transform_is_not_held():
    cache = RamCache([torch.ones(2)], "1MiB", transform=lambda sample: sample * torch.rand(()))
    assert not torch.equal(cache[0], cache[0])
    assert cache.report().hits == 1


def test_a_function_with_keys():
    cache = RamCache(str.upper, keys=["a", "b"], budget="1MiB")
    assert [cache[0], cache[-1], len(cache)] == ["A", "B", 2]
    with pytest.raises(IndexError, match="there is no sample 2 among the 2"):
        cache[2]
    assert list(cache) == ["A", "B"]


@pytest.mark.parametrize("workers", [0, 2])
def test_preloading_holds_everything_and_draws_nothing(workers, tmp_path):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    cache = RamCache(Samples(log=tmp_path / "reads"), "8MiB")
    report = cache.preload(workers=workers)
    assert (report.held, report.hits, report.misses) == (40, 0, 0)
    assert torch.equal(torch.get_rng_state(), state)
    reads = len((tmp_path / "reads").read_text().split())
    list(cache)
    assert len((tmp_path / "reads").read_text().split()) == reads
    assert cache.report().hit_rate == 1.0


@pytest.mark.parametrize("policy", ["lru", "pinned"])
def test_preloading_stops_when_the_budget_is_used_up(policy, tmp_path):
    cache = RamCache(Samples(log=tmp_path / "reads"), "16KiB", policy=policy)
    with pytest.warns(
        UserWarning, match="few samples are held. RamCache: 4 of 40 samples in 16.0 KiB of 16.0 KiB"
    ):
        report = cache.preload()
    assert (report.held, report.evicted) == (4, 0)
    assert set(map(int, (tmp_path / "reads").read_text().split())) == {0, 1, 2, 3, 4}


class Broken(Samples):
    def __getitem__(self, index):
        if index in self.log:
            raise FileNotFoundError(f"blur/{index}.png")
        return index


def test_samples_that_cannot_be_read_are_told():
    with pytest.warns(
        UserWarning,
        match=r"2 of 40 samples are not in the cache. The first: sample 7 cannot be read: FileNotFoundError: blur/7.png",
    ):
        assert RamCache(Broken(log={7, 9}), "1MiB").preload().held == 38
    with pytest.raises(RuntimeError, match=r"RamCache holds none of 40 samples\. sample 0 cannot be read"):
        RamCache(Broken(log=range(40)), "1MiB").preload()


def test_wrong_use_is_said():
    with pytest.raises(ValueError, match="without a single sample"):
        RamCache([], "1MiB")
    with pytest.raises(ValueError, match="`lots` is not an amount of memory; write 8GiB"):
        RamCache([1], "lots")
    with pytest.raises(ValueError, match="a budget of 10 has no room"):
        RamCache([1], 10)
    with pytest.raises(ValueError, match="pinned and lru, not 'fifo'"):
        RamCache([1], "1MiB", policy="fifo")
    with pytest.raises(TypeError, match="pass keys="):
        RamCache(str.upper, "1MiB")
    with pytest.raises(TypeError, match="cannot be pickled into a file"):
        torch.save(RamCache([1], "1MiB"), os.devnull)


def test_a_budget_above_what_is_free_is_lowered_and_told():
    cache = RamCache([1], "900TiB")
    assert cache.budget < psutil.virtual_memory().total
    assert "the budget was lowered from 900 TiB" in str(cache)
    assert RamCache([1], 0.5).budget == pytest.approx(psutil.virtual_memory().available / 2, rel=0.2)


def test_a_worker_that_is_killed_inside_the_lock_does_not_stop_the_others():
    cache = RamCache(Samples(), "1MiB")
    child = os.fork()
    if not child:
        with cache._held._region.locked():
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert cache[3]["index"] == 3


SCRIPT = """
    import os, sys, time, torch
    from torch.utils.data import DataLoader
    from premortem.parts import RamCache

    if __name__ == "__main__":
        cache = RamCache([torch.zeros(500_000)] * 8, "64MiB")
        loader = DataLoader(cache, num_workers=2, persistent_workers=True, multiprocessing_context=sys.argv[2])
        for batch in loader:
            pass
        print("filled", flush=True)
        if sys.argv[1] == "raise":
            raise RuntimeError
        if sys.argv[1] == "wait":
            time.sleep(60)
"""


@pytest.mark.parametrize(
    ("context", "ending"),
    [("fork", "exit"), ("fork", "raise"), ("fork", "wait"), *EXHAUSTIVE],
)
def test_nothing_is_left_however_it_ends(context, ending, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    before = set(Path("/dev/shm").iterdir())
    process = starting.Popen(
        [sys.executable, str(script), ending, context],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout.readline() == b"filled\n"
    children = psutil.Process(process.pid).children(recursive=True)
    if ending == "wait":
        process.kill()
    process.wait(30)
    process.stdout.close()
    _gone, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
    deadline = time.monotonic() + 5
    while (left := ours(before)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == set()


def ours(before):
    """torch's own queue of a killed parent may leave a semaphore or a batch; the cache has no name there at all."""
    return {name for name in Path("/dev/shm").iterdir() if name not in before and "premortem" in name.name}


def test_the_workers_share_one_copy():
    cache = RamCache(Samples(count=16, side=1024), "128MiB")  # 48 MiB
    cache.preload()
    loader = iter(DataLoader(cache, num_workers=2, persistent_workers=True, collate_fn=len))
    for _ in loader:
        pass
    workers = [psutil.Process(worker.pid) for worker in loader._workers]
    owned = [worker.memory_full_info().uss for worker in workers]
    mapped = [
        sum(area.pss for area in process.memory_maps(grouped=False) if "premortem-ram-cache" in area.path)
        for process in (psutil.Process(), *workers)
    ]
    assert 48 * 2**20 <= sum(mapped) < 56 * 2**20  # one copy among three processes
    assert all(size < 48 * 2**20 + 2**27 for size in owned)
