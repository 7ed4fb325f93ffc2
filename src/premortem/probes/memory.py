"""Memory: how much is held at the end of each step, and, when it runs out, by whom.

    model(x)          <- audit: what each layer leaves behind for the backward pass
    optimizer.step()  <- now and then: how much is held
    out of memory     <- the allocator itself tells which allocation failed, before the stack is unwound

All numbers are counters of the allocator, on the host. An allocation that failed is no news by itself (cuDNN tries a large
workspace and does with a smaller one): only an error that reaches the script's own call is reported.
"""

import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch import nn

from premortem.events import OutOfMemory, Site
from premortem.probes.frame_variables import variables
from premortem.probes.growing_holders import keepers
from premortem.probes.model_registry import Model
from premortem.probes.places import CALL, Directory, Place, here
from premortem.probes.session import is_user_code, user_site
from premortem.probes.training import Training

_EVERY = 16  # steps, in cruise, between two looks at the counters
_MOST_LEVELS = 64
_MOST_MODULES = 8


class Failed(NamedTuple):
    """An allocation that failed, as the allocator tells it."""

    thread: int
    step: int
    requested: int
    total: int
    free: int
    allocated: int
    reserved: int
    largest_gap: int
    at: Site | None


class Meter:
    """The counters of torch's CUDA allocator, for the current device. Reading them waits for nothing."""

    def ready(self) -> bool:
        return bool(torch.cuda.is_initialized())

    def allocated(self) -> int:
        return self._counted("allocated_bytes")

    def reserved(self) -> int:
        return self._counted("reserved_bytes")

    def _counted(self, name: str) -> int:
        """As `memory_allocated` and `memory_reserved`, which first make a flat list of a hundred numbers: each layer of an
        audited step, and each reported step, would feel that."""
        return int(torch.cuda.memory_stats_as_nested_dict().get(name, {}).get("all", {}).get("current", 0))

    def room(self) -> tuple[int, int]:
        """Free and total memory of the device."""
        free, total = torch.cuda.mem_get_info()
        return int(free), int(total)

    def largest_gap(self) -> int:
        """The largest piece of reserved memory that no tensor uses."""
        device = torch.cuda.current_device()
        return max(
            (
                int(block["size"])
                for segment in torch.cuda.memory_snapshot()
                if segment["device"] == device
                for block in segment["blocks"]
                if block["state"] == "inactive"
            ),
            default=0,
        )


class Memory:
    """Listens to the other probes, which call it when memory ran out."""

    def __init__(self, training: Training) -> None:
        self.session, self.models, self.optimizers, self.backwards = training
        self.meter = Meter()
        self.failed: Failed | None = None
        # Set by whoever may run a batch in parts (premortem.actions.smaller_batches).
        self.rescue_forward: Callable[..., tuple[Any, str]] | None = None
        self.rescue_backward: Callable[[OutOfMemory, Exception], str] | None = None
        self._levels: deque[tuple[int, int]] = deque(maxlen=_MOST_LEVELS)
        self._layers: dict[str, int] = {}
        self._level = 0
        self._directory = Directory()
        self._observed = False
        self._told = -1  # the step in which it was reported last
        self._samples: int | None = None
        self._grad = False  # the model that is running was called with gradients

    def install(self) -> None:
        self.models.on_call.append(self._called)
        self.models.layers.on_layer.append(self._layer)
        self.models.out_of_memory = self._in_forward
        self.backwards.out_of_memory = self._in_backward
        self.optimizers.after_step.append(self._after_step)
        self.optimizers.told_only.add(self._after_step)  # torch gathers a hundred counters to tell this one

    # -- while all is well ----------------------------------------------------------------

    def _called(self, model: Model, grad: bool, tensors: list[torch.Tensor]) -> None:
        if grad:
            self._samples = tensors[0].shape[0] if tensors and tensors[0].dim() else None
        if not self.meter.ready():
            return
        if not self._observed:
            self._observed = True
            _observe(self)
        self._grad = grad
        if grad and self.session.auditing:
            self._layers = {}
            self._level = self.meter.allocated()

    def _layer(self, model: Model, module: nn.Module) -> None:
        """What was allocated since the layer before it and is still held: mostly what backward will need."""
        if not self._grad or not self.meter.ready():
            return
        before, self._level = self._level, self.meter.allocated()
        if self._level > before:
            path = ".".join(part for part in (model.name, model.paths.get(id(module), "")) if part)
            self._layers[path] = self._layers.get(path, 0) + self._level - before

    def _after_step(self, optimizer: Any, track: Any, step: int) -> None:
        due = step % _EVERY == 0 or self.session.rest.untold or self.session.auditing
        if due and self.meter.ready():
            self._levels.append((step, self.meter.allocated()))

    # -- memory has run out ---------------------------------------------------------------

    def allocation_failed(self, requested: int, total: int, free: int) -> None:
        """Called by the allocator, in whatever thread asked for memory, before the error is raised."""
        self.failed = Failed(
            threading.get_ident(),
            self.session.step,
            requested,
            total,
            free,
            self.meter.allocated(),
            self.meter.reserved(),
            self.meter.largest_gap(),
            here().site,
        )

    def _in_forward(
        self, error: Exception, module: nn.Module, original: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        event = self.describe("forward", error)
        why = ""
        if self.rescue_forward is not None:
            try:
                result, why = self.rescue_forward(event, error, module, original, args, kwargs)
            except Exception as fault:  # noqa: BLE001 - the script must see its own error, not ours
                self.session.fault("split", fault)
                why = "the attempt failed"
            if not why:
                return result
        self._tell(event, why)
        raise error

    def _in_backward(self, error: Exception, at: Site | None) -> bool:
        event = self.describe("backward", error, at)
        why = ""
        if self.rescue_backward is not None:
            try:
                why = self.rescue_backward(event, error)
            except Exception as fault:  # noqa: BLE001 - the script must see its own error, not ours
                self.session.fault("split", fault)
                why = "the attempt failed"
            if not why:
                return True
        self._tell(event, why)
        return False

    def ended(self, error: BaseException | None) -> None:
        """The run is over because memory ran out: reported here if none of the places above did."""
        if not isinstance(error, torch.cuda.OutOfMemoryError):  # of an earlier cell of a notebook
            error = None
        with self.session.looking_at("memory"):
            if self._told != self.session.step:
                self._tell(self.describe("step" if self.optimizers.inside is not None else "", error))

    def _tell(self, event: OutOfMemory, unsplit: str = "") -> None:
        self._told = self.session.step
        event.unsplit = unsplit
        with self.session.looking_at("memory"):
            self.session.emit(event)

    def describe(self, phase: str, error: BaseException | None, at: Site | None = None) -> OutOfMemory:
        event = OutOfMemory(step=self.session.step, phase=phase, samples=self._samples)
        with self.session.looking_at("memory"):
            last = self.failed if self.failed is not None and self.failed.step == self.session.step else None
            self.failed = None
            place = raised_at(error)
            event.at = at or place.site or (last.at if last is not None else None) or user_site()
            event.module = self._directory.path(place) if phase == "forward" else ""
            if last is not None:
                event.requested, event.total, event.free = last.requested, last.total, last.free
                event.allocated, event.reserved = last.allocated, last.reserved
                event.largest_gap = last.largest_gap
            elif self.meter.ready():
                event.free, event.total = self.meter.room()
                event.allocated, event.reserved = self.meter.allocated(), self.meter.reserved()
            event.kinds = self._kinds()
            largest = sorted(self._layers.items(), key=lambda pair: -pair[1])
            event.modules = tuple(largest[:_MOST_MODULES])
            event.levels = tuple(self._levels)
            event.kept = keepers(self.session.step, error)
        return event

    def _kinds(self) -> dict[str, int]:
        modules = [m for model in self.models.known.values() if (m := model.module()) is not None]
        living = [o for track in self.optimizers.live() if (o := track.optimizer()) is not None]
        parameters = [p for module in modules for p in module.parameters()]
        state = [
            value for optimizer in living for held in optimizer.state.values() for value in _values(held)
        ]
        kinds = {
            "parameters": size(parameters),
            "gradients": size(p.grad for p in parameters if p.grad is not None),
            "optimizer state": size(state),
            "buffers": size(b for module in modules for b in module.buffers()),
        }
        return {name: total for name, total in kinds.items() if total}


def size(tensors: Iterable[torch.Tensor]) -> int:
    """Bytes, each memory counted once; what lies on the host is not part of a device's memory."""
    seen: dict[int, int] = {}
    for tensor in tensors:
        if tensor.layout == torch.strided and (tensor.is_cuda or not torch.cuda.is_initialized()):
            memory = tensor.untyped_storage()
            seen[memory._cdata] = memory.nbytes()
    return sum(seen.values())


def _values(held: Any) -> list[torch.Tensor]:
    return (
        [value for value in held.values() if isinstance(value, torch.Tensor)]
        if isinstance(held, dict)
        else []
    )


def raised_at(error: BaseException | None) -> Place:
    """The innermost line of the user's own code in the traceback, and the modules that were running."""
    site = module = root = None
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        code = trace.tb_frame.f_code
        if code is CALL:
            module = variables(trace.tb_frame).get("self")
            root = root or module
        if is_user_code(code.co_filename):
            site = Site(code.co_filename, trace.tb_lineno, code.co_name)
        trace = trace.tb_next
    return Place(site, module, root)


# The allocator has no way to forget an observer: there is one for the process, and it asks who is listening.
_LISTENING: list[weakref.ref[Memory]] = []


def _observe(memory: Memory) -> None:
    attach = getattr(torch._C, "_cuda_attach_out_of_memory_observer", None)
    if attach is None:
        return
    if not _LISTENING:
        attach(_failed)
    _LISTENING[:] = [weakref.ref(memory)]


def _failed(device: int, requested: int, total: int, free: int) -> None:
    memory = _LISTENING[0]()
    if memory is None or not memory.session.on:
        return
    try:
        memory.allocation_failed(requested, total, free)
    except Exception as error:  # noqa: BLE001 - raised here, it would come out of the allocator
        memory.session.fault("memory", error)
