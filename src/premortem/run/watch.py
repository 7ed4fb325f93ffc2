"""`premortem.watch`: a loop watched from inside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from premortem.events import RunEnded
from premortem.findings import Finding
from premortem.run.found_so_far import working_folder
from premortem.run.watcher import Watcher
from premortem.settings import Silence, shared


class watch:  # noqa: N801 - used like a function: `with premortem.watch(model, optimizer):`
    """Watch a loop from inside: a script, a notebook cell, a test.

        with premortem.watch():
            train()

    or, without a block, `watcher = premortem.watch()` and later `watcher.close()`. Models and optimizers may
    be given so that ones built before are known; it is not needed. `sinks` and `notify` are lists of what
    `premortem run` takes as `--sink` and `--notify`.
    """

    def __init__(
        self,
        *objects: Any,
        policy: str = "observe",
        quiet: bool = False,
        sinks: Sequence[str] = (),
        notify: Sequence[str] = (),
    ) -> None:
        from premortem.notebook.ipython import face
        from premortem.terminal.console import Console

        console = Console(mute=quiet)
        self._face = None if quiet else face()
        relay = None
        if sinks or notify:
            from premortem.sinks import chosen
            from premortem.sinks.relay import Relay

            relay = Relay(chosen(sinks, notify), console.problem)
        told = console.finding if self._face is None else self._found
        silence = Silence(shared(Path(working_folder())))
        self._watcher = Watcher(
            policy, on_finding=told, on_problem=console.problem, relay=relay, silence=silence
        )
        self._watcher.attach()
        if self._face is not None:
            self._face.began()
        self._watcher.introduce(objects)

    @property
    def findings(self) -> list[Finding]:
        return self._watcher.findings

    @property
    def steps(self) -> int:
        return self._watcher.reached()

    def close(self) -> None:
        self._end(RunEnded())

    def _found(self, finding: Finding) -> None:
        if self._face is not None:
            self._face.found(finding, self.findings, self.steps)

    def _end(self, ended: RunEnded) -> None:
        self._watcher.close(ended)
        face, self._face = self._face, None
        if face is not None:
            face.ended(self.findings, self.steps, ended)
        if self._watcher.relay is not None:
            from premortem.sinks.base import Outcome

            steps = self._watcher.reached()
            self._watcher.relay.close(Outcome(reason=ended.reason, steps=steps, findings=self.findings))

    def __enter__(self) -> watch:  # noqa: PYI034 - `Self` is not in Python 3.10
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        reason = "finished" if kind is None else "crashed"
        self._end(RunEnded(reason=reason, error=kind.__name__ if kind else "", message=str(error or "")))
