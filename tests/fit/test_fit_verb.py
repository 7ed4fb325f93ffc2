"""`premortem fit` from the outside, on scripts that know nothing of it."""

import json
import signal
import subprocess
import sys
import time

import pytest
import torch

from tests import starting
from tests.scriptrun.test_ending import of_folder, wait_until

TRAIN = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=16)
parser.add_argument("--device", default="cpu")
options = parser.parse_args()
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to(options.device)
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    x = torch.randn(options.batch_size, 1024).to(options.device)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("loss", loss.item())
    open("trace.txt", "w").write("written")
torch.save(model.state_dict(), "model.pt")
"""


def fit(folder, *words):
    command = [sys.executable, "-m", "premortem", "fit", *words]
    return starting.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    return tmp_path


def test_the_contract(script):
    done = fit(script, "--quick", "--device", "4090", "--json", "fit.json", "--picture", "fit.svg", "train.py", "--device", "cuda")  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads((script / "fit.json").read_text())
    assert found["device"] == "4090"
    assert found["verdict"] == "fits"
    assert found["peak_reserved_bytes"] >= found["peak_allocated_bytes"] > 4 * 4 * 8 * 2**20
    assert found["by_kind"]["parameters"] > 32 * 2**20
    assert {"op", "module", "file", "line", "bytes"} <= set(found["top"][0])
    assert found["largest_batch"] is None
    assert "It fits on GeForce RTX 4090" in done.stdout
    assert "loss" not in done.stdout, "what the script prints is not ours"
    assert (script / "fit.svg").read_text().startswith("<svg")
    left = {path.name for path in script.iterdir()}
    assert left == {"train.py", "fit.json", "fit.svg"}, "what the script writes is thrown away"


@pytest.mark.slow
def test_the_largest_batch_and_what_would_help(script):
    done = fit(script, "--device", "2GiB", "--json", "fit.json", "train.py", "--device", "cuda")
    assert done.returncode == 0, done.stderr
    found = json.loads((script / "fit.json").read_text())
    # Of each sample: 4096 floats before and after the activation, 1024 at both ends, and their gradients.
    assert 12_000 < found["largest_batch"] < 100_000
    names = {advice["name"] for advice in found["advice"]}
    assert "fused-optimizer" in names
    for advice in found["advice"]:
        assert advice["saves"] > 0
        assert advice["peak"] < found["peak_allocated_bytes"]


def test_too_large_is_an_answer_not_an_error(script):
    done = fit(
        script, "--quick", "--device", "2GiB", "train.py", "--device", "cuda", "--batch-size", "200000"
    )
    assert done.returncode == 1
    assert "It does not fit" in done.stdout
    assert "train.py:" in done.stdout


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (TRAIN, "nothing was put on the GPU"),
        ("print('no training here')", "there is no training step to predict"),
        ("import torch\nraise ValueError('no data')", "ValueError at"),
        (
            "import torch\no = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1)",
            "before any optimizer made a step",
        ),
    ],
)
def test_what_cannot_be_predicted_is_said(code, sentence, tmp_path):
    (tmp_path / "other.py").write_text(code)
    done = fit(tmp_path, "--quick", "other.py")
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "premortem/fit" not in done.stderr, "no traceback of ours"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "which script? premortem fit train.py"),
        (("nothere.py",), "there is no script `nothere.py`"),
        (("--device", "h1000", "train.py"), "did you mean `h100`"),
        (("--json", "train.py", "train.py"), "would overwrite a Python file"),
        (("--devise", "h100", "train.py"), "did you mean `--device`"),
        pytest.param(
            ("--measure", "train.py"),
            "`--measure` needs a GPU",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_wrong_words_are_one_sentence(script, words, sentence):
    done = fit(script, *words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("option", ["--json", "--picture"])
@pytest.mark.parametrize(("place", "sentence"), [("nosuch/x", "no directory"), (".", "is a directory")])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(option, place, sentence, script):
    started = time.monotonic()
    done = fit(script, option, place, "train.py", "--device", "cuda")
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert time.monotonic() - started < 60


def test_ctrl_c_is_quiet(tmp_path):
    (tmp_path / "slow.py").write_text("open('begun', 'w').close()\nimport time\ntime.sleep(600)\n")
    command = [sys.executable, "-m", "premortem", "fit", "--quick", "slow.py"]
    running = starting.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: len(of_folder(tmp_path)) > 1)  # the script's own process is there
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    finally:
        running.kill()
    assert running.returncode == 130
    assert "Traceback" not in said
