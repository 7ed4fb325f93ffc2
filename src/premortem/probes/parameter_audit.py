"""Chain of custody (audit gear): loss -> gradient -> owner -> moved, for every parameter in training."""

from __future__ import annotations

import bisect
import math
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import Custody, Link
from premortem.probes.backward import Backwards
from premortem.probes.fused_scaling import scale_of
from premortem.probes.gradient_track import Track
from premortem.probes.modules import Models
from premortem.probes.numbers import norm, on_host, some_of
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import COUNTED_EVERY, Optimizers
from premortem.probes.session import Session
from premortem.probes.states import States
from premortem.tensors.sharding import in_pieces, is_shard, local

_MOST_PARAMETERS = 4000


class ParameterAudit:
    def __init__(
        self, session: Session, optimizers: Optimizers, models: Models, backwards: Backwards, states: States
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.backwards = backwards
        self.states = states
        self.moved_by: dict[int, set[int]] = {}
        self.shifted: set[int] = set()
        self.twins: set[int] = set()
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._steepest: dict[int, Steepest | None] = {}  # of what the optimizer that is about to step holds
        self._last: dict[
            int, tuple[int | None, int]
        ] = {}  # key -> (checksum after an audited step, steps of its owners)
        self._auditing = False
        # (optimizer that steps, model) -> which parameters were trainable then: each such set as one number
        self._trainable: dict[tuple[int, int], set[int]] = {}
        self._changed = False  # that was new in this step
        self._scale = 1.0  # that the gradients still have, and will not have in the step

    def install(self) -> None:
        self.optimizers.before_step.append(self._remember)
        self.optimizers.after_step.append(self._compare)
        self.optimizers.told_only |= {self._remember, self._compare}

    def _remember(self, optimizer: Any, track: Track) -> None:
        self._auditing = self.session.auditing
        self._before = {}
        # The first reported step after a rest, and then as often as gradients are counted.
        if track.untold or track.steps % COUNTED_EVERY == 0:
            self._changed = self._unlike_before(track)
        if self._auditing and self.models.in_training:
            for parameter, _, _ in self._watched(optimizer):
                self._before[id(parameter)] = (parameter, some_of(parameter).clone())
            self._scale = 1.0 if (scale := scale_of(optimizer)) is None else float(scale)
            self._steepest = {
                id(p): steepest(p, number(group.get("lr")), self._scale)
                for group in optimizer.param_groups
                for p in group["params"]
            }
            self._notice_hands()

    def _unlike_before(self, track: Track) -> bool:
        """Whether other parameters of a model in training are trainable than ever before in a step of this optimizer."""
        new = False
        for key in self.models.in_training:
            module = self.models.known[key].module()
            if module is not None:
                known = self._trainable.setdefault((track.key, key), set())
                which = hash(tuple(parameter.requires_grad for parameter in module.parameters()))
                new = new or (bool(known) and which not in known)
                known.add(which)
        return new

    def _watched(self, optimizer: Any) -> list[tuple[torch.Tensor, str, int]]:
        """(parameter, name, model key) of every model that ran with gradients since the last step, and of
        whatever else of a known model the optimizer holds."""
        found: dict[int, tuple[torch.Tensor, str, int]] = {}
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        training = self.models.in_training
        for key in [*training, *(key for key in self.models.known if key not in training)]:
            model = self.models.known[key]
            module = model.module()
            if module is None:
                continue
            for name, parameter in module.named_parameters():
                if key in training or id(parameter) in held:
                    found.setdefault(id(parameter), (parameter, f"{model.name}.{name}", key))
            if key not in training:
                continue
            for hidden in model.hidden:
                for index, parameter_key in enumerate(hidden.parameters):
                    parameter = self.session.parameters.object(parameter_key)
                    if parameter is not None:
                        found.setdefault(id(parameter), (parameter, f"{hidden.attribute}[{index}]", key))
        return list(found.values())[:_MOST_PARAMETERS]

    def _notice_hands(self) -> None:
        """Which parameters something other than an optimizer has written since the last look, and which
        started as copies of others (a target network, a momentum encoder)."""
        owners = self._owners()
        seen: dict[tuple[Any, int], int] = {}
        for parameter, sample in self._before.values():
            key = self.session.parameters.of(parameter)
            value, steps = checksum(sample), self._steps(owners.of(parameter))
            if key in self._last and self._last[key] != (value, steps) and self._last[key][1] == steps:
                self.shifted.add(key)
            if value is not None:
                other = seen.setdefault((tuple(parameter.shape), value), key)
                if other != key:
                    self.twins |= {other, key}

    def _steps(self, owners: tuple[int, ...]) -> int:
        return sum(self.optimizers.tracks[key].steps for key in owners)

    def _compare(self, optimizer: Any, track: Track, step: int) -> None:
        if self._changed:
            self._changed = False
            self.session.look_closer()
        if not self._auditing or not self._before or self.optimizers.was_refused:
            return
        owners = self._owners()
        births = self._births()
        hidden = {
            key: place.attribute
            for model in self.models.known.values()
            for place in model.hidden
            for key in place.parameters
        }
        newest = max((t.built for t in self.optimizers.live() if t.steps), default=track.built)
        links = []
        slope = Slope()
        # Others may keep what was rounded away.
        torchs = type(optimizer).__module__.startswith("torch.optim.")
        for parameter, name, model in self._watched(optimizer):
            before = self._before.get(id(parameter))
            now = some_of(parameter)
            key = self.session.parameters.of(parameter)
            change = None if before is None else now.float() - before[1].float()
            moved = None if before is None or not now.numel() else not torch.equal(now, before[1])
            grad = parameter.grad
            slope_here = None if grad is None else norm(grad) / self._scale
            if not slope_here and in_pieces(parameter):
                slope_here = None  # another rank's piece may well have one
            self._last[key] = (checksum(now), self._steps(owners.of(parameter)))
            pull = self._steepest.get(id(parameter))
            links.append(
                Link(
                    key=key,
                    name=name,
                    model=model,
                    numel=parameter.numel(),
                    trainable=parameter.requires_grad,
                    ran=key in self.models.layers.ran,
                    ran_without_grad=key in self.models.layers.ran_without_grad,
                    reached=key in self.backwards.reached,
                    graded=grad is not None,
                    gradient=slope_here,
                    owners=owners.of(parameter),
                    moved=moved,
                    weight=norm(now),
                    update=None if change is None else norm(change),
                    loaded=key in self.states.loaded,
                    trained=bool(self.moved_by.get(key, set()) - {track.key}),
                    born_after=births.get(id(parameter), 0) > newest,
                    hidden=hidden.get(key, ""),
                    head=key in self.models.layers.head,
                    fresh=not parameter.requires_grad and looks_fresh(parameter),
                    shifted=key in self.shifted,
                    twin=key in self.twins,
                    pull=pull.strength if pull is not None else None,
                    stuck=pull is not None and pull.unmoved(parameter),
                    sharded=is_shard(parameter),
                    start=None if before is None else norm(before[1]),
                    inward=None if before is None or change is None else Slope(change, before[1]).cosine(),
                    still=still_share(before[1], now, grad) if before is not None and torchs else None,
                )
            )
            if moved:
                self.moved_by.setdefault(key, set()).add(track.key)
                if change is not None and grad is not None and track.key in owners.of(parameter):
                    slope.add(change, grad)
        self.session.emit(
            Custody(
                step=step,
                at=track.built_at,
                optimizer=track.key,
                links=tuple(links),
                strangers=self._strangers(optimizer, {link.key for link in links}),
                lrs=tuple(number(group.get("lr")) for group in optimizer.param_groups),
                uphill=slope.cosine(),
            )
        )
        self._before = {}

    def _owners(self) -> Owners:
        held: dict[int, tuple[int, ...]] = {}
        memory: dict[int, tuple[int, tuple[int, ...]]] = {}
        for track in self.optimizers.live():
            optimizer = track.optimizer()
            for group in optimizer.param_groups if optimizer is not None else []:
                for parameter in group["params"]:
                    held[id(parameter)] = keys = (*held.get(id(parameter), ()), track.key)
                    start, size = extent(parameter)
                    if size:
                        memory[start] = (start + size, keys)
        return Owners(held, memory)

    def _births(self) -> dict[int, int]:
        births: dict[int, int] = {}
        for key in self.models.known:
            root = self.models.known[key].module()
            for module in root.modules() if root is not None else ():
                for parameter in module._parameters.values():
                    if parameter is not None:
                        births.setdefault(id(parameter), self.models.registry.birth_of(module))
        return births

    def _strangers(self, optimizer: Any, known: set[int]) -> tuple[tuple[int, int], ...]:
        held = [p for group in optimizer.param_groups for p in group["params"]]
        strange = [p for p in held if self.session.parameters.of(p) not in known]
        if not strange:
            return ()
        homes = self._homes()
        return tuple((self.session.parameters.of(p), homes.get(id(p), 0)) for p in strange)

    def _homes(self) -> dict[int, int]:
        """id(parameter) -> key of the outermost living module that holds it, called or not."""
        living = [ref() for ref, _ in self.models.registry.births.values()]
        modules = [m for m in living if isinstance(m, nn.Module)]
        children = {id(child) for m in modules for child in m.children()}
        homes: dict[int, int] = {}
        for module in modules:
            if id(module) not in children:
                for parameter in module.parameters():
                    homes.setdefault(id(parameter), self.session.modules.of(module))
        return homes


class Owners:
    """Which optimizers hold a parameter: that very object, or the memory it lies in. FSDP1 puts the parameters of a module into
    one flat one, which gets the gradient, and lets an optimizer hold views of it."""

    def __init__(
        self, held: dict[int, tuple[int, ...]], memory: dict[int, tuple[int, tuple[int, ...]]]
    ) -> None:
        self._held = held
        self._memory = memory  # first address -> address after it, keys
        self._starts = sorted(memory)

    def of(self, parameter: torch.Tensor) -> tuple[int, ...]:
        keys = self._held.get(id(parameter))
        if keys is not None:
            return keys
        start, size = extent(parameter)
        if not size:
            return ()
        at = bisect.bisect_left(self._starts, start)
        inside = self._memory[self._starts[at]] if at < len(self._starts) else (0, ())
        return inside[1] if at < len(self._starts) and inside[0] <= start + size else ()


def extent(parameter: torch.Tensor) -> tuple[int, int]:
    """Where what is here of it lies, and how many bytes it has there; none where that is unknown."""
    piece = local(parameter)
    if piece.layout != torch.strided or not piece.is_contiguous() or piece.device.type == "meta":
        return 0, 0
    try:
        return piece.data_ptr(), piece.nbytes
    except RuntimeError:  # a tensor without memory of its own
        return 0, 0


class Slope:
    """Whether an update went down or up its gradient, or to where the weights point."""

    def __init__(self, change: torch.Tensor | None = None, direction: torch.Tensor | None = None) -> None:
        self._dot = self._change = self._grad = 0.0
        if change is not None and direction is not None:
            self.add(change, direction)

    def add(self, change: torch.Tensor, grad: torch.Tensor) -> None:
        if grad.layout != torch.strided:
            return
        update, slope = change.double(), some_of(grad).double()
        if update.numel() == slope.numel():
            self._dot += float(update @ slope)
            self._change += float(update @ update)
            self._grad += float(slope @ slope)

    def cosine(self) -> float | None:
        size = math.sqrt(self._change * self._grad)
        return self._dot / size if size and math.isfinite(size) else None


class Steepest(NamedTuple):
    """The entries of a parameter that a step should move most."""

    where: torch.Tensor
    values: torch.Tensor
    strength: float  # size of a plain gradient step there, in units of the last digit of the weight

    def unmoved(self, parameter: torch.Tensor) -> bool:
        return torch.equal(on_host(parameter.detach().reshape(-1)[self.where]), self.values)


def steepest(parameter: torch.Tensor, rate: float, scale: float, most: int = 8) -> Steepest | None:
    grad = parameter.grad
    if grad is None or grad.layout != torch.strided or not grad.is_floating_point() or not grad.numel():
        return None
    slopes = on_host(local(grad).detach()).reshape(-1).abs()
    if not slopes.numel():
        return None
    slopes, where = map(on_host, slopes.topk(min(most, slopes.numel())))
    values = on_host(parameter.detach().reshape(-1)[where])
    # Adam and its kin move by the rate itself, however steep it is.
    step = rate * (slopes.float() / scale).clamp(max=1.0)
    digit = values.abs().clamp(min=1e-6).float() * torch.finfo(values.dtype).eps
    return Steepest(where, values, float((step / digit).max()))


def still_share(before: torch.Tensor, now: torch.Tensor, grad: torch.Tensor | None) -> float | None:
    """Of the sampled 16-bit weights with a gradient, the share that a step has left as they were."""
    if grad is None or grad.layout != torch.strided or now.dtype not in (torch.bfloat16, torch.float16):
        return None
    pulled = some_of(grad) != 0
    if pulled.numel() != now.numel() or not bool(pulled.any()):
        return None
    return float((before == now)[pulled].float().mean())


def checksum(sample: torch.Tensor) -> int | None:
    """A hash of the sample's values; None when they are all the same (zeros, ones)."""
    values = sample[:: max(1, sample.numel() // 64)].tolist()
    return hash(tuple(values)) if len(set(values)) > 1 else None


def looks_fresh(parameter: torch.Tensor) -> bool:
    """Zero, or evenly spread between two bounds: as initialisers leave weights and training never does."""
    if parameter.dim() < 2 or local(parameter).numel() < 16 or not parameter.is_floating_point():
        return False
    values = some_of(parameter).float()
    std = float(values.std(correction=0))
    if not std > 0:
        return not bool(values.any())
    if (
        values.numel() < 64
    ):  # too few for their spread: within the bound of torch's own layers, and filling it
        bound = parameter[0].numel() ** -0.5
        return bool(0.7 * bound < float(values.abs().max()) <= bound * 1.0001 and std > 0.4 * bound)
    reach = float(values.abs().max()) / std
    peak = float((values**4).mean()) / std**4
    return reach < 1.9 and 1.6 < peak < 2.0 and abs(float(values.mean())) < 0.3 * std
