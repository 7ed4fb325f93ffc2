"""The numbers of every step: loss, gradient norms, now and then weight norms.

One fused pass over the gradients. On the CPU the numbers are read at once; on a GPU they go into a row of a
ring on the device, are copied to pinned memory on a side stream, and are read when the copy is done, a step or
two later. Nothing here ever waits for the device.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any, NamedTuple

import torch

from premortem.events import StepStats
from premortem.probes.backward import Backwards
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers, Track, number
from premortem.probes.session import Session

_WEIGHTS_EVERY = 64
_DEPTH = 4


class Row(NamedTuple):
    """What one row of numbers means."""

    step: int
    optimizer: int
    lr: float
    keys: tuple[int, ...]
    losses: int
    inputs: int
    weights: int


class Stats:
    def __init__(self, session: Session, optimizers: Optimizers, models: Models, backwards: Backwards) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.backwards = backwards
        self.rings: dict[torch.device, Ring] = {}
        self._pending: tuple[Row, torch.Tensor] | None = None
        self._keys: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def install(self) -> None:
        self.optimizers.before_step.append(self._measure)
        self.optimizers.after_step.append(self._finish)

    def drain(self) -> None:
        for ring in self.rings.values():
            ring.drain(wait=True)
        self.rings.clear()

    def _measure(self, optimizer: Any, track: Track) -> None:
        """While the gradients are in place: one vector with everything worth knowing."""
        self._pending = None
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if not held:
            return
        grads = [p.grad if p.grad.layout == torch.strided else p.grad._values() for p in held]
        device = grads[0].device
        if any(g.device != device for g in grads[1:]):
            grads = [g for g in grads if g.device == device]
            held = [p for p in held if p.device == device]
        parts = [stacked(torch._foreach_norm(grads))]
        losses = [value.reshape(()).float() for value in self.backwards.losses if value.device == device]
        inputs = [value for value in self.models.finite if value.device == device]
        scalars = losses + inputs
        if scalars:
            parts.append(torch.stack(scalars))
        weights = (track.steps % _WEIGHTS_EVERY == 0) or self.session.auditing
        if weights:
            parts.append(torch.linalg.vector_norm(stacked(torch._foreach_norm([p.detach() for p in held])))[None])
        row = Row(
            self.session.step + 1,
            track.key,
            number(optimizer.param_groups[0].get("lr")),
            self._keys_of(track.key, held),
            len(losses),
            len(inputs),
            int(weights),
        )
        self._pending = (row, torch.cat(parts) if len(parts) > 1 else parts[0])

    def _keys_of(self, optimizer: int, held: list[torch.Tensor]) -> tuple[int, ...]:
        """Keys of these parameters; the same tuple as long as the same ones have gradients."""
        ids = tuple(map(id, held))
        known = self._keys.get(optimizer)
        if known is None or known[0] != ids:
            known = self._keys[optimizer] = (ids, tuple(self.session.parameters.of(p) for p in held))
        return known[1]

    def _finish(self, optimizer: Any, track: Track, step: int) -> None:
        if self._pending is None:
            return
        row, values = self._pending
        self._pending = None
        if values.device.type == "cpu":
            self._tell(row, values.tolist())
            return
        ring = self.rings.get(values.device)
        if ring is None:
            ring = self.rings[values.device] = Ring(values.device, self._tell)
        ring.put(row, values)
        ring.drain(wait=False)

    def _tell(self, row: Row, values: list[float]) -> None:
        n = len(row.keys)
        norms = values[:n]
        losses = values[n : n + row.losses]
        inputs = values[n + row.losses : n + row.losses + row.inputs]
        weight = values[-1] if row.weights else None
        bad = next((key for key, value in zip(row.keys, norms, strict=True) if not math.isfinite(value)), None)
        self.session.emit(
            StepStats(
                step=row.step,
                optimizer=row.optimizer,
                loss=losses[-1] if losses else None,
                grad_norm=math.sqrt(sum(v * v for v in norms)) if bad is None else math.nan,
                worst=bad,
                grad_norms=tuple(norms),
                keys=row.keys,
                weight_norm=weight,
                weights_finite=weight is None or math.isfinite(weight),
                input_finite=all(math.isfinite(v) for v in inputs),
                lr=row.lr,
            )
        )


def stacked(norms: Any) -> torch.Tensor:
    return torch.stack([n.float() if n.dtype != torch.float32 else n for n in norms])


class Ring:
    """Rows on their way from the device to the host."""

    def __init__(self, device: torch.device, tell: Any) -> None:
        self.tell = tell
        self.stream = torch.cuda.Stream(device)
        self.free: list[torch.Tensor] = []
        self.flying: deque[tuple[Row, torch.Tensor, torch.Tensor, torch.cuda.Event]] = deque()

    def put(self, row: Row, values: torch.Tensor) -> None:
        host = next((t for t in self.free if t.numel() == values.numel()), None)
        if host is None:
            host = torch.empty(values.numel(), dtype=torch.float32, pin_memory=True)
        else:
            self.free = [t for t in self.free if t is not host]
        self.stream.wait_stream(torch.cuda.current_stream(values.device))
        with torch.cuda.stream(self.stream):
            host.copy_(values, non_blocking=True)
            done = torch.cuda.Event()
            done.record(self.stream)
        values.record_stream(self.stream)
        self.flying.append((row, values, host, done))

    def drain(self, *, wait: bool) -> None:
        while self.flying:
            row, _, host, done = self.flying[0]
            if not done.query():
                if not wait:
                    return
                done.synchronize()
            self.flying.popleft()
            self.tell(row, host.tolist())
            if len(self.free) < _DEPTH:
                self.free.append(host)
