"""A vault to which two ranks add their parts, and everything that must not be resumed from."""

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

import premortem
from premortem.errors import VaultError

folder = Path(sys.argv[1])
dist.init_process_group("gloo")
rank = dist.get_rank()


def pieces():
    torch.manual_seed(0)
    return {"model": nn.Linear(4, 4), "own": {"bank": nn.Linear(2, 2)}}


def refusal(call):
    try:
        call()
    except VaultError as error:
        return str(error)
    return ""


mine = pieces()
vault = premortem.Vault(folder, keep=5, each_rank=True)
for step in (1, 2):
    with torch.no_grad():
        mine["model"].weight.fill_(step)
        mine["own"]["bank"].weight.fill_(10 * step + rank)
    torch.manual_seed(1000 * step + rank)
    vault.save(step, **mine).wait()
saving = vault.save(30 + rank, **mine)
if rank == 0:
    assert "rank 1 saved step 31 where rank 0 saved step 30" in refusal(saving.wait)
dist.barrier()
assert sorted(path.name for path in folder.glob("step-*")) == ["step-000000001", "step-000000002"]
assert not list(folder.glob(".step-*")), "a draft is left"


def resumed(where=folder):
    new = pieces()
    report = premortem.Vault(where, each_rank=True).resume(**new, quiet=True)
    return new, report


new, report = resumed()
assert (report.step, report.ok) == (2, True), report
assert float(new["own"]["bank"].weight[0, 0]) == 20 + rank, "each rank has its own state"
drawn = torch.rand(1)
torch.manual_seed(2000 + rank)
assert torch.equal(drawn, torch.rand(1)), "and its own random numbers"

if rank == 0:  # only rank 1 reads this file
    file = folder / "step-000000002" / "rank-1.own.bank.safetensors"
    raw = bytearray(file.read_bytes())
    raw[-1] ^= 1
    file.write_bytes(raw)
dist.barrier()
new, report = resumed()
assert report.step == 1, report
assert float(new["model"].weight[0, 0]) == 1
assert float(new["own"]["bank"].weight[0, 0]) == 10 + rank
assert any("step-000000002" in remark.text for remark in report.remarks)

told = refusal(lambda: resumed(folder if rank == 0 else folder / "elsewhere"))
assert told.startswith("rank 1 "), told
dist.barrier()
print("all as it should be", rank)
dist.destroy_process_group()
