"""However a verb ends, no process of the script's is left, and no scratch folder."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import starting

# Starts a program in a session of its own and a worker, says who they are, and goes on for ever.
SCRIPT = """
import os, subprocess, sys, time
apart = subprocess.Popen(["sleep", "600"], start_new_session=True)
worker = os.fork()
if not worker:
    time.sleep(600)
sys.stdout.write(f"pids {os.getpid()} {apart.pid} {worker} end\\n")
sys.stdout.flush()
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
while True:
    time.sleep(0.1)
"""
VERB = """
import sys
from pathlib import Path
from premortem.scriptrun.run import Plan, Script, ScriptRun

with ScriptRun(Script(target="train.py"), Plan(play="tests.scriptrun.plans:simply"), show_output=True) as run:
    sys.stdout.write(f"scratch {run.scratch} end\\n")
    sys.stdout.flush()
    run.go({}, float(sys.argv[1]))
"""
ROOT = str(Path(__file__).parents[2])


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(question, seconds=60.0):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if question():
            return True
        time.sleep(0.05)
    return False


def started(tmp_path, seconds="600"):
    (tmp_path / "train.py").write_text(SCRIPT)
    variables = os.environ | {"PYTHONPATH": os.pathsep.join([ROOT + "/src", ROOT])}
    verb = starting.Popen(
        [sys.executable, "-c", VERB, seconds], cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=variables
    )
    found = {}
    while len(found) < 2:
        words = verb.stdout.readline().split()
        assert words, "it ended before the script ran"
        if words[0] in {"pids", "scratch"}:
            found[words[0]] = words[1:-1]
    return verb, [int(pid) for pid in found["pids"]], Path(found["scratch"][0])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_verb_that_is_killed_leaves_no_process(tmp_path, number):
    verb, pids, scratch = started(tmp_path)
    try:
        assert all(map(alive, pids))
        verb.send_signal(number)
        verb.wait(timeout=60)
        assert wait_until(lambda: not any(map(alive, pids)))
        assert wait_until(lambda: not scratch.exists())
    finally:
        verb.kill()
        verb.stdout.close()
        verb.wait()


def test_a_script_whose_time_is_over_leaves_no_process(tmp_path):
    verb, pids, scratch = started(tmp_path, seconds="3")
    try:
        verb.wait(timeout=60)
        assert not any(map(alive, pids))
        assert not scratch.exists()
    finally:
        verb.kill()
        verb.stdout.close()
        verb.wait()


def of_folder(folder):
    """Processes that run in a folder, or below."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                cwd = str((entry / "cwd").readlink())
            except OSError:
                continue
            if cwd == str(folder) or cwd.startswith(f"{folder}/"):
                found.append(int(entry.name))
    return found


VERBS = {
    "fit": ["fit", "--quick", "--seconds", "600", "train.py"],
    "speed": ["fit", "--speed", "train.py"],
    "check": ["check", "train.py"],
    "drill": ["drill", "train.py"],
    "prove": ["ckpt", "prove", "train.py"],
}


@pytest.mark.parametrize(
    ("verb", "number"),
    [
        ("fit", signal.SIGKILL),
        pytest.param("fit", signal.SIGINT, marks=pytest.mark.exhaustive),
        pytest.param("speed", signal.SIGTERM, marks=pytest.mark.exhaustive),
        pytest.param("check", signal.SIGKILL, marks=pytest.mark.exhaustive),
        ("check", signal.SIGTERM),
        pytest.param("drill", signal.SIGKILL, marks=pytest.mark.exhaustive),
        pytest.param("drill", signal.SIGINT, marks=pytest.mark.exhaustive),
        pytest.param("prove", signal.SIGKILL, marks=pytest.mark.exhaustive),
    ],
)
def test_each_verb_ends_with_all_that_it_started(tmp_path, verb, number):
    (tmp_path / "train.py").write_text(SCRIPT)
    running = starting.Popen(
        [sys.executable, "-m", "premortem", *VERBS[verb]],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # The verb, its keeper with its servers, the script, and the two that it has started.
        expected = 5 + {"fit": 1 + min(2, os.cpu_count() or 1), "drill": os.cpu_count()}.get(verb, 1)
        assert wait_until(lambda: len(of_folder(tmp_path)) >= expected or running.poll() is not None, 120.0)
        assert running.poll() is None
        running.send_signal(number)
        running.wait(timeout=60)
        assert wait_until(lambda: not of_folder(tmp_path))
    finally:
        running.kill()
        running.wait()


def test_a_signal_that_comes_while_an_object_ends_is_not_passed_over():
    code = (
        "import os, signal, time\n"
        "from premortem.scriptrun import keeper\n"
        "signal.signal(signal.SIGINT, keeper._leave)\n"
        "class Ends:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        for _ in range(1000): pass\n"
        "ends = Ends()\n"
        "del ends\n"
        "time.sleep(60)\n"
        "print('it went on')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
