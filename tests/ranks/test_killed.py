"""Ranks that were killed wrote their last words about themselves when they began."""

import pytest

from premortem.events import StepStats
from premortem.files.findings_file import FindingsFile
from premortem.journal import Journal
from premortem.ranks import processes, torchrun
from premortem.terminal.console import Console

BEGUN = {"steps": 0, "reason": "a fault of premortem's own kept it from watching", "missed": []}


@pytest.mark.parametrize(
    ("made", "first"),
    [
        (34, "premortem watched 34 steps: nothing to report"),
        (0, "warning: premortem saw no training step: rank 0 and rank 1 ended without a word"),
    ],
)
def test_ranks_that_were_killed_are_not_called_unwatched(made, first, tmp_path, capsys):
    for rank in (0, 1):
        own = tmp_path / f"rank-{rank}"
        journal = Journal.open(own, meta={}, on_problem=pytest.fail)
        for step in range(1, made + 1):
            stats = StepStats(step=step, optimizer=1, loss=1.0, grad_norm=1.0, worst=None, lr=0.1)
            journal.step(stats, 1000.0 + step)
        journal.close()
        about = {"launch": "one", "rank": rank, "started": "2026-01-01", "folder": str(own), "watched": BEGUN}
        run = {**about, "reason": "running", "exit_code": None, "steps": 0}
        FindingsFile(own / processes.FILE, pytest.fail).write(run, [])
    assert torchrun.conclude(tmp_path, 1, Console()) == 1
    text = " ".join(capsys.readouterr().err.split())
    assert text.startswith(first)
    assert text.count("killed, or the machine went down") == 1
    assert "fault" not in text
