"""Ctrl-C and SIGTERM, to real processes: what was found by then is shown and written, and no process is left."""

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import starting
from tests.scriptrun.test_ending import of_folder, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes as Linux shows them")

# With any other batch than its own it does not get to a step.
FIT = """
import argparse, time
import torch
from torch import nn
parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
options = parser.parse_args()
if options.batch_size != 16:
    time.sleep(600)
model = nn.Linear(64, 64).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(9):
    optimizer.zero_grad()
    model(torch.randn(options.batch_size, 64, device="cuda")).pow(2).mean().backward()
    optimizer.step()
"""
STEPS = """
import time
import torch
from torch import nn
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 4)
for step in range({steps}):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
time.sleep({then})
"""


class Started:
    def __init__(self, folder, script, *words):
        (folder / "train.py").write_text(script)
        self.folder = folder
        self.process = starting.Popen(
            [sys.executable, "-m", "premortem", *words, "--json", "answer.json", "train.py"],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.out = ""

    def until(self, word):
        while word not in self.out:
            line = self.process.stdout.readline()
            assert line, self.out + self.process.stderr.read()
            self.out += line

    def interrupt(self, number):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        assert "Traceback" not in out + err
        assert wait_until(lambda: not of_folder(self.folder)), "no process is left"
        return self.process.returncode, self.out + out, json.loads((self.folder / "answer.json").read_text())


@pytest.fixture
def started(tmp_path):
    running = []

    def start(script, *words):
        running.append(Started(tmp_path, script, *words))
        return running[-1]

    yield start
    for each in running:
        each.process.kill()
        each.process.wait()
        each.process.stdout.close()
        each.process.stderr.close()


def test_fit_keeps_its_prediction(started):
    fit = started(FIT, "fit", "--device", "24GiB")
    fit.until("It fits")
    code, out, answer = fit.interrupt(signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert answer["verdict"] == "fits"
    assert answer["largest_batch"] is None
    assert any("interrupted" in note for note in answer["notes"])
    assert out.count("It fits") == 1


def test_fit_ends_in_the_time_it_was_given(started):
    began = time.monotonic()
    seconds = 45 if starting.real() else 20  # a real process loads torch first
    fit = started(FIT, "fit", "--device", "24GiB", "--seconds", str(seconds))
    fit.process.wait(timeout=100)
    assert time.monotonic() - began < seconds + 15
    answer = json.loads((fit.folder / "answer.json").read_text())
    assert answer["verdict"] == "fits"
    assert "the largest batch" in answer["untried"]
    assert wait_until(lambda: not of_folder(fit.folder))


def test_drill_keeps_the_mutants_that_are_done(started):
    mutants = "zero-grad-dropped,rate-zero,loss-sign-flipped"
    script = STEPS.format(steps=20, then=3)
    drill = started(script, "drill", "--jobs", "1", "--steps", "0", "--only", mutants)
    drill.until("zero-grad-dropped")
    code, out, answer = drill.interrupt(signal.SIGINT)
    assert code == 130
    assert re.search(r"interrupted after [12] of 3 mutants", out)
    assert answer["interrupted"]
    assert answer["mutants"][0]["name"] == "zero-grad-dropped"
    assert len(answer["mutants"]) < 3


def test_check_says_how_far_it_was(started):
    check = started(STEPS.format(steps=2, then=600), "check")
    # The verb, its keeper and a server, and the script.
    assert wait_until(lambda: len(of_folder(check.folder)) >= 4, 120.0)
    code, out, answer = check.interrupt(signal.SIGTERM)
    assert code == 128 + signal.SIGTERM
    assert "Interrupted after 3 of 4 parts" in out
    assert "Nothing speaks against" not in out
    assert answer["verdict"] in {"unfinished", "doubtful", "broken"}
    assert answer["run"]["reason"] == "interrupted"


def test_a_verb_that_keeps_nothing_ends_without_a_traceback(tmp_path):
    (tmp_path / "train.py").write_text("import time\nopen('begun', 'w').close()\ntime.sleep(600)\n")
    process = starting.Popen(
        [sys.executable, "-m", "premortem", "ckpt", "prove", "train.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        assert wait_until(lambda: len(of_folder(tmp_path)) >= 4, 120.0)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in said
    assert wait_until(lambda: not of_folder(Path(tmp_path)))
