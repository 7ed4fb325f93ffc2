"""How long `premortem ui` takes: a list of 10 000 runs, and a run of which 1 000 000 steps are kept.

    python bench/ui.py [--json FILE]

Seconds are those of a clock, asked by a client of a server that has just started; where it says "processor", those that
the server has computed, so that a busy machine changes little. "open" is the page and the plot of its curves, until both
have arrived; a browser has to draw them then.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import journal

from premortem.events import StepStats
from premortem.journal import Journal

RUNS = 10_000
STEPS = 1_000_000


class Server:
    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "premortem", "ui", str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert self.process.stdout is not None
        base, _query, token = self.process.stdout.readline().strip().partition("/?token=")
        self.port = int(base.rpartition(":")[2])
        self.cookie = f"premortem-{self.port}={token}"

    def get(self, path: str) -> tuple[float, str]:
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", path, headers={"cookie": self.cookie})
        reply = connection.getresponse()
        text = reply.read().decode()
        connection.close()
        assert reply.status == 200, text
        return time.monotonic() - began, text

    @property
    def processor(self) -> float:
        """Seconds that it has computed so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def __enter__(self) -> Server:  # noqa: PYI034 - `Self` is in typing from Python 3.11 only
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(30)


def many(scratch: Path) -> dict[str, float]:
    first = Journal.open(
        scratch / "run-00000", meta={"argv": ["train.py"], "reason": "finished"}, on_problem=print
    )
    for step in range(1, 101):
        first.step(
            StepStats(step=step, optimizer=1, loss=1 / step, grad_norm=1.0, worst=None, lr=0.1), 1e9 + step
        )
    first.close()
    for number in range(1, RUNS):
        (scratch / f"run-{number:05}").mkdir()
        shutil.copy(first.path, scratch / f"run-{number:05}" / first.path.name)
    with Server(scratch) as server:
        began = time.monotonic()
        shown, text = server.get("/")
        while "still being read" in text:
            _seconds, text = server.get("/")
        whole, computed = time.monotonic() - began, server.processor
        time.sleep(1.0)
        again = [server.get("/")[0] for _ in range(5)]
        found, text = server.get("/?q=run-09999")
        assert "/runs/run-09999" in text
        return {
            "runs": RUNS,
            "first_page_seconds": round(shown, 3),
            "all_read_seconds": round(whole, 3),
            "all_read_processor_seconds": round(computed, 3),
            "again_seconds": round(max(again), 3),
            "search_seconds": round(found, 3),
        }


def long(scratch: Path) -> dict[str, float]:
    journal(scratch / "long", STEPS)
    with Server(scratch) as server:
        server.get("/")
        before = server.processor
        page, _text = server.get("/runs/long")
        plot, drawn = server.get("/runs/long/plots/timeline")
        computed = server.processor - before
        again = server.get("/runs/long")[0] + server.get("/runs/long/plots/timeline")[0]
        return {
            "steps": STEPS,
            "page_seconds": round(page, 3),
            "plot_seconds": round(plot, 3),
            "open_seconds": round(page + plot, 3),
            "open_processor_seconds": round(computed, 3),
            "again_seconds": round(again, 3),
            "plot_bytes": len(drawn.encode()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = []
    for measure in (many, long):
        with tempfile.TemporaryDirectory() as scratch:
            found.append(measure(Path(scratch)))
        print(", ".join(f"{name.replace('_', ' ')} {value:,}" for name, value in found[-1].items()))
    if options.json:
        record = {"machine": platform.machine(), "python": platform.python_version(), "measured": found}
        options.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
