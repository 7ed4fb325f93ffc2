"""Rehearsals that go on from the middle of the script: real processes."""

import pytest

from premortem.fit import gpus
from premortem.fit.trials import Asked, NotRehearsed, Trials

# What is printed before `argparse` is printed once, however many rehearsals there are.
SCRIPT = """
import argparse, pathlib
print("imported")
import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
options = parser.parse_args()
data = TensorDataset(torch.randn(640, 256), torch.randint(8, (640,)))
loader = DataLoader(data, batch_size=options.batch_size)
{output}
model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 8)).to("cuda")
optimizer = AdamW(model.parameters())
for x, y in loader:
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x.to("cuda")), y.to("cuda")).backward()
    optimizer.step()
"""


@pytest.fixture
def trials(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = []

    def make(output=""):
        (tmp_path / "train.py").write_text(SCRIPT.format(output=output))
        card = gpus.by_name("24GiB")
        asked = Asked(target="train.py", module=False, argv=[], gpu=card, device="24GiB", seconds=200.0)
        made.append(Trials(asked))
        made[-1].whole = []
        launched = made[-1]._launched
        monkeypatch.setattr(
            made[-1], "_launched", lambda order: made[-1].whole.append(order) or launched(order)
        )
        return made[-1]

    yield make
    for each in made:
        each.close()


def lever(base, kind):
    return next(each for each in base["levers"] if each["kind"] == kind)


def test_other_batches_and_changes_begin_where_they_differ(trials):
    asked = trials()
    base = asked.base()
    assert base["templates"] == {"argument": "argument", "loader": "loader", "changes": "model"}
    assert lever(base, "loader")["samples"] == 640
    larger = asked.of(lever=lever(base, "argument"), batch=64)
    assert (base["batch"], larger["batch"]) == (16, 64)
    assert asked.of(lever=lever(base, "loader"), batch=32)["batch"] == 32
    assert asked.of(changes=["fused-optimizer"])["batch"] == 16
    assert asked.whole == []
    # The script holds the optimizer's class already: this one has to begin with its first line.
    smaller = asked.of(changes=["adafactor"])
    assert asked.whole == [{"changes": ["adafactor"]}]
    assert smaller["kinds"]["optimizer state"] < base["kinds"]["optimizer state"]


def test_a_folder_that_an_earlier_rehearsal_has_made_is_no_reason_to_fail(trials):
    asked = trials(output='pathlib.Path("out").mkdir()')
    base = asked.base()
    order = {"lever": lever(base, "argument"), "batch": 32}
    assert asked.of(**order)["batch"] == 32
    assert asked.whole == [order]


def test_a_batch_with_which_the_script_fails_is_said_with_its_error(trials):
    asked = trials(output='assert options.batch_size < 64, "too many"')
    base = asked.base()
    with pytest.raises(NotRehearsed, match=r"AssertionError.*too many"):
        asked.of(lever=lever(base, "argument"), batch=128)
    assert asked.whole == []
