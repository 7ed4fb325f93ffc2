"""Samples that make steps fail are written down by one run, with their proof, and left out by the next."""

import json
import signal
import sys

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)

from premortem.actions.samples_left_out import SamplesLeftOut
from premortem.command_line import split
from premortem.errors import UsageError
from premortem.events import Autopsied, Samples, SamplesBroken
from premortem.probes import Attachment
from premortem.run.command import parser
from premortem.run.quarantine import Quarantine, read
from tests import starting

SCRIPT = """
import sys, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
torch.manual_seed(0)

class Readings(Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(96, 3), torch.randn(96, 1)
        self.x[17, 1] = float("nan")   # broken as it is read
        self.x[40] = 0.0               # broken by what the model does with it
    def __len__(self):
        return len(self.x)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 1)
    def forward(self, x):
        return self.inner(x / x.norm(dim=1, keepdim=True))

if __name__ == "__main__":
    train, held_out = random_split(Readings(), [90, 6], generator=torch.Generator().manual_seed(2))
    assert 17 in train.indices and 40 in train.indices
    loader = DataLoader(train, batch_size=6, shuffle=True, num_workers=int(sys.argv[1]))
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    losses = []
    for epoch in range(2):
        for x, y in loader:
            loss = nn.functional.mse_loss(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    print("batches", len(loader), "finite", all(l == l for l in losses))
"""


def run(folder, *words):
    """A real process: the loader's workers and the autopsy are processes of its own."""
    command = [sys.executable, "-m", "premortem", "run", "--findings", "f.json", *words]
    return starting.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=300)


@pytest.mark.skipif(sys.platform != "linux", reason="the sandbox of the autopsy is Linux's")
def test_a_run_fails_and_the_next_one_goes_on_without_its_broken_samples(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PREMORTEM_AUTOPSY", "1")
    (tmp_path / "train.py").write_text(SCRIPT)
    first = run(tmp_path, "train.py", "0")
    assert "batches 15 finite False" in first.stdout, first.stderr
    (written,) = tmp_path.glob(".premortem/runs/*/quarantine.json")
    samples = {sample["index"]: sample for sample in json.loads(written.read_text())["samples"]}
    assert set(samples) == {17, 40}, first.stderr
    assert {sample["dataset"] for sample in samples.values()} == {"Readings"}
    assert samples[40]["certainty"] == "proved"
    assert SCRIPT.splitlines()[samples[40]["where"]["line"] - 1].strip().startswith("return self.inner(x / ")
    command = next(
        line for line in first.stderr.splitlines() if line.strip().startswith("premortem run --quarantine")
    )
    file = command.split()[3]
    assert command.split()[4:] == ["train.py", "0"]

    found = json.loads((tmp_path / "f.json").read_text())["findings"]
    code = next(each["code"] for each in found if each["certainty"] == "proved")
    explain = [sys.executable, "-m", "premortem", "explain", code]
    page = starting.run(explain, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "(proved)" in page
    assert "`Readings[" in page
    words = [*explain, "--format", "json"]
    (entry,) = json.loads(
        starting.run(words, check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    )
    assert entry["last"]["finding"]["certainty"] == "proved"
    assert entry["last"]["run"] == written.parent.name

    second = run(tmp_path, "--quarantine", file, "train.py", "1")
    assert second.returncode == 0, second.stderr
    assert "batches 15 finite True" in second.stdout  # 88 samples in batches of 6
    record = json.loads((tmp_path / "f.json").read_text())
    assert [f["code"] for f in record["findings"] if f["severity"] != "info"] == []
    (told,) = record["run"]["quarantine"]["left_out"]
    assert "2 of 96 samples of `Readings` left out (17, 40)" in told
    assert "2 of 96 samples of `Readings` left out (17, 40)" in second.stderr.replace("\n    ", " ")


@pytest.fixture
def left_out():
    """`left_out(dataset, indices)` leaves them out from now on."""
    attachments = []

    def begin(dataset, *indices):
        attachment = Attachment(lambda _event: None, lambda _unit, error: pytest.fail(repr(error)))
        attachments.append(attachment)
        made = SamplesLeftOut(attachment, {(type(dataset).__name__, len(dataset)): frozenset(indices)})
        made.install()
        return made

    yield begin
    for attachment in attachments:
        attachment.detach()


def drawn(loader):
    return [int(number) for batch in loader for number in torch.as_tensor(batch[0]).reshape(-1)]


DATA = TensorDataset(torch.arange(20))


def test_the_rest_comes_in_the_order_that_it_would_have_had(left_out):
    torch.manual_seed(3)
    whole = drawn(DataLoader(DATA, batch_size=4, shuffle=True))
    left_out(DATA, 5, 11)
    torch.manual_seed(3)
    loader = DataLoader(DATA, batch_size=4, shuffle=True)
    batches = list(loader)
    assert [int(n) for (batch,) in batches for n in batch] == [n for n in whole if n not in (5, 11)]
    assert len(loader) == len(batches) == 5
    assert [len(batch) for (batch,) in batches] == [4, 4, 4, 4, 2], "batches stay full"
    assert isinstance(loader.sampler, RandomSampler), "the script's own objects are as they were"
    assert type(loader.batch_sampler) is BatchSampler


def test_subsets_other_samplers_and_single_samples(left_out):
    one, other = random_split(DATA, [12, 8], generator=torch.Generator().manual_seed(0))
    seen = left_out(DATA, 5, 11)
    both = [set(drawn(DataLoader(part, batch_size=3))) for part in (one, other)]
    assert both[0] | both[1] == set(range(20)) - {5, 11}
    assert sum(len(DataLoader(part, batch_size=1)) for part in (one, other)) == 18
    weighted = WeightedRandomSampler(torch.ones(20), 400)
    assert not {5, 11} & set(drawn(DataLoader(DATA, batch_size=7, sampler=weighted)))
    assert drawn(DataLoader(DATA, batch_size=None)) == [n for n in range(20) if n not in (5, 11)]
    own = DataLoader(DATA, batch_sampler=[[5, 6], [11], [5, 7, 11]])
    assert [batch.tolist() for (batch,) in own] == [[6], [7]]
    assert seen.left_out == {("TensorDataset", 20): {5, 11}}


def test_ranks_keep_as_many_batches_each(left_out):
    left_out(DATA, 5, 11)
    for rank in range(2):
        sampler = DistributedSampler(DATA, num_replicas=2, rank=rank, shuffle=False)
        loader = DataLoader(DATA, batch_size=2, sampler=sampler)
        numbers = drawn(loader)
        assert len(numbers) == 10
        assert len(loader) == 5
        assert not {5, 11} & set(numbers)


def test_other_datasets_are_left_alone(left_out):
    left_out(DATA, 5)
    assert len(drawn(DataLoader(TensorDataset(torch.arange(21)), batch_size=4))) == 21

    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(6))

    assert len(drawn([(batch,) for batch in DataLoader(Stream(), batch_size=2)])) == 6


def test_the_numbers_of_a_batch_are_known_also_when_workers_make_it_ahead():
    handler = signal.getsignal(signal.SIGCHLD)  # torch's loaders set their own
    attachment = Attachment(lambda _event: None, lambda _unit, error: pytest.fail(repr(error)))
    try:
        part, _ = random_split(DATA, [14, 6], generator=torch.Generator().manual_seed(1))
        for workers in (0, 2):
            loader = DataLoader(
                part, batch_size=4, shuffle=True, num_workers=workers, persistent_workers=workers > 0
            )
            for _ in range(2):
                for (batch,) in loader:
                    named = attachment.session.batch.samples()
                    assert named == Samples("TensorDataset", 20, tuple(batch.tolist()))
            del loader
    finally:
        attachment.detach()
        signal.signal(signal.SIGCHLD, handler)


def test_what_was_found_is_added_to_what_was_given(tmp_path):
    found = Quarantine()
    found.observe(SamplesBroken(step=4, samples=Samples("Rows", 9, (3, 5)), batch=4))
    record = {
        "reproduced": True,
        "certificate": {"stage": "forward", "op": "log", "detail": "the logarithm of 0"},
        "samples": {"dataset": "Rows", "length": 9, "indices": [5, 7]},
    }
    found.observe(Autopsied(step=4, record=record))
    found.observe(Autopsied(step=6, record={**record, "samples": None}))
    again = read(found.write(tmp_path))
    assert [sample.certainty for sample in again.samples.values()] == ["measured", "proved", "proved"]
    assert again.new == 0
    again.observe(SamplesBroken(step=1, samples=Samples("Rows", 9, (8,))))
    assert again.by_dataset() == {("Rows", 9): frozenset({3, 5, 7, 8})}
    assert again.sentences({("Rows", 9): {3}}) == [
        "1 of 9 samples of `Rows` left out (3): it holds NaN or infinity as the loader hands it out"
    ]
    assert "not drawn from" in again.sentences({})[0]


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"samples": [{"dataset": "A", "length": 3, "index": -1}]}', '{"samples": [3]}']
)
def test_a_file_that_is_none_is_refused(tmp_path, monkeypatch, text):
    (tmp_path / "q.json").write_text(text)
    with pytest.raises(UsageError, match="not a list of samples"):
        read(tmp_path / "q.json")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "other.json")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no run in"):
        read(None)


def test_the_file_may_be_left_away():
    assert split(parser(), ["--quarantine", "train.py", "x.json"]).argv == ["x.json"]
    named = split(parser(), ["--quarantine", "q.json", "--quiet", "train.py"])
    assert (named.options, named.target) == (["--quarantine", "q.json", "--quiet"], "train.py")
