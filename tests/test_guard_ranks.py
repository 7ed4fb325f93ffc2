"""Several ranks: a step that one of them must not make is made by none, and nobody waits for the others for ever."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import premortem

SRC = str(Path(premortem.__file__).parents[1])
SCRIPT = """
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, out = dist.get_rank(), sys.argv[1]
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
ranked = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(ranked.parameters(), lr=1e-2)
torch.manual_seed(rank)
snapshots = []
for step in range(8):
    x = torch.randn(16, 4)
    loss = ranked(x).square().mean()
    if step == 4 and rank == 1:
        loss = loss * float("nan")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    snapshots.append([p.detach().clone() for p in model.parameters()])
torch.save(snapshots, f"{out}/weights-{rank}.pt")
dist.barrier()
dist.destroy_process_group()
"""


def free_port() -> int:
    with socket.socket() as made:
        made.bind(("127.0.0.1", 0))
        return int(made.getsockname()[1])


def together(folder: Path) -> list[dict[str, object]]:
    """Two ranks under `premortem run`, as torchrun starts them; what each of them found."""
    (folder / "ranks.py").write_text(SCRIPT)
    port = str(free_port())
    ranks = []
    for rank in range(2):
        own = folder / f"rank-{rank}"
        own.mkdir()
        variables = {
            **os.environ,
            "PYTHONPATH": SRC,
            "OMP_NUM_THREADS": "1",
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port,
            "WORLD_SIZE": "2",
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
        }
        command = [sys.executable, "-m", "premortem", "run", "--quiet", "--findings", "f.json"]
        command += [str(folder / "ranks.py"), str(folder)]
        ranks.append(
            subprocess.Popen(
                command, cwd=own, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
    printed = []
    try:
        printed = [process.communicate(timeout=240)[0] for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [process.returncode for process in ranks] == [0, 0], "\n".join(printed)
    return [json.loads((folder / f"rank-{rank}" / "f.json").read_text()) for rank in range(2)]


@pytest.mark.slow
def test_a_step_that_one_rank_must_not_make_is_made_by_none(tmp_path):
    found = together(tmp_path)
    for report in found:
        refused = [f for f in report["findings"] if f["name"] == "update-refused"]
        assert [f["step"] for f in refused] == [5]
    mine, others = (torch.load(tmp_path / f"weights-{rank}.pt") for rank in range(2))
    for step, (here, there) in enumerate(zip(mine, others, strict=True)):
        assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True)), step
    assert all(torch.equal(a, b) for a, b in zip(mine[3], mine[4], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(mine[4], mine[5], strict=True))
