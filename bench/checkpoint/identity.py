"""Is a run that saves under premortem the run that it is without: the same weights, the same files, the same draws?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SCRIPT = """
import hashlib, torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
total = hashlib.sha256()
for step in range(60):
    loss = nn.functional.cross_entropy(model(torch.randn(16, 32)), torch.randint(0, 4, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
        read = torch.load("last.pt")
        for tensor in [*read["model"].values(), loss.detach(), torch.get_rng_state()]:
            total.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.dim() else str(tensor).encode())
print(total.hexdigest())
"""


def identity(scratch: Path) -> dict[str, Any]:
    ways = {
        "alone": [],
        "observe": ["-m", "premortem", "run", "--quiet", "--policy", "observe"],
        "protect": ["-m", "premortem", "run", "--quiet"],
        "mirrored": ["-m", "premortem", "run", "--quiet", "--mirror", str(scratch / "mirror")],
    }
    found, files = {}, {}
    for way, words in ways.items():
        folder = scratch / way
        folder.mkdir()
        (folder / "train.py").write_text(SCRIPT)
        command = [sys.executable, *words, "train.py"]
        done = subprocess.run(command, cwd=folder, env=os.environ, capture_output=True, text=True, check=True)
        found[way] = done.stdout.strip().splitlines()[-1]
        files[way] = (folder / "last.pt").read_bytes()
    return {
        "ways": list(ways),
        "same bits": len(set(found.values())) == 1,
        "same files": len(set(files.values())) == 1,
    }
