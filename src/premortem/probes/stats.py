"""The numbers of every step: loss, gradient norms, now and then weight norms.

One fused pass over the gradients. On the CPU the numbers are read at once; on a GPU they go into a row of a
ring on the device, are copied to pinned memory on a side stream, and are read when the copy is done, a step or
two later. Nothing here ever waits for the device.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from typing import Any, NamedTuple

import torch

from premortem.events import StepStats
from premortem.probes.backward import Backwards
from premortem.probes.lookout import Lookout
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers, Track, number
from premortem.probes.session import Session

_WEIGHTS_EVERY = 64
# How often in cruise. A launch-bound step on a GPU feels every launch; on the CPU a pass over many gradients
# competes with the step itself.
_GPU_EVERY = 2
_HEAVY_EVERY = 4
_HEAVY = 1 << 20  # elements
_DEPTH = 4
_NARROW = frozenset({torch.float32, torch.bfloat16, torch.float16})


class Row(NamedTuple):
    """What one row of numbers means."""

    step: int
    optimizer: int
    lr: float
    keys: tuple[int, ...]
    losses: int
    inputs: int
    weights: int


class Held:
    """The parameters of one optimizer that have gradients, and what is known of them."""

    def __init__(self, parameters: list[torch.Tensor], device: torch.device, session: Session) -> None:
        self.parameters = parameters
        self.device = device
        self.keys = tuple(session.parameters.of(p) for p in parameters)
        self.sparse = any(p.grad is not None and p.grad.layout != torch.strided for p in parameters)
        heavy = sum(p.numel() for p in parameters) > _HEAVY
        self.every = _GPU_EVERY if device.type != "cpu" else _HEAVY_EVERY if heavy else 1

        # Then norms come out in 32 bits at once; wider numbers must be narrowed one by one.
        self._narrow = all(p.dtype in _NARROW for p in parameters)

    def norms(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        if self._narrow:
            return list(torch._foreach_norm(tensors, 2, torch.float32))
        return [norm.float() for norm in torch._foreach_norm(tensors)]

    def gradients(self) -> list[torch.Tensor]:
        return [grad for p in self.parameters if (grad := p.grad) is not None]


class Stats:
    def __init__(
        self,
        session: Session,
        optimizers: Optimizers,
        models: Models,
        backwards: Backwards,
        lookout: Lookout,
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.backwards = backwards
        self.lookout = lookout
        self.rings: dict[torch.device, Ring] = {}
        self._pending: tuple[Row, torch.Tensor] | None = None
        self._known: weakref.WeakKeyDictionary[Any, Held] = weakref.WeakKeyDictionary()

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
        auditing = self.session.auditing
        held = self._known.get(optimizer)
        if held is None or auditing:
            held = self._look(optimizer)
        if not held.parameters or (not auditing and track.steps % held.every):
            return
        grads = held.gradients()
        if len(grads) < len(held.parameters):
            held = self._look(optimizer)
            grads = held.gradients()
            if not grads:
                return
        if held.sparse:
            grads = [g if g.layout == torch.strided else g._values() for g in grads]
        norms = held.norms(grads)
        losses = [loss.reshape(()).float() for loss in self.backwards.losses if loss.device == held.device]
        inputs = [value for value in self.models.finite if value.device == held.device]
        scalars = [*norms, *losses, *inputs]
        weights = auditing or track.steps % _WEIGHTS_EVERY == 0
        if weights:
            sizes = held.norms([p.detach() for p in held.parameters])
            scalars.append(torch.linalg.vector_norm(torch.stack(sizes)))
        row = Row(
            self.session.step + 1,
            track.key,
            number(optimizer.param_groups[0].get("lr")),
            held.keys,
            len(losses),
            len(inputs),
            int(weights),
        )
        self._pending = (row, torch.stack(scalars))

    def _look(self, optimizer: Any) -> Held:
        """Which parameters have gradients now."""
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        device = held[0].device if held else torch.device("cpu")
        found = self._known[optimizer] = Held([p for p in held if p.device == device], device, self.session)
        return found

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
        norm, bad = math.hypot(*norms), None
        if not math.isfinite(norm):
            bad = next(
                (key for key, value in zip(row.keys, norms, strict=True) if not math.isfinite(value)), None
            )
        self.lookout.noticed(bad is not None or not all(math.isfinite(loss) for loss in losses))
        self.session.emit(
            StepStats(
                step=row.step,
                optimizer=row.optimizer,
                loss=losses[-1] if losses else None,
                grad_norm=norm if bad is None else math.nan,
                worst=bad,
                grad_norms=tuple(norms),
                keys=row.keys,
                weight_norm=weight,
                weights_finite=weight is None or math.isfinite(weight),
                input_finite=all(math.isfinite(v) for v in inputs),
                lr=row.lr,
            )
        )


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
