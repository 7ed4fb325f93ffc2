"""A verb's side: a script in a process of its own, started, waited for, ended with all that it started.

The same holds for every verb: nothing to read on stdin, trackers off, what the script prints goes to a file, what it
writes is thrown away, and no process is left behind, also when the verb itself is killed.
"""

from __future__ import annotations

import json
import os
import queue
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction
from premortem.scriptrun.channel import Reader
from premortem.scriptrun.environment import environment
from premortem.scriptrun.process_group import Place, to_json
from premortem.scriptrun.sandbox import Guarantee, first_level
from premortem.scriptrun.sandbox.layers import Layers, discard

if TYPE_CHECKING:
    from typing_extensions import Self

_ROOMY = "/var/tmp"  # noqa: S108 - a disk as a rule, where /tmp may be memory, and few files lie
_ENOUGH = 2 << 30  # bytes, for what a script writes in a few steps
_PATIENCE = 10.0  # seconds for the keeper to end what is left
_SOON = 0.5  # ... to end by itself when nothing is left
_LISTEN = 0.1  # ... between two looks at what was sent


@dataclass(frozen=True, kw_only=True)
class Script:
    """The user's command."""

    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    cwd: Path | None = None  # None: where we are

    @classmethod
    def from_words(cls, words: list[str], cwd: Path | None = None) -> Script:
        """As `python` would be given it: a script or -m module, and its arguments."""
        module = words[0] == "-m"
        return cls(target=words[module], module=module, argv=words[1 + module :], cwd=cwd)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What happens in the script's process, as `module:function`."""

    play: str  # called with a `Played`
    warm: str = ""  # called once, before the forks that play


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a run left behind."""

    code: int  # 0 when it was ended because its time was over
    late: bool = False
    printed: str = ""
    seconds: float = 0.0
    lines: list[dict[str, Any]] = field(default_factory=list)  # the results of the plan
    guarantee: Guarantee = field(default_factory=lambda: Guarantee(0))
    layers: Layers = field(default_factory=lambda: Layers("", {}))

    def tail(self, lines: int) -> str:
        """The last lines that it printed."""
        return "\n".join(self.printed.splitlines()[-lines:])

    def problem(self, seconds: float) -> str:
        """What went wrong with the process itself; empty when nothing did."""
        if self.late:
            return f"the script took longer than {seconds:g} s (see --seconds)"
        return f"the script's process died (exit code {self.code})" if self.code else ""

    def last(self, name: str) -> Any:
        """The last result under this name; None when there is none."""
        return next((line[name] for line in reversed(self.lines) if name in line), None)


@dataclass
class _Lane:
    """The pipes to one server of the keeper's, which plays one launch at a time."""

    orders: int = -1
    answers: int = -1


class ScriptRun:
    """As many launches as are asked for; `lanes` of them at the same time, from as many threads."""

    def __init__(
        self,
        script: Script,
        plan: Plan,
        *,
        environment: Mapping[str, str] | None = None,
        show_output: bool = False,
        lanes: int = 1,
    ) -> None:
        self.script, self.plan = script, plan
        self.cwd = Path(os.path.realpath(script.cwd or Path.cwd()))
        self._more = dict(environment or {})
        self._show_output = show_output
        self._keeper: subprocess.Popen[bytes] | None = None
        self.cancelled = False
        self._lock = threading.Lock()
        self._lanes = [_Lane() for _ in range(lanes)]
        self._free: queue.SimpleQueue[_Lane] = queue.SimpleQueue()
        for lane in self._lanes:
            self._free.put(lane)
        self._launches = 0
        self.strict = False  # only in a sandbox that keeps what it promises
        self._last = (
            threading.local()
        )  # the folder of a thread's last launch, which is read until the next one
        self._discards: list[threading.Thread] = []
        self.scratch = _new_scratch()
        for name in ("shared", "tmp"):
            (self.scratch / name).mkdir()

    @property
    def shared(self) -> Path:
        """A folder that both sides see."""
        return self.scratch / "shared"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.end()
        for thread in self._discards:
            thread.join()
        discard(self.scratch)

    def go(
        self,
        order: Mapping[str, Any],
        seconds: float,
        *,
        words: list[str] | None = None,
        environment: Mapping[str, str] | None = None,
        show_output: bool | None = None,
        crew: list[Place] | None = None,
        heard: Callable[[dict[str, Any]], None] | None = None,
    ) -> Ran:
        """One launch. `words`: more arguments; `environment`: more variables, set when Python runs already.

        `crew`: the ranks of a script that runs on several processes. `heard` is called with each line that the plan tells,
        while it runs."""
        lane = self._free.get()
        try:
            return self._go(
                lane,
                {
                    "play": self.plan.play,
                    "target": self.script.target,
                    "module": self.script.module,
                    "argv": [*self.script.argv, *(words or ())],
                    "cwd": str(self.cwd),
                    "order": dict(order),
                    "environment": dict(environment or {}),
                    "show_output": self._show_output if show_output is None else show_output,
                    "level": first_level(),
                    "strict": self.strict,
                    "crew": to_json(crew or []),
                },
                seconds,
                heard,
            )
        finally:
            self._free.put(lane)

    def _go(
        self,
        lane: _Lane,
        record: dict[str, Any],
        seconds: float,
        heard: Callable[[dict[str, Any]], None] | None,
    ) -> Ran:
        began = time.monotonic()
        with self._lock:
            self._launches += 1
            run = self.scratch / f"run-{self._launches}"
        run.mkdir()
        self._discard(getattr(self._last, "folder", None))
        self._last.folder = run
        reader = Reader(run / "told.jsonl", heard)
        answer, late = self._send(lane, {**record, "run": str(run)}, seconds, reader)
        if "ended" not in answer and len(self._lanes) == 1:
            self.end()
        code = 0 if late else int(answer.get("ended", 1))
        reader.read()
        return self._left(run, code, late, time.monotonic() - began, answer, reader.lines)

    def _discard(self, folder: Path | None) -> None:
        """In the background: some disks take milliseconds for each file."""
        if folder is not None:
            thread = threading.Thread(target=discard, args=(folder,), daemon=True)
            thread.start()
            self._discards.append(thread)

    def _left(
        self,
        run: Path,
        code: int,
        late: bool,
        seconds: float,
        answer: dict[str, Any],
        lines: list[dict[str, Any]],
    ) -> Ran:
        printed = run / "printed.txt"
        record: dict[str, Any] = {"level": 0, "layers": {}, "refused": {}, "store": ""}
        with suppress(OSError, ValueError):
            record = json.loads((run / "entered.json").read_text(encoding="utf-8"))
        fell = {int(level): why for level, why in answer.get("fell", {}).items()}
        return Ran(
            code=code,
            late=late,
            printed=redaction.redacted(printed.read_text(encoding="utf-8", errors="replace"))
            if printed.exists()
            else "",
            seconds=seconds,
            lines=lines,
            guarantee=Guarantee(record["level"], record["refused"], fell),
            layers=Layers.from_json(str(run / record["store"]), record["layers"]),
        )

    # -- the keeper -----------------------------------------------------------------------

    def _send(
        self, lane: _Lane, record: dict[str, Any], seconds: float, reader: Reader
    ) -> tuple[dict[str, Any], bool]:
        """How it ended, and whether it was ended because it took too long. Whatever interrupts us ends the script."""
        try:
            self._start()
            until = time.monotonic() + seconds
            os.write(lane.orders, json.dumps(record).encode() + b"\n")
            late = not self._answered(lane, until, reader)
            if late:
                os.write(lane.orders, b"{}\n")  # ends it
                self._answered(lane, time.monotonic() + _PATIENCE, reader)
            return json.loads(_line(lane.answers) or b"{}"), late
        except BrokenPipeError:
            return {}, False
        except BaseException:  # Ctrl-C and SIGTERM as well: no process may be left behind
            self.end()
            raise

    @staticmethod
    def _answered(lane: _Lane, until: float, reader: Reader) -> bool:
        while (left := until - time.monotonic()) > 0:
            wait = min(left, _LISTEN) if reader.heard is not None else left
            if select.select([lane.answers], [], [], wait)[0]:
                return True
            if reader.heard is not None:
                reader.read()
        return False

    def _start(self) -> None:
        """One keeper for all lanes."""
        with self._lock:
            if self.cancelled:
                raise BrokenPipeError
            if self._keeper is not None:
                return
            theirs: list[int] = []
            for lane in self._lanes:
                orders, lane.orders = os.pipe()
                lane.answers, answers = os.pipe()
                theirs += [orders, answers]
            words = [str(self.scratch), self.plan.warm, *map(str, theirs)]
            try:
                self._keeper = subprocess.Popen(
                    [sys.executable, "-m", "premortem.scriptrun.keeper", *words],
                    cwd=self.cwd,
                    env=environment(self.scratch, self._more),
                    stdin=subprocess.DEVNULL,
                    pass_fds=theirs,
                    start_new_session=True,  # Ctrl-C is for us, and we end it
                )
            finally:
                for descriptor in theirs:
                    os.close(descriptor)

    def cancel(self) -> None:
        """From any thread: every launch ends at once, and no other begins."""
        with self._lock:
            self.cancelled = True
            if self._keeper is not None:
                self._keeper.terminate()

    def end(self) -> None:
        """The script, and all that it started. No thread may be in `go`."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        for lane in self._lanes:
            os.close(lane.orders)
            os.close(lane.answers)
        for patience, make_sure in ((_SOON, keeper.terminate), (_PATIENCE, keeper.kill)):
            with suppress(subprocess.TimeoutExpired):
                keeper.wait(timeout=patience)
                return
            make_sure()
        keeper.wait()


def _line(descriptor: int) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(descriptor, 1 << 16)
        if not part:
            return b""
        line += part
    return line


def _new_scratch() -> Path:
    """What the user has named; otherwise a disk where few files lie, or wherever there is more room."""
    places = [tempfile.gettempdir()]
    if not os.environ.get("TMPDIR") and os.access(_ROOMY, os.W_OK):
        places.insert(0, _ROOMY)
    place = places[0]
    if shutil.disk_usage(place).free < _ENOUGH:
        place = max(places, key=lambda each: shutil.disk_usage(each).free)
    return Path(os.path.realpath(tempfile.mkdtemp(prefix="premortem-", dir=place)))
