"""A forked process is as good as a real one: the same findings, the same words, the same exit code."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import starting

TWINS = Path(__file__).with_name("twins")
# What differs from one run to the next.
OF_THE_MOMENT = ("started", "ended", "seconds", "folder")


def watched(script, folder):
    folder.mkdir()
    command = [sys.executable, "-m", "premortem", "run", "--findings", "f.json", "--folder", "run", script]
    done = starting.run(command, cwd=folder)
    told = json.loads((folder / "f.json").read_text())
    for name in OF_THE_MOMENT:
        del told["run"][name]
    return done.returncode, done.stdout, done.stderr, told


@pytest.mark.parametrize(
    "name",
    [
        "buggy/crater_patches.py",
        "fixed/enzyme_rates.py",
        pytest.param("catalog/buggy/terrain_patches.py", marks=pytest.mark.exhaustive),  # with workers
    ],
)
def test_a_fork_is_told_what_a_real_process_is(name, tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    forked = watched(TWINS / name, tmp_path / "forked")
    monkeypatch.setenv("PREMORTEM_TESTS_REAL", "1")
    assert watched(TWINS / name, tmp_path / "real") == forked


SCRIPT = """
import os, sys
loaded = "torch" in sys.modules
import torch
print(loaded, sys.orig_argv, "torch._dynamo" in sys.modules, os.getcwd(), sys.argv, __file__, __name__, os.environ["NAME"], sys.path[0])
print(sys.stdin.read())
torch.optim.SGD([torch.zeros(1, requires_grad=True)], 0.1).zero_grad()
print("torch._dynamo" in sys.modules, file=sys.stderr)
sys.exit(3)
"""


@pytest.mark.parametrize("door", [[], ["-m", "premortem", "run", "--quiet", "--folder", "run"]])
def test_a_fork_starts_as_a_real_process_does(door, tmp_path, monkeypatch):
    (tmp_path / "script.py").write_text(SCRIPT)
    monkeypatch.setenv("NAME", "value")
    command = [sys.executable, *door, "script.py", "--epochs", "1"]
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    forked = starting.run(command, cwd=tmp_path)
    monkeypatch.setenv("PREMORTEM_TESTS_REAL", "1")
    real = starting.run(command, cwd=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (3, real.stdout, real.stderr)
    assert real.returncode == 3


def test_two_forks_do_not_draw_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    (tmp_path / "script.py").write_text(
        "import random, torch, numpy\nprint(random.random(), torch.rand(1).item(), numpy.random.rand())\n"
    )
    first, second = (starting.run([sys.executable, "script.py"], cwd=tmp_path).stdout.split() for _ in "12")
    assert len({*first, *second}) == 6


def test_a_process_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    (tmp_path / "script.py").write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        starting.run([sys.executable, "script.py"], cwd=tmp_path, timeout=0.2)
    (tmp_path / "script.py").write_text("print('still here')\n")
    assert starting.run([sys.executable, "script.py"], cwd=tmp_path).stdout == "still here\n"


def test_it_is_waited_for_and_gets_signals_as_a_child_does(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    (tmp_path / "script.py").write_text("import os, time\nprint(os.getppid(), flush=True)\ntime.sleep(60)\n")
    with starting.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout.readline() == f"{os.getpid()}\n"
        assert running.poll() is None
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == -signal.SIGTERM


def test_descriptors_keep_their_numbers_and_the_umask_is_as_asked(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    read, write = os.pipe()
    code = f"import os\nos.write({write}, b'%o' % os.umask(0))\nprint(os.getpgrp() == os.getpid())"
    command = [sys.executable, "-c", code]
    done = starting.run(command, pass_fds=[write], umask=0o27, start_new_session=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
    assert os.read(read, 99) == b"27"
    os.close(read)
    os.close(write)


def test_what_a_verb_starts_is_a_fork_and_what_a_script_starts_is_not(tmp_path, monkeypatch):
    monkeypatch.delenv("PREMORTEM_TESTS_REAL", raising=False)
    (tmp_path / "script.py").write_text(
        "import subprocess, sys\n"
        "for words in (['-m', 'premortem', '--version'], ['-c', 'print(3)']):\n"
        "    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)\n"
        "    out, _ = child.communicate()\n"
        "    print(child.returncode, bool(out), child._line is not None)\n"
    )
    done = starting.run([sys.executable, "script.py"], cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("0 True True\n0 True False\n", "")
