"""Speed-ups on whole scripts: each in a process of its own, on this machine's CPU."""

import json
import linecache
import sys
from pathlib import Path

import pytest

from premortem.errors import UsageError
from premortem.fit.speed import SpeedOptions, measure
from tests import starting

SCRIPTS = Path(__file__).parent / "scripts"
VIDEO = SCRIPTS / "video_restoration.py"


def measured(script, *only, seconds=20.0, **options):
    return measure(
        SpeedOptions(target=str(script), only=only, seconds=seconds, backend="aot_eager", **options)
    )


def rows(report):
    assert report.problem == ""
    assert report.baseline_ms
    return {row.name: row for row in report.rows}


@pytest.mark.exhaustive
def test_a_video_model_gets_each_speed_up_in_its_right_form(tmp_path, monkeypatch):
    """Five-dimensional clips, both kinds of convolutions, drop path, reentrant checkpoints."""
    monkeypatch.chdir(tmp_path)
    report = measured(VIDEO, "channels-last", "autocast", "fused-optimizer", "non-reentrant-checkpoint")
    found = rows(report)
    assert {name for name in found if "+" not in name} == {
        "channels-last",
        "autocast",
        "fused-optimizer",
        "non-reentrant-checkpoint",
    }
    assert all(row.agrees for row in found.values())
    last = found["channels-last"]
    assert last.gradient_error < 1e-5
    assert last.note == "the outputs of 3 of 3 convolutions followed"
    assert "model.to(memory_format=...) would raise" in last.how
    assert found["autocast"].note == "15 of 15 linear layers and convolutions ran in bfloat16"
    assert 1e-5 < found["autocast"].gradient_error < 0.1
    assert found["non-reentrant-checkpoint"].gradient_error < 1e-6
    assert report.random  # drop path
    assert report.steps_per_epoch == 4
    assert list(tmp_path.iterdir()) == []  # the script saves its model


@pytest.mark.exhaustive
def test_a_video_model_with_drop_path_under_checkpoints_compiles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = measured(VIDEO, "compile", "compile-blocks", seconds=60.0)
    found = rows(report)
    assert found["compile"].agrees
    assert found["compile-blocks"].agrees
    assert found["compile-blocks"].note.startswith("3 blocks (Block)")
    assert found["compile-blocks"].how == "for block in model.blocks: block.compile()"
    assert (report.graphs, report.graph_breaks) == (1, [])


def test_graph_breaks_and_recompiles_are_named_with_their_lines():
    script = SCRIPTS / "branching.py"
    report = measured(script, "compile")
    assert rows(report)["compile"].agrees
    (broken,) = report.graph_breaks
    assert broken["reason"] == "a branch on the value of a tensor"
    assert broken["file"] == str(script)
    assert linecache.getline(str(script), broken["line"]).strip() == "if h.sum() > 1e6:"
    assert report.graphs == 2
    again = report.recompiles[0]  # the last batch is smaller
    assert linecache.getline(str(script), again["line"]).strip() == "def forward(self, x):"


HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters())
def step(number):
    x = torch.randn(16, 8)
    loss = (model(x) - x.sum(1, keepdim=True) * number).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def script(tmp_path, text):
    path = tmp_path / "train.py"
    path.write_text(HEAD + text)
    return path


@pytest.mark.exhaustive
def test_a_loop_that_is_over_too_soon_is_said(tmp_path):
    report = measured(script(tmp_path, "for n in range(12): step(1)\n"), "fused-optimizer")
    assert "ended before all was measured" in report.problem
    assert report.recommended == ""


@pytest.mark.exhaustive
def test_steps_that_depend_on_the_loop_are_no_measure(tmp_path):
    report = measured(script(tmp_path, "for n in range(100000): step(n % 2)\n"), "fused-optimizer")
    assert rows(report)["fused-optimizer"].agrees is None
    assert report.recommended == ""
    assert "nothing can be shown to agree" in report.advice[0]


def test_a_script_that_trains_nothing_is_said(tmp_path):
    report = measured(script(tmp_path, "print(model(torch.ones(1, 8)))\n"))
    assert report.problem.startswith("no optimizer of the script's made a step")


@pytest.mark.exhaustive
def test_what_does_not_apply_is_skipped_with_its_reason(tmp_path):
    text = "model = torch.compile(model, backend='eager')\nwith torch.autocast('cpu'):\n    for n in range(100000): step(1)\n"
    report = measured(script(tmp_path, text), seconds=10.0)
    assert report.skipped["compile"] == "the script compiles its model already"
    assert report.skipped["autocast"] == "the script uses autocast already"
    assert report.skipped["channels-last"] == "the model has no two- or three-dimensional convolutions"
    assert report.skipped["non-reentrant-checkpoint"] == "the model uses no checkpoints"
    assert rows(report)["without-compile"].agrees


def test_a_name_that_does_not_exist(tmp_path):
    with pytest.raises(UsageError, match="there is no candidate `fast`; there are autocast, channels-last"):
        measured(script(tmp_path, ""), "fast")


def test_from_the_command_line(tmp_path):
    path, result = script(tmp_path, "for n in range(100000): step(1)\n"), tmp_path / "speed.json"
    command = [
        sys.executable,
        "-m",
        "premortem",
        "fit",
        "--speed",
        "--only",
        "fused-optimizer",
        "--seconds",
        "5",
    ]
    done = starting.run(
        [*command, "--json", str(result), str(path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr  # how far it is goes there on a slow machine
    assert "as it is" in done.stdout
    record = json.loads(result.read_text())
    assert [row["name"] for row in record["rows"]] == ["fused-optimizer"]


def test_a_closure_makes_its_gradients_inside_the_step(tmp_path):
    text = """
for n in range(100000):
    def closure():
        x = torch.randn(16, 8)
        loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        return loss
    optimizer.step(closure)
"""
    row = rows(measured(script(tmp_path, text), "fused-optimizer", "autocast"))["autocast"]
    assert row.agrees
    assert row.gradient_error > 1e-5


def test_a_speed_up_that_fails_does_not_end_the_script(tmp_path):
    text = """
class Picky(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 1)
    def forward(self, x):
        out = self.fc(x)
        if out.dtype == torch.bfloat16:
            raise ValueError("not with me")
        return out
model = Picky()
optimizer = torch.optim.Adam(model.parameters())
for n in range(100000): step(1)
"""
    found = rows(measured(script(tmp_path, text), "fused-optimizer", "autocast"))
    assert found["autocast"].error == "ValueError: not with me"
    assert found["fused-optimizer"].milliseconds
