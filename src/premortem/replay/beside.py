"""The autopsy: while a run goes on, the step that it failed at is run again beside it.

    a capsule was written    ─►  a process of the lowest priority, which sees no GPU: reproduce, look, name the operation
    its answer, a file       ─►  taken at the end of a step of the run, or at its end, which waits for it a little

Nothing here imports torch, and the run pays for one question in each step while such a process is at work. It ends with the
run, also when that is killed, and it is the first that the machine ends when memory runs out.
"""

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from premortem.amounts import free
from premortem.files import trust
from premortem.files.plain import dumps
from premortem.files.untrusted import loads
from premortem.startup import behind

MOST = 3  # capsules of a run, which has not more
SECONDS = 300.0  # that one autopsy may take
_ROOM = 1 << 30  # bytes: what Python and torch need beside the capsule,
_TIMES = 4  # ... of which the script holds about so many copies
_AGAIN = 0.1  # seconds between two questions, at the end of the run
_MOST_ANSWER = 1 << 24  # bytes; a longer one is not ours


@dataclass
class Waiting:
    capsule: Path
    on_gpu: bool = False  # it failed without one


class Autopsies:
    """Of one run. All methods are for the thread that trains."""

    def __init__(self, folder: Path, unexplained: Callable[[Path], bool]) -> None:
        self._folder = folder
        self._unexplained = unexplained  # whether the run has not seen the cause itself by now
        self._waiting: deque[Waiting] = deque()
        self._on_gpu: list[Waiting] = []  # to be tried when the run does not need its GPU any more
        self._process: subprocess.Popen[bytes] | None = None
        self._now: Waiting | None = None
        self._began = 0.0
        self._begun = 0
        self._looked = 0.0  # when it was asked for memory
        self._over = False
        self._proved = False  # one of them has named its cause

    def add(self, capsule: Path) -> None:
        if self._begun < MOST:
            self._begun += 1
            self._waiting.append(Waiting(capsule))

    @property
    def pending(self) -> bool:
        """Something is at work, or waits for its turn."""
        return self._process is not None or bool(self._waiting or (self._over and self._on_gpu))

    @property
    def wanted(self) -> bool:
        """Likewise, and the run does not know the answer."""
        waiting = [*self._waiting, *self._on_gpu] + ([self._now] if self._now is not None else [])
        return any(self._unexplained(each.capsule) for each in waiting)

    def heard(self) -> list[dict[str, Any]]:
        """What was found out since the last question. Starts the next one."""
        found = self._answer()
        if self._process is None and (self._over or self._room()):
            self._start()
        return found

    def last(self, seconds: float, hurried: Callable[[], bool] = lambda: False) -> list[dict[str, Any]]:
        """The run is over: what is found out in the next `seconds`. Nothing is at work afterwards."""
        self._over = True
        self._waiting.extend(self._on_gpu)
        self._on_gpu = []
        until = time.monotonic() + seconds
        if self._process is not None:
            hurry(self._process.pid)
        found: list[dict[str, Any]] = []
        try:
            while self.pending and time.monotonic() < until and not hurried():
                found += (new := self.heard())
                if new and self._proved and not self.wanted:
                    break  # later failures are mostly the echo of the first
                time.sleep(_AGAIN)
        finally:
            self.close()
        return found

    def close(self) -> None:
        process, self._process = self._process, None
        self._waiting.clear()
        if process is None:
            return
        with suppress(OSError):
            process.send_signal(signal.SIGINT)  # it ends the script, and takes its files away
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self._file().unlink(missing_ok=True)

    def _room(self) -> bool:
        """Whether the machine has memory to spare for it. If not, it waits for the end of the run."""
        now = time.monotonic()
        if not self._waiting or now < self._looked + 1:
            return False
        self._looked = now
        capsule = self._waiting[0].capsule
        size = sum(file.stat().st_size for file in capsule.glob("*.safetensors"))
        return free() > _ROOM + _TIMES * size

    def _start(self) -> None:
        while self._waiting and not self._unexplained(self._waiting[0].capsule):
            self._waiting.popleft()
        if not self._waiting:
            return
        self._now = self._waiting.popleft()
        words = [str(self._now.capsule), str(self._file()), str(os.getpid())]
        words += ["--gpu"] * self._now.on_gpu + ["--now"] * self._over
        self._began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "premortem.replay.beside", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **trust.handed_on()},
            start_new_session=True,  # Ctrl-C is for the run, which ends it
        )

    def _answer(self) -> list[dict[str, Any]]:
        process, now = self._process, self._now
        if process is None or now is None:
            return []
        if process.poll() is None:
            if time.monotonic() - self._began > SECONDS:
                process.send_signal(signal.SIGINT)
            return []
        self._process = self._now = None
        record = self._read(process.returncode)
        record = {**record, "capsule": str(now.capsule)}
        if not record["reproduced"] and not now.on_gpu and record.get("device", "").startswith("cuda"):
            self._on_gpu.append(Waiting(now.capsule, on_gpu=True))
            return []
        self._proved |= bool(record["reproduced"])
        return [record]

    def _read(self, code: int) -> dict[str, Any]:
        file = self._file()
        try:
            with file.open("rb") as answer:
                record = loads(answer.read(_MOST_ANSWER))
            file.unlink()
        except (OSError, ValueError):
            return {"reproduced": False, "problem": f"its process ended with exit code {code}"}
        return record if isinstance(record, dict) else {"reproduced": False}

    def _file(self) -> Path:
        return self._folder / "autopsy.json"


def hurry(pid: int) -> None:
    """The run has ended, and a person waits: this process and its children are ordinary ones from now on, where that
    may be."""
    with suppress(OSError, ValueError):
        for one in [pid, *children_of(pid)]:
            os.setpriority(os.PRIO_PROCESS, one, 0)


def children_of(pid: int) -> list[int]:
    """Of them and of theirs."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                words = (entry / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                parents.setdefault(int(words[1]), []).append(int(entry.name))
    found: list[int] = []
    queue = [pid]
    while queue:
        mine = parents.get(queue.pop(), [])
        found += mine
        queue += mine
    return found


# --- in that process -------------------------------------------------------------------------


def main(words: list[str]) -> None:
    capsule, answer, run = Path(words[0]), Path(words[1]), int(words[2])
    behind.take_place(run, hurried="--now" in words)
    from premortem.errors import PremortemError
    from premortem.files import private
    from premortem.replay import director, page

    options = director.ReplayOptions(
        capsule=capsule, cpu="--gpu" not in words, quick=True, unasked=True, seconds=SECONDS
    )
    try:
        done = director.replay(options)
        if done.interrupted is not None:
            return
        text = page.record(done, capsule)
    except PremortemError as error:
        text = dumps({"reproduced": False, "problem": str(error)})
    draft = answer.with_suffix(".draft")
    private.write_text(draft, text)
    draft.replace(answer)


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        main(sys.argv[1:])
