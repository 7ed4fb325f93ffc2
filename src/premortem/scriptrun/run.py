"""A verb's side: a script in a process of its own, started, waited for, ended with all that it started.

The same holds for every verb: nothing to read on stdin, trackers off, what the script prints goes to a file, what it
writes is thrown away, and no process is left behind, also when the verb itself is killed.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction
from premortem.scriptrun.channel import told
from premortem.scriptrun.environment import environment
from premortem.scriptrun.process_group import Place, to_json
from premortem.scriptrun.sandbox import Guarantee, first_level
from premortem.scriptrun.sandbox.layers import Layers, discard

if TYPE_CHECKING:
    from typing_extensions import Self

_ROOMY = "/var/tmp"  # noqa: S108 - a disk as a rule, where /tmp may be memory, and few files lie
_ENOUGH = 2 << 30  # bytes, for what a script writes in a few steps
_PATIENCE = 10.0  # seconds for the keeper to end what is left


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
    lines: list[dict[str, Any]] = field(default_factory=list)  # what the plan told
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
        """What was told under this name, at last; None when nothing was."""
        return next((line[name] for line in reversed(self.lines) if name in line), None)


class ScriptRun:
    """As many launches as are asked for, one at a time."""

    def __init__(
        self,
        script: Script,
        plan: Plan,
        *,
        environment: Mapping[str, str] | None = None,
        show_output: bool = False,
    ) -> None:
        self.script, self.plan = script, plan
        self.cwd = Path(os.path.realpath(script.cwd or Path.cwd()))
        self._more = dict(environment or {})
        self._show_output = show_output
        self._keeper: subprocess.Popen[bytes] | None = None
        self._orders = self._answers = -1
        self._launches = 0
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
    ) -> Ran:
        """One launch. `words`: more arguments; `environment`: more variables, set when Python runs already.

        `crew`: the ranks of a script that runs on several processes."""
        began = time.monotonic()
        self._launches += 1
        run = self.scratch / f"run-{self._launches}"
        run.mkdir()
        discard(self.scratch / f"run-{self._launches - 1}")
        script = self.script
        record = {
            "play": self.plan.play,
            "target": script.target,
            "module": script.module,
            "argv": [*script.argv, *(words or ())],
            "cwd": str(self.cwd),
            "run": str(run),
            "order": dict(order),
            "environment": dict(environment or {}),
            "show_output": self._show_output if show_output is None else show_output,
            "level": first_level(),
            "crew": to_json(crew or []),
        }
        answer = self._send(record, seconds)
        late, answer = answer is None, answer or {}
        if "ended" not in answer:
            self.end()
        code = 0 if late else int(answer.get("ended", 1))
        return self._left(run, code, late, time.monotonic() - began, answer)

    def _left(self, run: Path, code: int, late: bool, seconds: float, answer: dict[str, Any]) -> Ran:
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
            lines=told(run / "told.jsonl"),
            guarantee=Guarantee(record["level"], record["refused"], fell),
            layers=Layers.from_json(str(run / record["store"]), record["layers"]),
        )

    # -- the keeper -----------------------------------------------------------------------

    def _send(self, record: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """How it ended; None when it took too long. Whatever interrupts us ends the script."""
        try:
            if self._keeper is None:
                self._start()
            os.write(self._orders, json.dumps(record).encode() + b"\n")
            ready, _, _ = select.select([self._answers], [], [], seconds)
            if not ready:
                return None
            line = _line(self._answers)
        except BrokenPipeError:
            line = b""
        except BaseException:
            self.end()
            raise
        return json.loads(line) if line else {}

    def _start(self) -> None:
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        words = [str(orders), str(answers), str(self.scratch), self.plan.warm]
        try:
            self._keeper = subprocess.Popen(
                [sys.executable, "-m", "premortem.scriptrun.keeper", *words],
                cwd=self.cwd,
                env=environment(self.scratch, self._more),
                stdin=subprocess.DEVNULL,
                pass_fds=(orders, answers),
                start_new_session=True,  # Ctrl-C is for us, and we end it
            )
        finally:
            os.close(orders)
            os.close(answers)

    def end(self) -> None:
        """The script, and all that it started."""
        keeper, self._keeper = self._keeper, None
        if keeper is None:
            return
        for descriptor in (self._orders, self._answers):
            os.close(descriptor)
        try:
            keeper.wait(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            keeper.kill()
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


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
