"""Ways in which a training script is ended from outside, and what is left of it: alone, and under `premortem run --quiet`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from tests import starting

START = """
import faulthandler, os, signal, sys, time
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def train(steps=5):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).pow(2).mean().backward()
        optimizer.step()

def send(*names):
    for name in names:
        os.kill(os.getpid(), getattr(signal, name))

def ready():
    open("ready", "w").close()

train()
print("trained", flush=True)
"""
HANDLER = """
def handler(signum, frame):
    print("heard", signal.Signals(signum).name, flush=True)
    sys.exit(7)
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"):
    signal.signal(getattr(signal, name), handler)
"""
NOTES = """
heard = []
for name in ("SIGTERM", "SIGUSR1", "SIGHUP"):
    signal.signal(getattr(signal, name), lambda signum, frame: heard.append(signum))
"""
LOADER = """
class Slow(torch.utils.data.Dataset):
    def __len__(self): return 64
    def __getitem__(self, index):
        if index == 9:
            ready()
            time.sleep(60)
        return torch.zeros(4)
if __name__ == "__main__":
    for batch in torch.utils.data.DataLoader(Slow(), batch_size=4, num_workers=1):
        pass
"""

# Each: the script, and the signals that are sent when it says that it is ready; else it sends them itself.
ENDINGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "interrupted": (START + "send('SIGINT')\ntrain()\n", ()),
    "interrupted, and it catches that": (
        START
        + "try:\n    send('SIGINT'); train()\nexcept KeyboardInterrupt:\n    print('caught'); sys.exit(5)\n",
        (),
    ),
    "interrupted twice": (
        START
        + "try:\n    send('SIGINT'); train()\nexcept KeyboardInterrupt:\n    print('once', flush=True)\n"
        + "send('SIGINT')\ntrain()\n",
        (),
    ),
    "terminated": (START + "send('SIGTERM')\ntrain()\n", ()),
    "hung up": (START + "send('SIGHUP')\ntrain()\n", ()),
    "quit": (START + "send('SIGQUIT')\ntrain()\n", ()),
    "user signal 1": (START + "send('SIGUSR1')\ntrain()\n", ()),
    "user signal 2": (START + "send('SIGUSR2')\ntrain()\n", ()),
    "alarm": (START + "signal.setitimer(signal.ITIMER_REAL, 0.2)\nwhile True: train()\n", ()),
    "its own alarm": (
        START
        + "signal.signal(signal.SIGALRM, lambda *_: sys.exit(9))\nsignal.alarm(1)\nwhile True: train()\n",
        (),
    ),
    "faulthandler": (
        START + "faulthandler.register(signal.SIGUSR2, chain=False, file=open(os.devnull, 'w'))\n"
        "send('SIGUSR2')\ntrain()\nprint('went on')\n",
        (),
    ),
    **{
        f"its own handler of {name}": (START + HANDLER + f"send({name!r})\ntrain()\n", ())
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
    },
    "handlers that only note": (
        START + NOTES + "send('SIGTERM', 'SIGUSR1', 'SIGHUP')\ntrain()\nprint(heard)\n",
        (),
    ),
    "ignored": (
        START + "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsend('SIGTERM')\ntrain()\nprint('went on')\n",
        (),
    ),
    "asleep, interrupted": (START + "ready()\ntime.sleep(60)\n", ("SIGINT",)),
    "asleep, terminated": (START + "ready()\ntime.sleep(60)\n", ("SIGTERM",)),
    "asleep, hung up": (START + "ready()\ntime.sleep(60)\n", ("SIGHUP",)),
    "asleep in C, terminated": (
        START + "import ctypes\nready()\nctypes.PyDLL(None).sleep(60)\n",  # holds the interpreter's lock
        ("SIGTERM",),
    ),
    "in a loader with a worker, terminated": (START + LOADER, ("SIGTERM",)),
    "in a save, terminated": (
        START + "class Late:\n    def __reduce__(self):\n        send('SIGTERM')\n        return (int, ())\n"
        "torch.save({'model': model.state_dict(), 'late': Late()}, 'last.pt')\ntrain()\n",
        (),
    ),
    "in a save, interrupted": (
        START + "class Late:\n    def __reduce__(self):\n        send('SIGINT')\n        return (int, ())\n"
        "try:\n    torch.save({'model': model.state_dict(), 'late': Late()}, 'last.pt')\n"
        "except KeyboardInterrupt:\n    print('caught', flush=True)\nsend('SIGTERM')\n",
        (),
    ),
    "crashed": (START + "model(torch.zeros(3, 3))\n", ()),
    "left with a sentence": (START + "sys.exit('no more')\n", ()),
    "left by force": (START + "os._exit(6)\n", ()),
    "killed": (START + "send('SIGKILL')\n", ()),
    "aborted": (START + "os.abort()\n", ()),
}


class Left(NamedTuple):
    code: int
    out: bytes
    err: bytes


def ended(name: str, folder: Path, *, watched: bool) -> Left:
    """Run it to its end. The folder is its own."""
    script, signals = ENDINGS[name]
    folder.mkdir()
    (folder / "train.py").write_text(script)
    ours = ["-m", "premortem", "run", "--quiet", "--folder", "run"] if watched else []
    process = starting.Popen(
        [sys.executable, *ours, "train.py"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )
    try:
        if signals:
            until = time.monotonic() + 60
            while not (folder / "ready").exists() and time.monotonic() < until:
                time.sleep(0.02)
            time.sleep(0.2)
            for each in signals:
                process.send_signal(getattr(__import__("signal"), each))
        out, err = process.communicate(timeout=90)
    finally:
        process.kill()
        process.wait()
    return Left(process.returncode, out, err)
