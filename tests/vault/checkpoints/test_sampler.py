"""Data goes on where it stopped: the same permutation, no sample lost or seen twice."""

import signal

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    WeightedRandomSampler,
)

import premortem
from premortem.errors import UsageError

SIZE, EPOCHS = 23, 3


class Noisy(Dataset):
    """Draws from the global generator for every sample."""

    def __len__(self):
        return SIZE

    def __getitem__(self, index):
        return index, float(torch.rand(()))


def epochs(loader, start, workers):
    """Everything that a loop sees, and what it draws itself; after each batch, the state of the loader."""
    for epoch in range(start, EPOCHS):
        for indices, noise in loader:
            seen = indices.tolist(), noise.tolist() if not workers else None, float(torch.rand(()))
            yield seen, loader.state_dict(), torch.get_rng_state(), epoch
        yield None, loader.state_dict(), torch.get_rng_state(), epoch + 1


KINDS = {
    "shuffled": lambda: {"batch_size": 4, "shuffle": True},
    "in order": lambda: {"batch_size": 4},
    "drop last": lambda: {"batch_size": 4, "shuffle": True, "drop_last": True},
    "own generator": lambda: {
        "batch_size": 4,
        "shuffle": True,
        "generator": torch.Generator().manual_seed(3),
    },
    "weighted": lambda: {"batch_size": 4, "sampler": WeightedRandomSampler(torch.ones(SIZE), SIZE)},
    "batches": lambda: {"batch_sampler": BatchSampler(RandomSampler(range(SIZE)), 5, drop_last=False)},
}


@pytest.fixture(autouse=True)
def handler_of_torch():
    """torch watches its workers with a handler that it never takes away."""
    before = signal.getsignal(signal.SIGCHLD)
    yield
    signal.signal(signal.SIGCHLD, before)


@pytest.mark.parametrize(
    ("kind", "workers"),
    [*((kind, 0) for kind in KINDS), ("shuffled", 2), ("own generator", 2), ("batches", 2)],
)
def test_a_loader_goes_on_from_every_place(kind, workers):
    def built():
        return premortem.ResumableLoader(Noisy(), num_workers=workers, **KINDS[kind]())

    torch.manual_seed(0)
    whole = list(epochs(built(), 0, workers))
    for place, (_, state, drawn, epoch) in enumerate(whole):
        if workers and place % 5:  # starting workers takes its time
            continue
        torch.manual_seed(99)
        loader = built()
        loader.load_state_dict(state)
        torch.set_rng_state(drawn)
        assert loader.epoch == epoch
        rest = [seen for seen, *_ in epochs(loader, loader.epoch, workers)]
        assert rest == [seen for seen, *_ in whole[place + 1 :]], place


def test_every_sample_comes_exactly_once_though_workers_fetch_ahead():
    loader = premortem.ResumableLoader(Noisy(), batch_size=2, shuffle=True, num_workers=2, prefetch_factor=4)
    iterator = iter(loader)
    first = [index for _ in range(3) for index in next(iterator)[0].tolist()]
    state = loader.state_dict()
    del iterator
    other = premortem.ResumableLoader(Noisy(), batch_size=2, shuffle=True)
    other.load_state_dict(state)
    rest = [index for indices, _ in other for index in indices.tolist()]
    assert sorted(first + rest) == list(range(SIZE))
    assert sorted(index for indices, _ in other for index in indices.tolist()) == list(range(SIZE))


def test_a_loader_is_the_dataloader_it_stands_for():
    def seen(kind):
        torch.manual_seed(7)
        loader = kind(Noisy(), batch_size=4, shuffle=True)
        return len(loader), [
            (indices.tolist(), noise.tolist()) for _ in range(2) for indices, noise in loader
        ]

    assert seen(premortem.ResumableLoader) == seen(DataLoader)


def test_an_epoch_that_was_broken_off_is_followed_by_a_whole_one():
    loader = premortem.ResumableLoader(Noisy(), batch_size=4)
    next(iter(loader))
    assert [index for indices, _ in loader for index in indices.tolist()] == list(range(SIZE))
    assert loader.epoch == 2


def test_the_sampler_alone_keeps_the_order_of_a_loader_without_workers(tmp_path):
    def built():
        sampler = premortem.ResumableSampler(RandomSampler(Noisy()))
        return DataLoader(Noisy(), batch_size=4, sampler=sampler)

    model = torch.nn.Linear(1, 1)
    loader = built()
    iterator = iter(loader)
    first = [index for _ in range(3) for index in next(iterator)[0].tolist()]
    with premortem.Vault(tmp_path) as vault:
        vault.save(3, model=model, loader=loader)
        other = built()
        assert "loader" in vault.resume(model=model, loader=other, quiet=True).restored
    rest = [index for indices, _ in other for index in indices.tolist()]
    assert sorted(first + rest) == list(range(SIZE))


# torchdata touches names of torch that are on their way out.
@pytest.mark.filterwarnings("ignore:.*is deprecated:UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("taken", [0, 2, 5, 6])
def test_torchdatas_loader_goes_on_too(tmp_path, workers, taken):
    from torchdata.stateful_dataloader import StatefulDataLoader

    model = torch.nn.Linear(1, 1)

    def built():
        return StatefulDataLoader(Noisy(), batch_size=4, shuffle=True, num_workers=workers)

    def seen(loader):
        for indices, _ in loader:
            yield indices.tolist(), float(torch.rand(()))

    torch.manual_seed(0)
    loader = built()
    iterator = seen(loader)
    for _ in range(taken):
        next(iterator)
    with premortem.Vault(tmp_path) as vault:
        vault.save(1, model=model, loader=loader)
    rest = [*iterator, *seen(loader)]
    torch.manual_seed(9)
    other = built()
    with premortem.Vault(tmp_path) as vault:
        vault.resume(model=model, loader=other, quiet=True)
    resumed = list(seen(other))
    assert [*resumed, *seen(other)] == rest


def test_every_process_goes_on_in_its_own_share():
    def built(rank):
        sampler = DistributedSampler(Noisy(), num_replicas=2, rank=rank, seed=3)
        return premortem.ResumableLoader(Noisy(), batch_size=4, sampler=sampler)

    def seen(loader, epoch):
        loader.order.set_epoch(epoch)
        for indices, _ in loader:
            yield indices.tolist()

    whole = {rank: [*seen(built(rank), 0), *seen(built(rank), 1)] for rank in (0, 1)}
    assert sorted({index for batches in whole.values() for batch in batches for index in batch}) == list(
        range(SIZE)
    )
    first = built(0)
    list(seen(first, 0))
    iterator = seen(first, 1)
    next(iterator)
    state = first.state_dict()  # the first process writes
    for rank in (0, 1):
        loader = built(rank)
        loader.load_state_dict(state)
        assert loader.epoch == 1
        assert list(seen(loader, 1)) == whole[rank][4:]


def test_another_amount_of_data_is_refused():
    loader = premortem.ResumableLoader(Noisy(), batch_size=4, shuffle=True)
    iterator = iter(loader)
    next(iterator)
    smaller = premortem.ResumableLoader(list(range(9)), batch_size=4, shuffle=True)
    with pytest.raises(UsageError, match="names sample 22, and the data now has 9"):
        smaller.load_state_dict(loader.state_dict())


def test_wrong_uses_are_told():
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([1])

    with pytest.raises(UsageError, match="StatefulDataLoader"):
        premortem.ResumableLoader(Stream())
    with pytest.raises(UsageError, match="shuffle=True"):
        premortem.ResumableLoader([1, 2], sampler=SequentialSampler([1, 2]), shuffle=True)
