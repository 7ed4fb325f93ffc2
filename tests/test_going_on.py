"""How a run goes on that was ended before its time: the command that is printed, and that it resumes."""

import signal
import sys

import pytest

from premortem.run.going_on import going_on
from tests.starting import Popen, run

OPTION = "p.add_argument('-r', '--resume', default='')\n"
SWITCH = "p.add_argument('--resume', action='store_true')\n"
LOADS = "if a.resume:\n    model.load_state_dict(torch.load(a.resume))\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "last.pt").touch()

    def written(text):
        (tmp_path / "t.py").write_text(text)
        return tmp_path / "t.py"

    return written


@pytest.mark.parametrize(
    ("text", "argv", "words"),
    [
        (OPTION + LOADS, ["t.py", "--epochs", "3"], ["t.py", "--epochs", "3", "--resume", "last.pt"]),
        (SWITCH + LOADS, ["t.py"], ["t.py", "--resume"]),
        (SWITCH + LOADS, ["t.py", "--resume"], ["t.py", "--resume"]),
        (OPTION + LOADS, ["t.py", "--resume", "old.pt", "-x"], ["t.py", "--resume", "last.pt", "-x"]),
        (OPTION + LOADS, ["t.py", "--resume=old.pt"], ["t.py", "--resume=last.pt"]),
        ("if Path(F).exists():\n    m(torch.load(F))\ntorch.save(x, F)\n", ["t.py"], ["t.py"]),
    ],
)
def test_the_scripts_own_way_to_resume(script, tmp_path, text, argv, words):
    sentence, found = going_on(script(text), argv, tmp_path / "last.pt", tmp_path / "last_good.pt", ["model"])
    assert found == words
    assert "last.pt" in sentence
    assert "premortem.resume" not in sentence


@pytest.mark.parametrize(
    "text",
    [
        "p.add_argument('--resume')\n",  # nothing is loaded with it
        "p.add_argument('--load-workers', type=int)\nif a.load_workers:\n    torch.load(a.load_workers)\n",
        "p.add_argument('--data')\nx = torch.load(a.data)\n",
        "torch.save(x, F)\n",
        "def broken(:\n",
    ],
)
def test_a_script_that_cannot_resume_is_given_the_line(script, tmp_path, text):
    sentence, words = going_on(
        script(text), ["t.py", "-x"], tmp_path / "last.pt", tmp_path / "k.pt", ["G", "D"]
    )
    assert words == ["t.py", "-x"]
    assert 'premortem.resume("k.pt", G=G, D=D, optimizer=optimizer)' in sentence


def test_a_scheduler_is_resumed_too(script, tmp_path):
    sentence, _words = going_on(script("x = 1\n"), ["t.py"], None, tmp_path / "k.pt", ["m"], scheduled=True)
    assert "m=m, optimizer=optimizer, scheduler=scheduler)" in sentence


def test_nothing_was_saved(script):
    assert going_on(script("x = 1\n"), ["t.py"], None, None, ["model"]) is None


TRAINS = """import argparse
import time
import torch
p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int)
p.add_argument("--resume")
a = p.parse_args()
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
opt = torch.optim.Adam(model.parameters())
first = 0
if a.resume:
    state = torch.load(a.resume)
    model.load_state_dict(state["model"])
    opt.load_state_dict(state["opt"])
    first = state["epoch"] + 1
for epoch in range(first, a.epochs):
    for _ in range(4):
        x = torch.randn(8, 4)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "epoch": epoch}, "last.pt")
    print("epoch", epoch, flush=True)
    time.sleep(0.05)
"""


def test_the_last_line_of_a_terminated_run_resumes_it(tmp_path):
    (tmp_path / "t.py").write_text(TRAINS)
    command = [sys.executable, "-m", "premortem", "run", "--no-autopsy", "t.py", "--epochs", "500"]
    process = Popen(command, cwd=tmp_path, text=True, stdout=-1, stderr=-1)
    while "epoch 3" not in process.stdout.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    again = "premortem run --no-autopsy t.py --epochs 500 --resume last.pt"
    assert again in [line.strip() for line in err.splitlines()]
    words = again.replace("500", "20").split()
    resumed = run([sys.executable, "-m", *words], cwd=tmp_path, text=True, capture_output=True, check=True)
    first = int(resumed.stdout.split()[1])
    assert first > 3
    assert "epoch 19" in resumed.stdout


def test_a_deadline_ends_with_the_command_too(tmp_path):
    (tmp_path / "t.py").write_text(TRAINS)
    command = [sys.executable, "-m", "premortem", "run", "--deadline", "8s", "t.py", "--epochs", "5000"]
    done = run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.returncode == 3
    again = "premortem run --deadline 8s t.py --epochs 5000 --resume last.pt"
    assert again in [line.strip() for line in done.stderr.splitlines()]
