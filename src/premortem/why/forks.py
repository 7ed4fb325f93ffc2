"""The verb's side of `fork_place.py`: one process that waits in the script for each seed, and trials that are forks of it.

What cannot be a fork is a launch of its own: where the change acts earlier, where the script cannot be forked (it has threads,
or has used the GPU), where there is no memory for another copy of its data.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as TookTooLong
from contextlib import suppress
from dataclasses import replace
from typing import Any

from premortem import redaction
from premortem.amounts import free
from premortem.changes import RunDescription, of
from premortem.scriptrun import waiting
from premortem.scriptrun.run import ScriptRun
from premortem.scriptrun.sandbox.layers import discard
from premortem.why import order as orders
from premortem.why import sets
from premortem.why.order import Order, Result

_ROOM = (
    2.0  # times the memory of a run must be free for another process that waits: its data, and a trial's own
)
_SOON = 10.0  # seconds for a trial that is ended to be gone


class Forks:
    def __init__(self, run: ScriptRun, first: Result, facts: RunDescription) -> None:
        self._run, self._memory, self._facts = run, first.memory, orders.plain(facts)
        self._changes = [name for name, cls in of("learning").items() if not cls.absent(facts)]
        self._lock = threading.Lock()
        self._seeds: dict[int, _Seed] = {}
        self._numbers = 0

    def launch(self, order: Order, limit: float) -> Result | None:
        """None where it has to be a launch of its own."""
        if order.watched or order.files:
            return None
        with self._lock:
            self._numbers += 1
            number = self._numbers
            seed = self._seeds.get(order.seed)
            if seed is None:
                waits = Order(seed=order.seed, waits=self._changes, run=self._facts)
                seed = self._seeds[order.seed] = _Seed(self._run, waits)
                if free() > _ROOM * self._memory:
                    seed.start()
        return seed.launch(order, number, limit)

    def close(self) -> None:
        """Ends all of them, and every launch."""
        self._run.cancel()
        for seed in self._seeds.values():
            seed.join()


class _Seed(threading.Thread):
    """The launch that leaves a process waiting. It lasts as long as that process."""

    def __init__(self, run: ScriptRun, order: Order) -> None:
        super().__init__(name="premortem-why", daemon=True)
        self._run, self._order = run, order
        self._ready: Future[dict[str, Any]] = Future()  # what it says when it waits; {}: it does not
        self._lines: dict[int, list[dict[str, Any]]] = {}
        self._over: dict[int, Future[int]] = {}

    def run(self) -> None:
        try:
            self._run.go(self._order.to_json(), float("inf"), heard=self._heard)
        finally:
            _settle(self._ready, {})
            for over in list(self._over.values()):
                _settle(over, -1)

    def join(self, timeout: float | None = None) -> None:
        if self.ident is not None:
            super().join(timeout)

    def launch(self, order: Order, number: int, limit: float) -> Result | None:
        if self.ident is None:
            return None
        try:
            ready = self._ready.result(timeout=limit)
        except TookTooLong:
            return None
        if "waiting" not in ready or {*sets.parts(order.change)} & {*ready["too_late"]}:
            return None
        began = time.monotonic()
        shared = self._run.shared
        self._lines[number], self._over[number] = [], Future()
        place = shared / ready["waiting"]
        waiting.put(place, number, replace(order, waits=()).to_json())
        late, code = False, -1
        try:
            code = self._over[number].result(timeout=limit)
        except TookTooLong:
            late = True
            waiting.end(place, number)
            with suppress(TookTooLong):
                self._over[number].result(timeout=_SOON)
        lines = self._lines.pop(number)
        if any("refused" in line for line in lines) or (code < 0 and not lines and not late):
            return None  # it died before it began, or the process that waited did
        text = self._text(ready, number)
        result = orders.result_of(lines, text, late=late, seconds=time.monotonic() - began)
        discard(self._run.scratch / "tmp" / f"fork-{number}")
        return result

    def _text(self, ready: dict[str, Any], number: int) -> str:
        """What the script has printed, as in a run from its first line."""
        file = waiting.printed(self._run.shared, number)
        own = file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""
        return redaction.redacted(ready["printed"] + own)

    def _heard(self, line: dict[str, Any]) -> None:
        if "order" in line:
            self._lines.setdefault(line["order"], []).append(line)
        elif "over" in line:
            _settle(self._over[line["over"]], int(line["code"]))
        elif {"waiting", "cannot_wait", "failed", "problem"} & line.keys():
            _settle(self._ready, line)


def _settle(waits: Future[Any], value: Any) -> None:
    if not waits.done():
        waits.set_result(value)
