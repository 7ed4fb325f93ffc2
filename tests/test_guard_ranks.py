"""Several ranks: a step that one of them must not make is made by none, and nobody waits for the others for ever."""

import pytest
import torch

from tests.ranks.launching import together

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


@pytest.mark.slow
def test_a_step_that_one_rank_must_not_make_is_made_by_none(tmp_path):
    script = tmp_path / "ranks.py"
    script.write_text(SCRIPT)
    codes, record, printed = together(tmp_path, str(tmp_path), script=script)
    assert codes == [0, 0], printed
    (refused,) = [f for f in record["findings"] if f["name"] == "update-refused"]
    assert (refused["step"], refused["evidence"]["ranks"]) == (5, [0, 1])
    mine, others = (torch.load(tmp_path / f"weights-{rank}.pt") for rank in range(2))
    for step, (here, there) in enumerate(zip(mine, others, strict=True)):
        assert all(torch.equal(a, b) for a, b in zip(here, there, strict=True)), step
    assert all(torch.equal(a, b) for a, b in zip(mine[3], mine[4], strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(mine[4], mine[5], strict=True))
