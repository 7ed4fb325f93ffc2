"""The script's own files, read beside a real run."""

import gc
import json
import os
import sys
import textwrap
from pathlib import Path

import pytest

from premortem.convictions.table import READ
from premortem.lint import imported
from premortem.run.suspicions import Suspicions
from tests import starting

LAYERS = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            layer = nn.Linear(8, 8)
            self.blocks = nn.ModuleList([layer for _ in range(3)])
            self.head = nn.Linear(8, 1)

        def forward(self, x):
            for block in self.blocks:
                x = torch.tanh(block(x))
            return self.head(x)
"""
TRAIN = """
    import torch
    from net import Net

    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
    x = torch.randn(64, 8)
    y = x.sum(1, keepdim=True)
    for step in range(40):
        batch = x[step % 4 * 16 : step % 4 * 16 + 16]
        target = y[step % 4 * 16 : step % 4 * 16 + 16]
        batch.clamp(-1, 1)
        assert batch.shape == (16, 8)
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(batch), target)
        loss.backward()
        optimizer.step()
        wait(step)
    print("done")
"""
# Nothing tells a script that its files were read: it waits until the thread that reads them is over.
WAITING = """
    import threading
    import time

    def wait(step):
        while step == 1 and any(thread.name == "premortem-reading" for thread in threading.enumerate()):
            time.sleep(0.01)
"""


def written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(textwrap.dedent(text))
    return str(folder / name)


def run(folder: Path, script: str) -> list[dict]:
    out = folder / "findings.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "premortem", "run", "--quiet", "--findings", str(out), script]
    done = starting.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text())["findings"]


def test_a_run_convicts_what_stands_in_a_module_that_it_imports(tmp_path):
    written(tmp_path, "net.py", LAYERS)
    written(tmp_path, "train.py", WAITING + TRAIN)
    findings = run(tmp_path, "train.py")
    told = {(f["code"], Path(f["where"]["file"]).name, f["certainty"], f["severity"]) for f in findings}
    assert told == {
        ("PM520", "net.py", "proved", "error"),
        ("PM501", "train.py", "proved", "error"),
    }
    (dropped,) = [f for f in findings if f["code"] == "PM501"]
    assert "\n+    batch = batch.clamp(-1, 1)\n" in dropped["evidence"]["patch"]["diff"]


def test_the_first_finding_waits_for_the_files_and_takes_nothing_away(tmp_path, monkeypatch):
    script = written(tmp_path, "train.py", "import torch\nx = torch.ones(2)\nx.clamp(0, 1)\nprint(x + 1)\n")
    monkeypatch.setattr("premortem.run.reading.own_files", lambda: [script])
    suspicions = Suspicions(pytest.fail)
    assert suspicions.ahead(may_begin=False) is None, "before the first step more files may come"
    ahead = suspicions.ahead(may_begin=True) or suspicions._reading.look(60)
    assert [one.card.code for one in ahead.suspicions] == ["PM501"]
    assert suspicions.ahead(may_begin=True) is None, "it waits once"
    assert suspicions.read(None, 3, 60).suspicions == ahead.suspicions


def test_suspicions_without_an_effect_are_not_told(tmp_path):
    good = LAYERS.replace("[layer for _ in range(3)]", "[nn.Linear(8, 8) for _ in range(3)]")
    written(tmp_path, "net.py", good)
    unused = """
    def unused(layer=None):
        block = torch.nn.Linear(8, 8)
        return torch.nn.ModuleList([block for _ in range(3)])
    """
    path = tmp_path / "train.py"
    harmless = TRAIN.replace("batch.clamp(-1, 1)", "batch.clamp(-1e9, 1e9)")
    written(tmp_path, "train.py", WAITING + harmless + unused)
    suspected = {one.card.code for one in imported.read([str(path)], READ).suspicions}
    assert suspected == {"PM501", "PM520"}
    assert run(tmp_path, "train.py") == []


def test_reading_changes_nothing_of_the_process(tmp_path):
    script = written(tmp_path, "train.py", "import torch\nx = torch.ones(2)\nx.clamp(0, 1)\nprint(x + 1)\n")
    before = gc.isenabled()
    read = imported.read([script, str(tmp_path / "gone.py")], READ)
    assert gc.isenabled() is before
    assert read.files == 1
    assert sorted(tmp_path.iterdir()) == [Path(script)]


def test_comments_and_settings_silence_here_too(tmp_path):
    body = "import torch\ndef f(x):\n    x.clamp(0, 1){}\n    return x + x.shape[0]\n"
    loud = written(tmp_path, "a.py", body.format(""))
    quiet = written(tmp_path, "b.py", body.format("  # premortem: ignore[PM501]"))
    assert [one.file for one in imported.read([loud, quiet], READ).suspicions] == [loud]
    (tmp_path / "pyproject.toml").write_text('[tool.premortem]\nignore = ["PM501"]\n')
    assert imported.read([loud, quiet], READ).suspicions == ()


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("val_acc", ["val_acc"]),
        ("score", ["score", "accuracy"]),
        ("metrics['val_f1'].item()", ["val_f1"]),
        ("-val_acc", []),
        ("1 - score", []),
    ],
)
def test_a_call_says_by_which_names_its_number_came(tmp_path, given, names):
    code = f"""
    def accuracy(x):
        return x.mean()

    def train(plateau, val_acc, metrics, x):
        score = accuracy(x)
        plateau.step({given})
    """
    script = written(tmp_path, "train.py", code)
    found = [list(one.names) for one in imported.read([script], READ).arguments]
    assert [[name for name in some if name != "x"] for some in found] == ([names] if names else [])


def test_a_reading_that_fails_ends_the_waiting(monkeypatch):
    """Else the events that effects wait for would be kept for the whole run."""
    from premortem.lint import imported
    from premortem.run.reading import Reading

    faults = []
    monkeypatch.setattr(imported, "read", lambda *_: 1 / 0)
    reading = Reading(lambda unit, error: faults.append((unit, type(error))))
    reading.begin()
    read = reading.take(patience=30.0)
    assert (read.files, read.suspicions) == (0, ())
    assert faults == [("reading", ZeroDivisionError)]
