"""What trackers are told, read back with their own readers."""

from __future__ import annotations

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from premortem.events import StepStats
from premortem.sinks.base import Outcome
from tests import starting

BROKEN = Path(__file__).with_name("broken.py")


def run(folder: Path, sink: str, *words: str, **environment: str) -> dict[str, dict]:
    """The findings of the run, by code."""
    command = [sys.executable, "-m", "premortem", "run", "--findings", "found.json", "--sink", sink]
    done = starting.run(
        [*command, BROKEN, *words], cwd=folder, env={**os.environ, "OMP_NUM_THREADS": "1", **environment}
    )
    assert done.returncode == 0, done.stderr
    assert "did not get the message" not in done.stderr, done.stderr
    found = json.loads((folder / "found.json").read_text())["findings"]
    assert "PM103" in {finding["code"] for finding in found}
    return {finding["code"]: finding for finding in found}


def test_tensorboard(tmp_path: Path) -> None:
    accumulators = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
    )
    found = run(tmp_path, "tensorboard:board")
    board = accumulators.EventAccumulator(str(tmp_path / "board"), {"scalars": 0, "tensors": 0})
    board.Reload()
    losses = {event.step: event.value for event in board.Scalars("premortem/loss")}
    assert len(losses) > 10
    assert all(map(math.isfinite, losses.values()))
    assert 41 not in losses, "it was not finite there"
    assert [event.step for event in board.Scalars("premortem/loss_not_finite")] == [41]
    texts = [
        (event.step, event.tensor_proto.string_val[0].decode())
        for event in board.Tensors("premortem/finding/text_summary")
    ]
    step, text = next((step, text) for step, text in texts if "PM103" in text)
    assert step == found["PM103"]["step"]
    assert found["PM103"]["message"] in text
    (verdict,) = board.Tensors("premortem/verdict/text_summary")
    assert all(code in verdict.tensor_proto.string_val[0].decode() for code in found)


def read(tracker: str, place: str, **environment: str) -> dict:
    """By the tracker's own reader."""
    reader = [sys.executable, str(BROKEN.with_name("reading.py")), tracker, place]
    done = subprocess.run(
        reader, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


@pytest.mark.skipif(not installed("mlflow"), reason="mlflow is not installed")
@pytest.mark.parametrize("own", ["", "mlflow"], ids=["without a run of the script's", "on the script's run"])
def test_mlflow(tmp_path: Path, own: str) -> None:
    store = f"file://{tmp_path}/store"
    words = [own] if own else []
    found = run(tmp_path, "mlflow", *words, MLFLOW_TRACKING_URI=store, MLFLOW_ALLOW_FILE_STORE="true")
    marked = read("mlflow", store, MLFLOW_ALLOW_FILE_STORE="true")
    assert marked["status"] == "FINISHED"
    assert found["PM103"]["message"] in marked["tags"]["premortem.PM103"]
    assert "warning" in marked["tags"]["premortem.verdict"]
    losses = dict(marked["metrics"]["premortem/loss"])
    assert len(losses) > 10
    assert all(map(math.isfinite, losses.values()))
    assert 41 not in losses
    assert marked["metrics"]["premortem/loss_not_finite"] == [[41, 1.0]]
    assert len(marked["metrics"]["mine"]) == (60 if own else 0), "the script's own metrics are untouched"
    assert {finding["code"] for finding in json.loads(marked["page"])} == found.keys()


@pytest.mark.skipif(not installed("wandb"), reason="wandb is not installed")
@pytest.mark.parametrize("own", ["", "wandb"], ids=["without a run of the script's", "on the script's run"])
def test_wandb_offline(tmp_path: Path, own: str) -> None:
    found = run(tmp_path, "wandb:other", *([own] if own else []), WANDB_MODE="offline", WANDB_SILENT="true")
    marked = read("wandb", str(tmp_path / "wandb"))
    assert len(marked["ids"]) == 1, (
        "one run, also when its last part was written after the script had ended it"
    )
    assert found["PM103"]["message"] in marked["summary"]["premortem/PM103"]
    assert "warning" in marked["summary"]["premortem/verdict"]
    assert "premortem-warning" in marked["tags"]
    losses = {r["premortem/step"]: r["premortem/loss"] for r in marked["history"] if "premortem/loss" in r}
    assert len(losses) > 1
    assert losses.pop(41, None) is None, "no number stands in for one that is not finite"
    assert all(isinstance(loss, float) for loss in losses.values()), "NaN and infinity are strings there"
    assert 41 in {row.get("premortem/loss_not_finite") for row in marked["history"]}
    mine = [row["mine"] for row in marked["history"] if "mine" in row]
    assert mine == (list(range(60)) if own else []), "the script's own rows are untouched"


def test_wandb_rows_sent_while_the_script_ends_its_run_are_sent_again(monkeypatch):
    tracker = SimpleNamespace(run=None)  # loaded for the sink alone: the real one leaves threads behind
    monkeypatch.setitem(sys.modules, "wandb", tracker)
    spec = importlib.util.find_spec("premortem.sinks.wandb")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Run:
        id, project, entity, step = "one", "mine", "", 0

        def __init__(self, *, ending=False):
            self.ending, self.rows, self.summary, self.tags = ending, [], {}, ()

        def log(self, row, commit=True):
            if not self.ending:
                self.rows.append(row["premortem/step"])

        def finish(self): ...

    def step(number):
        return StepStats(step=number, optimizer=1, loss=1.0, grad_norm=1.0, worst=None, lr=0.1)

    own, again = Run(), Run()
    sink = module.WandB("")
    monkeypatch.setattr(sink, "_reopened", lambda: again)
    tracker.run = own
    sink.notice()
    sink.steps([step(1)])
    own.step = 1  # the script's next row has it
    own.ending = True  # wandb takes rows, and writes none of them
    sink.steps([step(2), step(3)])
    tracker.run = None
    sink.steps([step(4)])  # not even asked: the run is over
    sink.notice()
    sink.ended(Outcome(steps=4))
    assert (own.rows, again.rows) == ([1], [2, 3, 4])
