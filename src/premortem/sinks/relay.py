"""Carries what the run says to the sinks, on one thread of its own.

    the run                          the relay's thread
    step(), finding()  ── deque ──▶  every half second: steps, then findings, to each sink
    close(outcome)     ── bell  ──▶  the last of it; waited for, but not for long

A sink that fails is reported in one sentence, and is no longer used after three failures in a row. A sink that hangs
delays the other sinks, never the run.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial

from premortem.events import StepStats
from premortem.findings import Finding
from premortem.sinks.base import Outcome, Sink, Undelivered, finite

PAUSE = 0.5  # seconds between two deliveries
PATIENCE = 15.0  # for which the end of a run waits for its sinks
BACKLOG = 10_000  # steps kept while a sink hangs
ENOUGH = 3  # failures in a row
BURST = 25  # steps of one delivery that are passed on, besides those that are not finite


class Relay:
    def __init__(
        self,
        sinks: Sequence[Sink],
        on_problem: Callable[[str], None],
        fault: Callable[[str, BaseException], None] = lambda _unit, _error: None,
        *,
        script: str = "",
    ) -> None:
        self._sinks = list(sinks)
        for sink in self._sinks:
            sink.script = script
        self._failures: Counter[Sink] = Counter()
        self._complained: set[Sink] = set()
        self._problem = on_problem
        self._fault = fault
        self._pid = os.getpid()
        self._steps: deque[StepStats] = deque(maxlen=BACKLOG)
        self._findings: deque[Finding] = deque()
        self._outcome: Outcome | None = None
        self._bell = threading.Event()
        self._noticed = 0.0
        self._thread: threading.Thread | None = None

    # --- on the thread of the run --------------------------------------------------------

    def step(self, stats: StepStats) -> None:
        if self._here():
            self._steps.append(stats)
            if time.monotonic() - self._noticed > PAUSE:
                self._notice()

    def finding(self, finding: Finding) -> None:
        if self._here():
            self._notice()
            self._findings.append(finding)
            self._bell.set()

    def close(self, outcome: Outcome, patience: float = PATIENCE) -> None:
        """Deliver what is left. More than one call does no harm."""
        if self._outcome is not None or not self._here():
            return
        self._notice()
        self._outcome = outcome
        self._bell.set()
        if self._thread is None:
            return
        self._thread.join(patience)
        if self._thread.is_alive():
            names = ", ".join(sink.name for sink in self._sinks)
            self._problem(f"not everything reached {names} in {patience:.0f} seconds; the journal has it all")

    def _here(self) -> bool:
        """Whether there is a sink to send to: not in a child that the script forked."""
        return bool(self._sinks) and os.getpid() == self._pid

    def _notice(self) -> None:
        self._noticed = time.monotonic()
        for sink in self._sinks:
            self._try(sink, sink.notice)
        if self._thread is None:
            self._thread = threading.Thread(target=self._deliver, name="premortem-sinks", daemon=True)
            try:
                self._thread.start()
            except RuntimeError as error:  # the interpreter is going down
                self._fault("sinks", error)
                self._sinks = []
                self._thread = None

    # --- on its own ----------------------------------------------------------------------

    def _deliver(self) -> None:
        last = False
        while not last:
            self._bell.wait(PAUSE)
            self._bell.clear()
            last = self._outcome is not None
            steps = thinned([self._steps.popleft() for _ in range(len(self._steps))])
            findings = [self._findings.popleft() for _ in range(len(self._findings))]
            for sink in self._sinks:
                self._hand_over(sink, steps, findings, self._outcome if last else None)

    def _hand_over(
        self, sink: Sink, steps: Sequence[StepStats], findings: Sequence[Finding], outcome: Outcome | None
    ) -> None:
        if sink.wants_steps and steps:
            self._try(sink, partial(sink.steps, steps))
        for finding in findings:
            self._try(sink, partial(sink.finding, finding))
        if outcome is not None:
            self._try(sink, partial(sink.ended, outcome))

    def _try(self, sink: Sink, call: Callable[[], None]) -> None:
        if self._failures[sink] >= ENOUGH:
            return
        try:
            call()
        except Exception as error:  # noqa: BLE001 - whatever a tracker does, the run goes on
            self._failed(sink, error)
        else:
            if call != sink.notice:  # that one sends nothing
                self._failures[sink] = 0

    def _failed(self, sink: Sink, error: Exception) -> None:
        self._fault(sink.name, error)
        self._failures[sink] += 1
        if sink not in self._complained:
            self._complained.add(sink)
            self._problem(f"{sink.name} did not get the message ({reason(error)}); the run goes on")


def reason(error: BaseException) -> str:
    """The kind of error and no more: its text may hold an address or a password."""
    if isinstance(error, Undelivered):
        return str(error)
    detail = error.strerror if isinstance(error, OSError) and error.strerror else ""
    return detail or type(error).__name__


def thinned(steps: Sequence[StepStats]) -> list[StepStats]:
    """An even choice, with the last one and every one that is not finite."""
    stride = -(-len(steps) // BURST) or 1
    end = len(steps) - 1
    return [stats for n, stats in enumerate(steps) if n % stride == 0 or n == end or not finite(stats)]
