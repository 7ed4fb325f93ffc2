"""The numbers of every step: loss, gradient norms, now and then weight norms.

One fused pass over the gradients. On the CPU the numbers are read at once; on a GPU they are copied to pinned
memory and read when the copy is done, a step or two later. Nothing here ever waits for the device.
"""

import functools
import math
import weakref
from collections.abc import Callable
from operator import attrgetter
from types import NoneType
from typing import Any, NamedTuple

import torch

from premortem.events import ScalerUpdate, StepStats
from premortem.probes.backward import Backwards
from premortem.probes.device_answers import Flags, Ring
from premortem.probes.fused_scaling import overflow_of, scale_of
from premortem.probes.gradient_track import Track
from premortem.probes.microscope_schedule import MicroscopeSchedule
from premortem.probes.modules import Models
from premortem.probes.numbers import telling
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import SPARSELY, Session
from premortem.tensors.finite import CHECK, NARROW, UNSCALED
from premortem.tensors.sharding import is_shard, local

_WEIGHTS_EVERY = 64
# How often in cruise. A launch-bound step on a GPU feels every launch; on the CPU a pass over many gradients
# competes with the step itself.
_GPU_EVERY = 2
_HEAVY_EVERY = 4
_HEAVY = 1 << 20  # elements
_LARGE = 1 << 24  # elements, beyond which writing them takes longer than launching some more kernels
_GRAD, _FLYING = attrgetter("grad"), attrgetter("flying")
_PIECE = attrgetter("_local_tensor")  # as `local`, of tensors that are in pieces; felt at every step


class Row(NamedTuple):
    """What one row of numbers means."""

    step: int
    optimizer: int
    lr: float
    keys: tuple[int, ...]
    losses: int
    inputs: int
    weights: int
    rested: bool
    share: float  # of a loss that is divided for accumulation: 0.25 for `loss / 4`, else 1
    scaler: bool  # its scale, and whether it leaves the step out, come last


class Held:
    """The parameters of one optimizer that have gradients, and what is known of them."""

    def __init__(self, parameters: list[torch.Tensor], device: torch.device, session: Session) -> None:
        self.optimizer: Callable[[], Any] = lambda: None  # whose they are,
        self.key = 0  # and its key
        self.parameters = parameters
        self.device = device
        self.keys = tuple(session.parameters.of(p) for p in parameters)
        self.sparse = any(p.grad is not None and p.grad.layout != torch.strided for p in parameters)
        size = sum(p.numel() for p in parameters)
        self.on_cpu = device.type == "cpu"
        self.every = _GPU_EVERY if not self.on_cpu else _HEAVY_EVERY if size > _HEAVY else 1
        self._by_norms = size > _LARGE or not all(p.dtype in UNSCALED for p in parameters)
        pieces = sum(map(is_shard, parameters))
        self._here = None if not pieces else local if pieces < len(parameters) else _PIECE
        self.half = any(p.dtype == torch.float16 for p in parameters)
        grads = [p.grad for p in parameters]
        kinds = {grad.dtype for grad in grads if grad is not None}
        # Whether one pass of the kernel that scalers use can tell that all are finite; else their largest values can.
        self.scalable = kinds <= UNSCALED
        self.quick = (
            self.on_cpu
            and not (pieces or self.sparse or self.half)
            and all(type(grad) is torch.Tensor for grad in grads)
            and (self.scalable or (kinds <= NARROW and all(p.numel() for p in parameters)))
        )
        # Then norms come out in 32 bits at once; wider numbers must be narrowed one by one.
        self._narrow = all(p.dtype in NARROW for p in parameters)

    def norms(self, tensors: list[torch.Tensor], order: int = 2) -> list[torch.Tensor]:
        if self._narrow:
            return list(torch._foreach_norm(tensors, order, torch.float32))
        return [norm.float() for norm in torch._foreach_norm(tensors, order)]

    def flag(self, grads: list[torch.Tensor], flags: Flags) -> torch.Tensor:
        """Not 0 if one of them is not finite. By norms there are more launches, but nothing is written: for large
        gradients that is what counts. Of first order: squares would overflow too soon."""
        return flags.of(self.norms(grads, 1) if self._by_norms else grads)

    def by_kernel(self, optimizer: Any) -> bool:
        """Whether the optimizer's own kernel, on a device, can leave a step out."""
        groups = optimizer.param_groups  # which a loaded state may have changed since it was built
        return not self.on_cpu and not self.half and all(group.get("fused") for group in groups)

    def gradients(self) -> list[torch.Tensor]:
        """What is here of them."""
        grads = list(map(_GRAD, self.parameters))  # no line of ours for each of them
        if NoneType in set(map(type, grads)):
            grads = [grad for grad in grads if grad is not None]
        return grads if self._here is None else list(map(self._here, grads))


class Stats:
    def __init__(
        self,
        session: Session,
        optimizers: Optimizers,
        models: Models,
        backwards: Backwards,
        microscope_schedule: MicroscopeSchedule,
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.backwards = backwards
        self.microscope_schedule = microscope_schedule
        self.rings: dict[torch.device, Ring] = {}
        self.checked = False  # the guard asks at every step whether the gradients are finite
        self.learnt: list[Any] = []  # called with (optimizer, step, finite) when a device has answered that
        self.broken = True  # the step that is about to be made may have gradients that are not finite
        self.last_loss: float | None = None
        self._accumulates: set[int] = set()  # optimizers whose steps sum up several backward passes
        self.last_worst: int | None = None
        self._pending: tuple[Row, torch.Tensor] | None = None
        self._values: list[float] | None = None  # of the pending row, once they were read
        self._flags: dict[torch.device, Flags] = {}
        self._flag, self._one = torch.zeros(()), torch.ones(())
        self._ready: int | None = None  # the optimizer whose numbers were taken just now
        self.known: dict[int, Held] = {}  # by id() of the optimizer

    def sound(self, optimizer: Any) -> bool:
        """In a rested step: whether its gradients, on the CPU, are surely finite. No number is kept of them."""
        held = self.held(optimizer)
        return held is not None and held.quick and not self.session.rest.careful and self.finite(held)

    def finite(self, held: Held) -> bool:
        """Whether all gradients of parameters that may be asked quickly are there, and surely finite."""
        grads = list(map(_GRAD, held.parameters))
        if NoneType in set(map(type, grads)) or torch._C._len_torch_dispatch_stack():
            return False
        if not held.scalable:
            return math.isfinite(
                torch.stack(torch._foreach_norm(grads, math.inf, torch.float32)).sum().item()
            )
        try:
            CHECK(grads, self._flag, self._one)
            if not self._flag.item():
                return True
        except RuntimeError:  # an expanded gradient, which cannot be written
            return False
        self._flag = torch.zeros(())
        return False

    def be_checked(self) -> None:
        """From now on the guard asks at every step whether the gradients are finite."""
        self.checked = True
        self.optimizers.told_only.add(self._finish)

    def install(self) -> None:
        self.optimizers.before_step.append(self._measure)
        self.optimizers.after_step.append(self._finish)

    def drain(self) -> None:
        for flags in self._flags.values():
            flags.drain(wait=True)
        for ring in self.rings.values():
            ring.drain(wait=True)
        self._flags.clear()
        self.rings.clear()

    def read(self) -> list[float]:
        """The norms of the pending step. Waits for the device: only for the CPU."""
        if self._pending is None:
            return []
        row, values = self._pending
        if self._values is None:
            self._values = values.tolist()
        return self._values[: len(row.keys)]

    def replace(self, norms: list[float]) -> None:
        """The norms that were read, by those of which this process saw a part."""
        if self._values is not None:
            self._values[: len(norms)] = norms

    def _measure(self, optimizer: Any, track: Track) -> None:
        if self._ready == track.key:
            self._ready = None
            return
        self.broken = not (self.session.resting and (self.checked or self.sound(optimizer)))
        if self.broken:
            self.measure(optimizer, track)
        self._ready = None

    def held(self, optimizer: Any) -> Held | None:
        """As it was at the last look."""
        held = self.known.get(id(optimizer))
        return held if held is not None and held.optimizer() is optimizer else None

    def gradients(self, optimizer: Any, *, more: bool = False) -> tuple[Held, list[torch.Tensor]]:
        """Those that are there now, on the device where the first one is; `more` than at the last look, perhaps."""
        held = self.held(optimizer)
        if held is None or more or self.session.auditing:
            held = self._look(optimizer)
        grads = held.gradients()
        if len(grads) < len(held.parameters):
            held = self._look(optimizer)
            grads = held.gradients()
        if held.sparse:
            grads = [g if g.layout == torch.strided else g._values() for g in grads]
        return held, grads

    def check(
        self,
        key: int,
        held: Held,
        grads: list[torch.Tensor],
        agree: Callable[[torch.Tensor], None] | None = None,
    ) -> torch.Tensor:
        """Their flag, for which the host does not wait: `learnt` hears it, with the key of the optimizer, when it has arrived."""
        flags = self._flags.get(held.device) or self._flags_on(held.device)
        flag = held.flag(grads, flags)
        if agree is not None:
            agree(flag)
        flags.send(key, self.session.step + 1, patiently=self.session.resting)
        return flag

    def _flags_on(self, device: torch.device) -> Flags:
        flags = self._flags.get(device)
        if flags is None:
            flags = self._flags[device] = Flags(device, self._answered)
        return flags

    def measure(
        self, optimizer: Any, track: Track, found: tuple[Held, list[torch.Tensor]] | None = None
    ) -> None:
        """While the gradients are in place (and `found`, perhaps): one vector with everything worth knowing."""
        self._pending = self._values = None
        self._ready = track.key
        auditing = self.session.auditing
        known = self.held(optimizer)
        if known is not None and not auditing and not self._due(known, track.steps):
            return
        held, grads = self.gradients(optimizer) if found is None else found
        if not grads:
            return
        norms = held.norms(grads)
        losses = [
            local(loss).reshape(()).float() for loss in self.backwards.losses if loss.device == held.device
        ]
        inputs = [value for value in self.models.finite if value.device == held.device]
        scalars = [*norms, *losses, *inputs]
        weights = auditing or track.steps % _WEIGHTS_EVERY == 0
        if weights:
            sizes = held.norms([local(p).detach() for p in held.parameters])
            scalars += torch._foreach_norm([torch.stack(sizes)])
        overflow, scale = overflow_of(optimizer), scale_of(optimizer)
        if overflow is not None:
            scaler = (torch.ones_like(overflow) if scale is None else scale, overflow)
            scalars += [
                value.reshape(()).to(held.device, torch.float32, non_blocking=True) for value in scaler
            ]
        row = Row(
            self.session.step + 1,
            track.key,
            number(optimizer.param_groups[0].get("lr")),
            held.keys,
            len(losses),
            len(inputs),
            int(weights),
            self.session.resting,
            self._share(track.key, len(losses)),
            overflow is not None,
        )
        self._pending = (row, torch.stack(scalars))
        if self.checked and self.session.resting:
            self.optimizers.soon.append(self._finish)

    def _due(self, held: Held, steps: int) -> bool:
        if not self.checked:
            return steps % held.every == 0
        if held.on_cpu:
            return True
        # After a rest, in which nothing was measured, at once.
        return not self.session.resting and (steps % SPARSELY == 0 or self.session.rest.untold > 0)

    def _look(self, optimizer: Any) -> Held:
        """Which parameters have gradients now."""
        held = [p for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        device = held[0].device if held else torch.device("cpu")
        found = Held([p for p in held if p.device == device], device, self.session)
        found.optimizer = weakref.ref(optimizer, functools.partial(self._forget, id(optimizer)))
        found.key = self.session.optimizers.of(optimizer)
        self.known[id(optimizer)] = found
        return found

    def _forget(self, place: int, gone: Any) -> None:
        held = self.known.get(place)
        if held is not None and held.optimizer is gone:
            del self.known[place]

    @property
    def expecting(self) -> bool:
        """Something may have arrived by now, and no answer waits to be sent with the next one."""
        for flags in self._flags.values():
            if flags.halfway:
                return False
        return bool(self._flags or self.rings)

    def settled(self) -> bool:
        """In a rested step: sound steps that devices have answered for are settled, without a look. False: there is more
        to hear."""
        for flags in self._flags.values():
            if flags.settle():
                return False
        return not any(map(_FLYING, self.rings.values()))

    def hear(self) -> None:
        """What devices have answered by now."""
        for flags in self._flags.values():
            flags.drain(wait=False)
        for ring in self.rings.values():
            ring.drain(wait=False)

    def _finish(self, optimizer: Any, track: Track, step: int) -> None:
        if not self.checked:  # else whoever asks at every step hears the answers as well
            self.hear()
        if self._pending is None:
            return
        row, values = self._pending
        self._pending = None
        if values.device.type == "cpu":
            self._tell(row, values.tolist() if self._values is None else self._values)
            return
        self.later(values, functools.partial(self._tell, row))

    def later(self, values: torch.Tensor, tell: Callable[[list[float]], None]) -> None:
        """Numbers on a device are reported when they have arrived on the host, a step or two later."""
        ring = self.rings.get(values.device)
        if ring is None:
            ring = self.rings[values.device] = Ring()
        ring.put(values, tell)

    def _answered(self, optimizer: int, step: int, finite: bool) -> None:
        if not finite:
            self.session.look_closer(16)
        for listener in self.learnt:
            listener(optimizer, step, finite)

    def _share(self, optimizer: int, passes: int) -> float:
        """Of an optimizer whose steps sum up several backward passes: what part of the mean loss each of them is given."""
        if passes > 1:
            self._accumulates.add(optimizer)
        factor = self.backwards.factor
        divided = 0 < factor < 1 and math.isclose(1 / factor, round(1 / factor), rel_tol=1e-6)
        return factor if divided and optimizer in self._accumulates else 1.0

    def _tell(self, row: Row, values: list[float]) -> None:
        n = len(row.keys)
        norms = values[:n]
        losses = values[n : n + row.losses]
        if row.scaler:
            *values, scale, overflow = values
            if overflow:  # there was no step
                if (loss := telling(losses)) is not None and not math.isfinite(loss):
                    drawn = self.session.drawn(row.step)
                    self.session.emit(
                        ScalerUpdate(step=row.step, scale=None, skipped=True, loss=loss, batches=drawn)
                    )
                return
            norms = [norm / scale for norm in norms]
        inputs = values[n + row.losses : n + row.losses + row.inputs]
        weight = values[-1] if row.weights else None
        norm, bad = math.hypot(*norms), None
        if not math.isfinite(norm):
            bad = next(
                (key for key, value in zip(row.keys, norms, strict=True) if not math.isfinite(value)), None
            )
        loss = telling(losses) if bad is not None else losses[-1] if losses else None
        if row.share != 1 and losses and all(map(math.isfinite, losses)):
            loss = (
                math.fsum(losses) / len(losses) / row.share
            )  # what the script means, and not one part of it
        self.last_loss, self.last_worst = loss, bad
        broken = bad is not None or not all(map(math.isfinite, losses))
        self.microscope_schedule.noticed(broken)
        if broken and row.rested:
            self.session.look_closer(16)
        self.session.emit(
            StepStats(
                step=row.step,
                optimizer=row.optimizer,
                loss=loss,
                grad_norm=norm if bad is None else math.nan,
                worst=bad,
                grad_norms=tuple(norms),
                keys=row.keys,
                weight_norm=weight,
                weights_finite=weight is None or math.isfinite(weight),
                input_finite=all(map(math.isfinite, inputs)),
                lr=row.lr,
                share=row.share,
                rested=row.rested
                and not broken
                and math.isfinite(sum(inputs))
                and math.isfinite(weight or 0.0),
            )
        )
