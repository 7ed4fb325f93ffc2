"""Rehearsals in processes of their own: the script as it is, with another batch, with one change."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction, untrusted
from premortem.errors import PremortemError
from premortem.fit.gpus import Gpu

if TYPE_CHECKING:
    from typing_extensions import Self

SHARE = 0.96  # of the room: what is left is for what no model knows
# Times what is reserved where there is no limit: gaps grow over the steps of a run, and two are rehearsed.
RESERVE = 1.12
_BY_VALUE = {"DynamicOutputShapeException", "DataDependentOutputException"}
_NAMED = 2  # assumptions
_TAIL = 2000  # characters of the script's output that are shown when it fails


class NotRehearsed(PremortemError):  # noqa: N818 - reads as what it says
    """Why a script could not be rehearsed; `tail` is the end of what it printed."""

    def __init__(self, sentence: str, tail: str = "") -> None:
        super().__init__(sentence)
        self.tail = tail


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The script and the card."""

    target: str
    module: bool
    argv: list[str]
    gpu: Gpu
    device: str  # as it was named
    seconds: float = 300.0
    show_output: bool = False


@dataclass
class Trials:
    """Remembers every result; each is one launch."""

    asked: Asked
    launches: int = 0
    _known: dict[str, dict[str, Any]] = field(default_factory=dict)
    _server: subprocess.Popen[str] | None = None

    def base(self) -> dict[str, Any]:
        return self.of()

    def of(self, **order: Any) -> dict[str, Any]:
        """Raises NotRehearsed when there is no step to predict."""
        key = json.dumps(order, sort_keys=True)
        if key not in self._known:
            self._known[key] = self._launch(order)
        return self._known[key]

    def _launch(self, order: dict[str, Any]) -> dict[str, Any]:
        asked = self.asked
        self.launches += 1
        with tempfile.TemporaryDirectory(prefix="premortem-fit-") as folder:
            place = Path(folder).resolve()
            answer, said = place / "answer.json", place / "output.txt"
            whole = {
                "target": asked.target,
                "module": asked.module,
                "argv": asked.argv,
                "device": asked.device,
                "share": SHARE,
                "reserve": RESERVE,
                "answer": str(answer),
                "scratch": str(place / "scratch"),
                **order,
            }
            (place / "scratch").mkdir()
            shown = asked.show_output and not order
            if not self._send(whole | {"output": "" if shown else str(said)}):
                raise NotRehearsed(
                    f"no optimizer made two steps within {asked.seconds:g} s; --seconds gives it longer",
                    _tail(said),
                )
            tail = _tail(said)
            if not answer.exists() or not answer.stat().st_size:
                raise NotRehearsed("the process of the rehearsal died without an answer", tail)
            try:
                found: dict[str, Any] = untrusted.loads(untrusted.read_text(answer))
            except ValueError:
                raise NotRehearsed("the process of the rehearsal died while it answered", tail) from None
        return _checked(found, tail)

    # -- the process ----------------------------------------------------------------------

    def _send(self, order: dict[str, Any]) -> bool:
        """Have one order done. False when it took too long; then the next begins with a new process."""
        if self._server is None or self._server.poll() is not None:
            environment = os.environ | {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
            self._server = subprocess.Popen(
                [sys.executable, "-m", "premortem.fit.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environment,
                text=True,
                start_new_session=True,
            )
        server = self._server
        assert server.stdin is not None  # noqa: S101 - pipes, as asked for above
        assert server.stdout is not None  # noqa: S101
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        ready, _, _ = select.select([server.stdout], [], [], self.asked.seconds)
        if not ready:
            self.close()
            return False
        server.stdout.readline()
        return True

    def close(self) -> None:
        """End the process, and the script in it."""
        if self._server is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._server.pid, signal.SIGKILL)
            self._server.communicate()
            self._server = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _checked(found: dict[str, Any], tail: str) -> dict[str, Any]:
    if "problem" in found:
        raise NotRehearsed(found["problem"], tail)
    if found["complete"] and not found["allocated"]:
        raise NotRehearsed(
            "the script trains on the CPU: nothing was put on the GPU; it may need an argument such as --device cuda",
            tail,
        )
    if found["complete"]:
        return found
    ending = found.get("ending") or {}
    if ending.get("error") in _BY_VALUE:
        raise NotRehearsed(
            f"the result of `{ending['message'].removeprefix('aten.').partition('.')[0]}` at {found['where']} depends on "
            "values, which a rehearsal does not have",
            tail,
        )
    if ending.get("error"):
        where = f" at {found['where']}" if found.get("where") else ""
        raise NotRehearsed(
            f"the script stopped before its second step: {ending['error']}{where}: {ending['message']}"
            + _assumed(found["assumptions"]),
            tail,
        )
    if not found["steps"]:
        raise NotRehearsed(
            "the script ended without making an optimizer: there is no training step to predict", tail
        )
    if not any(found["steps"].values()):
        raise NotRehearsed("the script ended before any optimizer made a step", tail)
    found["assumptions"].append("the script made fewer than two steps; what it did is what is predicted")
    return found


def _assumed(assumptions: list[str]) -> str:
    """Values that the script had only in the rehearsal: perhaps it would not have stopped with real ones."""
    values = [
        sentence for sentence in assumptions if " taken to be " in sentence or " taken to select " in sentence
    ]
    if not values:
        return ""
    more = f", and {len(values) - _NAMED} more" if len(values) > _NAMED else ""
    return (
        "; this may come from the rehearsal, which computes nothing and assumes values: "
        f"{'; '.join(values[:_NAMED])}{more}"
    )


def _tail(file: Path) -> str:
    if not file.exists():
        return ""
    return redaction.redacted(file.read_text(encoding="utf-8", errors="replace"))[-_TAIL:].strip()
