"""A script that saves without end is killed at any moment; then all that it left is judged."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from premortem.vault.listing import checkpoints
from premortem.vault.places import Here
from premortem.vault.verbs.verify import judged
from tests import starting

# A process that has torch loaded forks one victim after the other: each is killed a little later than the one before.
VICTIM = """
import os, sys
import torch
from premortem.cli import main

def victim(folder, seed):
    os.chdir(folder)
    sys.argv = ["premortem", "run", "--quiet", "train.py", str(seed)]
    main()

for line in sys.stdin:
    folder, seed = line.split()
    pid = os.fork()
    if not pid:
        os.setsid()
        sys.stdin = open(os.devnull)
        try:
            victim(folder, seed)
        finally:
            os._exit(0)
    print(pid, flush=True)
    _, status = os.waitpid(pid, 0)
    print(status, flush=True)
"""
SCRIPT = """
import sys
import torch
import premortem
torch.manual_seed(int(sys.argv[1]))
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
vault = premortem.Vault("vault")
for step in range(1_000_000):
    optimizer.zero_grad(); model(torch.randn(4, 64)).pow(2).mean().backward(); optimizer.step()
    state = {"model": model.state_dict(), "step": step}
    torch.save(state, "last.pt")
    if step % 3 == 0:
        torch.save(state, "best.pt")
    if step % 4 == 0:
        vault.save(step, model=model, optimizer=optimizer)
    with open("reached", "w") as file:
        file.write(str(step))
"""


class Campaign:
    """One folder, in which run after run is killed."""

    def __init__(self, folder: Path, seed: int = 0) -> None:
        self.folder = folder
        (folder / "train.py").write_text(SCRIPT)
        self._random = random.Random(seed)
        self._process = starting.Popen(
            [sys.executable, "-c", VICTIM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self.kills = 0
        self.judged = 0
        self.saves = 0

    def kill_one(self) -> list[str]:
        """Returns what is wrong with what it left."""
        before = self._whole()
        reached = self.folder / "reached"
        reached.unlink(missing_ok=True)
        pid = int(self._say(f"{self.folder} {self.kills}"))
        until = time.monotonic() + 60
        while not reached.exists() and time.monotonic() < until:
            time.sleep(0.005)
        time.sleep(self._random.uniform(0.0, 0.6))
        os.kill(pid, signal.SIGKILL)
        assert self._process.stdout is not None
        assert int(self._process.stdout.readline()) == signal.SIGKILL
        self.kills += 1
        self.saves += int(reached.read_text() or 0)
        return [
            *self._damaged(),
            *(f"{name} is lost" for name in before if not (self.folder / name).exists()),
        ]

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _say(self, line: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def _whole(self) -> set[str]:
        """What the script has saved itself; earlier versions may be rotated away."""
        return {name for name in ("last.pt", "best.pt") if (self.folder / name).exists()}

    def _damaged(self) -> list[str]:
        place = Here(self.folder)
        wrong = []
        for found in checkpoints(place):
            self.judged += 1
            verdict = judged(place, found)
            if not verdict.ok:
                wrong.append(f"{found.name}: {verdict.reason}")
            elif found.kind == "file" and found.name.endswith(".pt") and not _loads(self.folder / found.name):
                wrong.append(f"{found.name} is called whole, and does not load")
        return wrong


def _loads(path: Path) -> Any:
    import torch

    try:
        return torch.load(path)
    except Exception:  # noqa: BLE001 - whatever it is, it does not load
        return None


if __name__ == "__main__":
    campaign = Campaign(Path(sys.argv[1]))
    wrong = [each for _ in range(int(sys.argv[2])) for each in campaign.kill_one()]
    campaign.close()
    told = {"kills": campaign.kills, "judged": campaign.judged, "saves": campaign.saves, "wrong": wrong}
    sys.stdout.write(json.dumps(told, indent=1) + "\n")
