"""Rehearsals in processes of their own: the script as it is, with another batch, with one change."""

from __future__ import annotations

import builtins
import json
import os
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem import redaction
from premortem.errors import PremortemError
from premortem.fit import templates
from premortem.fit.gpus import Gpu
from premortem.scriptrun import waiting as waiting_script
from premortem.scriptrun.run import Plan, Script, ScriptRun

if TYPE_CHECKING:
    from typing_extensions import Self

SECONDS = 60.0  # for everything, unless the user says otherwise,
PATIENCE = 300.0  # ... and for the script's own start, without which there is no answer
_AFTER = 20.0  # ... after a start that has used up all of it
_CLOSING = 3.0  # ... for the processes to end and the page to be written
_SHORTEST = 1.0  # ... that a rehearsal takes
_WORKERS = 2  # rehearsals at the same time
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


class OutOfTime(PremortemError):  # noqa: N818 - likewise
    """The time for the whole is over, or too short for one more rehearsal."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The script and the card."""

    target: str
    module: bool
    argv: list[str]
    gpu: Gpu
    device: str  # as it was named
    seconds: float = SECONDS  # for the whole
    patience: float = (
        PATIENCE  # ... and for the first rehearsal, with which the script's own start is waited for
    )
    show_output: bool = False

    @property
    def script(self) -> Script:
        return Script(target=self.target, module=self.module, argv=self.argv)


class Trials:
    """Remembers every result. The first rehearsal runs the whole script and leaves processes waiting in it
    (`templates.py`); others go on from there where they can, and are whole launches where they cannot.

    May be asked by several threads."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.workers = min(_WORKERS, os.cpu_count() or 1)
        self.began = time.monotonic()
        self.until = self.began + asked.seconds - _CLOSING
        self.launches = 0
        self.sandbox: dict[str, Any] = {}  # known in the end
        self._known: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        self._typical = self._whole = (
            0.0  # seconds that a rehearsal takes, from a template and from the start
        )
        self._orders: dict[int, Future[dict[str, Any]]] = {}  # numbers, and what will be reported about them
        self._first: Future[dict[str, Any]] = Future()
        self._places: dict[str, str] = {}
        plan = Plan(play="premortem.fit.rehearsed_script:play", warm="premortem.fit.rehearsed_script:warm")
        environment = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
        self._run = ScriptRun(asked.script, plan, environment=environment, lanes=1 + self.workers)
        self._session = threading.Thread(target=self._play, name="premortem-fit", daemon=True)

    def base(self) -> dict[str, Any]:
        """The script as it is. Raises NotRehearsed when there is no step to predict."""
        self._session.start()
        seconds = max(self.asked.patience, self.asked.seconds - _CLOSING)
        try:
            record = self._first.result(timeout=seconds)
        except TookTooLong:
            raise NotRehearsed(
                f"no optimizer made two steps within {seconds:.0f} s; --seconds gives it longer"
            ) from None
        found = self._judged(record, self._run.scratch / "run-1" / "printed.txt")
        self._places, self._whole = found["templates"], found["seconds"]
        if (
            self.asked.patience > self.asked.seconds
        ):  # a script that starts slowly has its answer a little later
            self.until = max(self.until, time.monotonic() + _AFTER)
        return found

    def of(self, **order: Any) -> dict[str, Any]:
        """Raises NotRehearsed when the script has no step then, OutOfTime when it was not tried."""
        key = json.dumps(order, sort_keys=True)
        if key not in self._known:
            self._known[key] = self._rehearse(order)
        return self._known[key]

    def cancel(self) -> None:
        """End what is running; nothing else begins."""
        self.until = 0.0
        self._run.cancel()
        for waiting in list(self._orders.values()):
            self._settle(waiting, {})

    def close(self) -> None:
        """End all processes, and the script in them."""
        self.cancel()
        if self._session.ident is not None:
            self._session.join()
        self._run.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- one rehearsal --------------------------------------------------------------------

    def _rehearse(self, order: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            self.launches += 1
            number = self.launches
        began = time.monotonic()
        place = self._places.get("changes" if "changes" in order else order["lever"]["kind"])
        if place is not None:
            found = self._from_template(place, order, number)
            if found is not None:
                self._typical = max(self._typical, time.monotonic() - began)
                return found
        return self._launched(order)

    def _from_template(self, place: str, order: dict[str, Any], number: int) -> dict[str, Any] | None:
        """None when it takes a whole launch: the change comes too late there, or another rehearsal was in the way."""
        self._time_left(self._typical)
        shared = self._run.shared
        waiting = self._orders[number] = Future()
        waiting_script.put(templates.folder(shared, place), number, order)
        try:
            record = waiting.result(timeout=max(0.0, self.until - time.monotonic()))
        except TookTooLong:
            raise OutOfTime from None
        if not record and not self.until:
            raise OutOfTime
        if "too_late" in record or _in_the_way(record):
            return None
        return self._judged(record, waiting_script.printed(shared, number))

    def _launched(self, order: dict[str, Any]) -> dict[str, Any]:
        ran = self._run.go(self._order(**order), self._time_left(self._whole))
        if ran.late or not self.until:
            raise OutOfTime
        record = {
            name: ran.last(name) for name in ("answer", "problem", "failed") if ran.last(name) is not None
        }
        return self._judged(record, ran.printed)

    def _time_left(self, typical: float) -> float:
        """Raises OutOfTime when a rehearsal that takes so many seconds would not end in time."""
        left = self.until - time.monotonic()
        if left < max(typical, _SHORTEST):
            raise OutOfTime
        return left

    def _order(self, **order: Any) -> dict[str, Any]:
        return {"device": self.asked.device, "share": SHARE, "reserve": RESERVE, **order}

    def _judged(self, record: dict[str, Any], printed: Path | str) -> dict[str, Any]:
        """Raises NotRehearsed for what is not the prediction of a step."""
        if isinstance(printed, Path):
            text = printed.read_text(encoding="utf-8", errors="replace") if printed.exists() else ""
        else:
            text = printed
        tail = redaction.redacted(text)[-_TAIL:].strip()
        if problem := record.get("problem"):
            raise NotRehearsed(problem, tail)
        if failed := record.get("failed"):
            raise NotRehearsed(f"the rehearsal itself failed ({failed})", tail)
        if "answer" not in record:
            raise NotRehearsed("the process of the rehearsal died without an answer", tail)
        return _checked(record["answer"], tail)

    # -- the session ----------------------------------------------------------------------

    def _play(self) -> None:
        """On its own thread: the first rehearsal, and the processes that it leaves waiting."""
        seconds = self.asked.patience + self.asked.seconds
        show = self.asked.show_output
        ran = self._run.go(self._order(templates=True), seconds, show_output=show, heard=self._heard)
        self.sandbox = ran.guarantee.to_json()
        for waiting in (self._first, *list(self._orders.values())):
            self._settle(waiting, {})

    def _heard(self, line: dict[str, Any]) -> None:
        whole = {"answer", "problem", "failed", "too_late"} & line.keys()
        if "order" in line and whole:
            self._settle(self._orders[line["order"]], line)
        elif whole or "ended" in line:
            self._settle(self._first, line)

    def _settle(self, waiting: Future[dict[str, Any]], line: dict[str, Any]) -> None:
        with self._lock:
            if not waiting.done():
                waiting.set_result(line)


def _in_the_way(record: dict[str, Any]) -> bool:
    """Rehearsals from one place share a folder for what the script writes: a file that is there already may end it."""
    ending = record.get("answer", {}).get("ending") or {}
    kind = getattr(builtins, str(ending.get("error")), None)
    return isinstance(kind, type) and issubclass(kind, OSError)


def _checked(found: dict[str, Any], tail: str) -> dict[str, Any]:
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
