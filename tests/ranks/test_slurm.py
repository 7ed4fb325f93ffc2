"""Jobs of SLURM: real processes, in the environment that `srun` gives its tasks; only `srun` and `scontrol` themselves are played."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from premortem.cli import main
from premortem.journal import Run
from premortem.ranks import processes
from tests import without_locks
from tests.ranks.launching import SRC, free_port

SRUN = """
import os, subprocess, sys, time
nodes = int(os.environ["NODES"])
tasks = []
for node in range(nodes):
    scratch = os.path.abspath(f"node-{node}")
    os.makedirs(scratch, exist_ok=True)
    own = {"SLURM_STEP_ID": "0", "SLURM_PROCID": str(node), "SLURM_LOCALID": "0", "SLURM_NODEID": str(node)}
    own |= {"SLURM_STEP_NUM_TASKS": str(nodes), "SLURM_STEP_TASKS_PER_NODE": f"1(x{nodes})", "SLURM_TMPDIR": scratch}
    words = [word.replace("$SLURM_TMPDIR", scratch) for word in sys.argv[1:]]
    tasks.append(subprocess.Popen(words, env={**os.environ, **own}))
if "SIGNAL" in os.environ:  # --signal=TERM@...: SLURM sends it to the tasks
    while not os.path.exists("last.pt"):
        time.sleep(0.05)
    for task in tasks:
        task.terminate()
codes = [task.wait() for task in tasks]
sys.exit(max(128 - code if code < 0 else code for code in codes))
"""
SCONTROL = """
import os, sys
open("scontrol.log", "a").write(" ".join(sys.argv[1:]) + "\\n")
"""
# The recipe of docs/recipes/slurm.md
JOB = """
srun premortem run --deadline slurm --findings findings.json train.py
code=$?
if [ "$code" -eq 143 ] || { [ "$code" -eq 3 ] && grep -q '"PM328"' findings.json; }; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
"""
RESUMES = """
import os, time, torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
start = 0
if os.path.exists("last.pt"):
    saved = torch.load("last.pt")
    model.load_state_dict(saved["model"]); optimizer.load_state_dict(saved["optimizer"]); start = saved["step"] + 1
for step in range(start, 60):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, "last.pt")
    time.sleep(float(os.environ["SLOW"]))
print("all", step + 1, flush=True)
"""
RANKS = """
import os, torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_STEP_NUM_TASKS"])
dist.init_process_group("gloo", rank=rank, world_size=world)
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(rank)
for step in range(12):
    x = torch.randn(16, 4)
    loss = (model(x) - x[:, :1]).square().mean()
    if step == 6 and rank == 1:
        loss = loss * torch.log(loss * 0 - 1)
    optimizer.zero_grad(); loss.backward(); optimizer.step()
dist.barrier()
dist.destroy_process_group()
"""


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    """A folder that is all of the cluster: its programs are in `bin`, its nodes are `node-0` and `node-1`."""
    (tmp_path / "bin").mkdir()
    for name, text in (("srun", SRUN), ("scontrol", SCONTROL)):
        program = tmp_path / "bin" / name
        program.write_text(f"#!{sys.executable}\n{text}")
        program.chmod(0o755)
    own = tmp_path / "bin" / "premortem"
    own.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m premortem "$@"\n')
    own.chmod(0o755)
    for name in [each for each in os.environ if each.startswith(("SLURM_", "TORCHELASTIC"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def submitted(folder, script, nodes=1, **own):
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": SRC,
        "OMP_NUM_THREADS": "1",
        "NODES": str(nodes),
        "SLURM_JOB_ID": "77",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        **{name: str(value) for name, value in own.items()},
    }
    (folder / "job.sh").write_text(script)
    return subprocess.run(
        ["bash", "job.sh"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_a_job_at_its_end_is_queued_again_and_goes_on(cluster):
    (cluster / "train.py").write_text(RESUMES)
    first = submitted(cluster, JOB, SLOW=1.0, SLURM_JOB_END_TIME=int(time.time()) + 25)
    assert first.returncode == 3, first.stderr
    assert (cluster / "scontrol.log").read_text() == "requeue 77\n"
    again = submitted(cluster, JOB, SLOW=0, SLURM_RESTART_COUNT=1, SLURM_JOB_END_TIME=int(time.time()) + 3600)
    assert (again.returncode, again.stdout.strip()[-6:]) == (0, "all 60"), again.stderr
    assert (cluster / "scontrol.log").read_text() == "requeue 77\n", "once"


@pytest.mark.slow
def test_a_job_that_is_given_a_signal_is_queued_again_and_goes_on(cluster):
    (cluster / "train.py").write_text(RESUMES)
    first = submitted(cluster, JOB, SLOW=1.0, SIGNAL="TERM", SLURM_JOB_END_TIME=int(time.time()) + 3600)
    assert first.returncode == 143, first.stderr
    assert (cluster / "scontrol.log").read_text() == "requeue 77\n"
    again = submitted(cluster, JOB, SLOW=0, SLURM_RESTART_COUNT=1, SLURM_JOB_END_TIME=int(time.time()) + 3600)
    assert (again.returncode, again.stdout.strip()[-6:]) == (0, "all 60"), again.stderr


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("how", "code"), [({"SIGNAL": "TERM"}, 143), ({"SLURM_JOB_END_TIME": 45}, 3)], ids=["signal", "deadline"]
)
def test_tasks_of_two_nodes_end_together_and_are_queued_again(cluster, how, code):
    (cluster / "train.py").write_text(
        RANKS.replace("range(12)", "range(10_000)").replace("step == 6 and rank == 1", "False").replace(
            "    optimizer.zero_grad()",
            "    if step == 60 and rank == 0:\n"
            "        torch.save(model.module.state_dict(), 'last.pt')\n"
            "    __import__('time').sleep(0.05)\n"
            "    optimizer.zero_grad()",
        )
    )  # fmt: skip
    end = int(time.time()) + how.get("SLURM_JOB_END_TIME", 3600)
    done = submitted(cluster, JOB, nodes=2, **{**how, "SLURM_JOB_END_TIME": end})
    assert done.returncode == code, done.stderr
    assert (cluster / "scontrol.log").read_text() == "requeue 77\n"
    (run,) = (cluster / ".premortem" / "runs").iterdir()
    assert (run / "rank-0" / "last_good.pt").is_file()
    ends = [each["exit_code"] for each in json.loads((run / "findings.json").read_text())["run"]["ranks"]]
    assert ends == [code, code]


@pytest.mark.parametrize(
    "locks",
    [
        pytest.param(True, marks=pytest.mark.exhaustive, id="locks"),
        pytest.param(False, marks=pytest.mark.slow, id="no-locks"),
    ],
)
def test_tasks_of_two_nodes_are_ranks_of_one_run(cluster, locks):
    (cluster / "train.py").write_text(RANKS)
    disk = {} if locks else without_locks.environment(cluster / ".premortem", cluster)
    done = submitted(cluster, "srun premortem run --findings findings.json train.py", nodes=2, **disk)
    assert done.returncode == 0, done.stderr
    assert "cannot be written" not in done.stderr
    (run,) = (cluster / ".premortem" / "runs").iterdir()
    assert run.name == "train-77-0"
    for file in (cluster / "findings.json", run / "findings.json"):
        record = json.loads(file.read_text())
        (finding,) = record["findings"]
        assert (finding["code"], finding["evidence"]["ranks"]) == ("PM447", [0, 1])
        assert [each["rank"] for each in record["run"]["ranks"]] == [0, 1]
    for rank in (0, 1):
        with Run(run / f"rank-{rank}") as journal:
            assert len(journal.steps()) == 12


@pytest.mark.slow
def test_journals_on_the_nodes_own_disks_are_one_run_where_they_are_copied_to(cluster, capsys):
    (cluster / "train.py").write_text(RANKS)
    done = submitted(cluster, "srun premortem run --folder '$SLURM_TMPDIR/run' train.py", nodes=2)
    assert done.returncode == 0, done.stderr
    for node in ("node-0", "node-1"):
        shutil.copytree(cluster / node / "run", cluster / "run", dirs_exist_ok=True)
    record, (finding,) = processes.merged(Path("run"))
    assert (finding.code, finding.evidence["ranks"]) == ("PM447", [0, 1])
    assert [each["rank"] for each in record["ranks"]] == [0, 1]
    assert main(["report", "--format", "json", "run", "-o", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [each["code"] for each in shown["findings"]] == ["PM447"]
    assert main(["sweep", "--format", "json", "run"]) == 0, "a step was refused, and the run went on"
    (trial,) = json.loads(capsys.readouterr().out)["trials"]
    assert trial["state"] == "finished"


@pytest.mark.slow
def test_an_array_is_a_sweep_of_its_tasks(cluster, capsys):
    (cluster / "train.py").write_text(
        "import os, torch\n"
        "task = int(os.environ['SLURM_ARRAY_TASK_ID'])\n"
        "x = torch.randn(64, 4); model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))\n"
        "optimizer = torch.optim.SGD(model.parameters(), lr=[0.01, 0.02, 5.0, 9.0][task])\n"
        "for step in range(40):\n"
        "    optimizer.zero_grad(); (model(x) - x.sum(1, keepdim=True)).square().mean().backward(); optimizer.step()\n"
    )
    codes = [
        submitted(
            cluster,
            "premortem run --policy strict train.py",
            SLURM_ARRAY_TASK_ID=task,
            SLURM_JOB_ID=80 + task,
        ).returncode
        for task in range(4)
    ]
    assert codes == [0, 0, 3, 3]
    assert main(["sweep", "--format", "json"]) == 1
    trials = json.loads(capsys.readouterr().out)["trials"]
    assert [(each["settings"]["SLURM_ARRAY_TASK_ID"], bool(each["errors"])) for each in trials] == [
        (0.0, False), (1.0, False), (2.0, True), (3.0, True),
    ]  # fmt: skip
