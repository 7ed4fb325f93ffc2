"""While a run is watched: a step that fails becomes a capsule, before it moves a weight.

It is copied at once, and written by a thread while the run goes on.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from premortem import __version__
from premortem.replay.collect import Taken, collect, gradients, sealed
from premortem.replay.how_started import how_started, versions
from premortem.replay.tensor_file import step_back

if TYPE_CHECKING:
    from premortem.probes import Attachment

MOST_CAPSULES = 3  # of a run: the first failures tell, later ones are mostly their echo
MOST_MIB = 2048  # of one capsule


class Capsules:
    """Writes capsules into the run's folder; at most a few, and never at the cost of the run."""

    def __init__(
        self,
        attachment: Attachment,
        folder: Path,
        argv: list[str],
        cwd: str,
        promised: Callable[[Path, int], None],
        written: Callable[[Path], None],
        withdrawn: Callable[[Path], None] = lambda _path: None,
        most_mib: float | None = None,
    ) -> None:
        self.attachment = attachment
        self.folder = folder
        self.argv = argv
        self.cwd = cwd
        self.promised = promised  # called at once with where it will be,
        self.written = written  # ... and at the end of a step that it is there,
        self.withdrawn = withdrawn  # ... or that it will never be
        self.most = int((most_mib if most_mib is not None else _limit()) * (1 << 20))
        self.count = 0
        self._last = -9
        self._threads: list[threading.Thread] = []
        self._stored: deque[Path] = deque()  # written, and not yet reported
        self._failed: deque[Path] = deque()
        self.guard = getattr(attachment, "guard", None)
        if self.guard is not None:
            self.guard.listeners.append(self.refused)
        attachment.optimizers.before_step.append(self._before_step)
        attachment.recorder.broken.append(self._buffer_broken)
        attachment.scalers.refused.append(self._scaler_refused)
        attachment.optimizers.after_step.append(self._tell)
        attachment.optimizers.at_leisure.add(self._tell)

    def refused(self, refusal: Any) -> None:
        """The guard refused a step: weights and optimizer state are as they were before it."""
        self._write(refusal.optimizer, refusal.key, refusal.step, refusal.reason)

    def _before_step(self, optimizer: Any, track: Any) -> None:
        """The step is going to happen. What is wrong with it all the same? CPU only: no device is waited for."""
        if self.attachment.optimizers.was_refused:
            return  # the guard tells that
        step = self.attachment.session.step + 1
        if self.attachment.nonfinite_origin.loss_broken:
            self._write(optimizer, track.key, step, "loss")
        elif self.guard is None and self.attachment.stats.broken and _broken(gradients(optimizer)):
            self._write(optimizer, track.key, step, "gradient")

    def _buffer_broken(self, optimizer: Any, track: Any, name: tuple[int, str], value: torch.Tensor) -> None:
        self._write(optimizer, track.key, self.attachment.session.step + 1, "buffer", (name, value))

    def _scaler_refused(self, optimizer: Any, key: int) -> None:
        """A scaler left a step out, and the loss itself was broken: no scale would help."""
        self._write(optimizer, key, self.attachment.session.step + 1, "gradient")

    def _write(
        self,
        optimizer: Any,
        key: int,
        step: int,
        reason: str,
        buffer: tuple[tuple[int, str], torch.Tensor] | None = None,
    ) -> None:
        recurs, self._last = step <= self._last + 1, step
        if recurs or self.count >= MOST_CAPSULES or self.most <= 0:
            return
        self.count += 1
        try:
            taken = collect(self.attachment, optimizer, key, step, reason, self.most, buffer)
            ranks = taken.facts["ranks"]
            told = ranks is None or (ranks["told"] and _seen_by_all(reason, optimizer))
            path = self.folder / f"step-{step}"
            thread = threading.Thread(
                target=self._store, args=(taken, path, told), name="premortem-capsule", daemon=True
            )
            thread.start()
        except Exception as error:  # noqa: BLE001 - the run goes on without this capsule
            self.attachment.session.fault("capsule", error)
            return
        self._threads.append(thread)
        if told:
            self.promised(path, step)

    def _store(self, taken: Taken, path: Path, told: bool) -> None:
        """In a thread of its own: nothing of the run is touched here but the copies."""
        step_back()
        try:
            capsule = sealed(taken)
            capsule.manifest = {
                "premortem": __version__,
                "started": how_started(self.argv, self.cwd),
                "versions": versions(),
                **capsule.manifest,
            }
            capsule.save(path)
        except Exception as error:  # noqa: BLE001 - the run goes on without this capsule
            self.attachment.session.fault("capsule", error)
            self._failed.append(path)
            return
        if told:
            self._stored.append(path)

    def _tell(self, *_: Any) -> None:
        while self._failed:
            self.withdrawn(self._failed.popleft())
        while self._stored:
            self.written(self._stored.popleft())

    def close(self, seconds: float = 60.0) -> None:
        """The run is over: what is being written is waited for."""
        for thread in self._threads:
            thread.join(seconds)
        self._tell()


def _seen_by_all(reason: str, optimizer: Any) -> bool:
    """Whether the other ranks have this capsule too. A loss or a buffer may be broken on one of them; gradients are those of
    all, and a step is refused by all."""
    return reason not in {"loss", "buffer"} or _broken(gradients(optimizer))


def _broken(grads: list[torch.Tensor]) -> bool:
    mine = [g for g in grads if g.device.type == "cpu" and g.layout == torch.strided]
    if not mine or math.isfinite(torch.stack(torch._foreach_norm(mine)).sum().item()):  # noqa: SLF001 - it has no public name
        return False
    return not all(bool(torch.isfinite(g).all()) for g in mine)


def _limit() -> float:
    """In MiB; 0 writes none."""
    try:
        return float(os.environ.get("PREMORTEM_CAPSULE_MIB", MOST_MIB))
    except ValueError:
        return MOST_MIB
