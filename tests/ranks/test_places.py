"""Which of several processes this is, as torchrun and SLURM say it."""

import errno
import fcntl

import pytest

from premortem.ranks import processes
from premortem.ranks.processes import Place

TORCHRUN = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "none"}
SRUN = {
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "5",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        (TORCHRUN, Place(3, 8, 4)),
        ({"RANK": "0", "WORLD_SIZE": "1"}, None),
        (SRUN, Place(5, 8, 4)),
        ({**SRUN, **TORCHRUN}, Place(3, 8, 4)),  # torchrun, started by srun
        ({**SRUN, "SLURM_STEP_NUM_TASKS": "1"}, None),
        ({**SRUN, "SLURM_STEP_TASKS_PER_NODE": "3,5"}, Place(5, 8, 3)),
        ({"SLURM_JOB_ID": "77", "SLURM_PROCID": "0", "SLURM_NTASKS": "8"}, None),  # the job's own script
    ],
)
def test_the_place_of_a_process(environ, expected):
    assert processes.place(environ) == expected


def test_ranks_on_several_machines_have_one_name_and_one_folder(monkeypatch):
    for name, value in SRUN.items():
        monkeypatch.setenv(name, value)
    mine = processes.launch(), processes.folder_name("train")
    monkeypatch.setenv("SLURM_PROCID", "1")
    monkeypatch.setattr("os.getppid", lambda: 4711)  # on another machine
    assert (processes.launch(), processes.folder_name("train")) == mine
    monkeypatch.setenv("SLURM_STEP_ID", "1")  # the next `srun` of the same job
    assert processes.launch() != mine[0]


def test_a_job_that_was_queued_again_is_an_attempt(monkeypatch):
    assert processes.attempt({"SLURM_RESTART_COUNT": "2"}) == 2
    assert processes.attempt({"SLURM_RESTART_COUNT": "2", "TORCHELASTIC_RESTART_COUNT": "1"}) == 1


def test_ranks_of_one_torchrun_keep_the_name_of_their_parent():
    near = {**TORCHRUN, "LOCAL_WORLD_SIZE": "8"}
    assert processes.job(near) == ""
    assert processes.job({**TORCHRUN, "TORCHELASTIC_RUN_ID": "big"}) == "big"


def test_a_disk_without_locks_does_not_lose_what_was_found(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with processes.locked(tmp_path):
        (tmp_path / "findings.json").write_text("{}")
    assert (tmp_path / "findings.json").exists()
