"""What one bad step needs to be run again: random states, buffers, and the data it was given.

    optimizer.step()        <- the window of the step before ends; random states and moving buffers are noted
    for x, y in loader:     <- the batch is kept by reference, random states are noted again
        model(x)            <- without a loader: the tensors that a root module and the losses are given
        loss.backward()
    optimizer.step()        <- refused? then weights and optimizer state are still those of before

Weights and optimizer state need no copy: a refused step leaves them as they were. Nothing here waits for a device:
tensors are kept by reference, buffers are copied where they lie, and a CUDA generator's state is on the host.
"""

import itertools
import math
from collections import deque
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch.nn.modules.batchnorm import _NormBase

from premortem.events import BufferBroken
from premortem.probes.backward import MOST_LOSSES
from premortem.probes.generators import Generators, Random
from premortem.probes.model_registry import Model
from premortem.probes.numbers import telling
from premortem.probes.sample_numbers import Batch
from premortem.probes.session import version
from premortem.probes.training import Training

_VERSION = attrgetter("_version")
_PLAIN = (torch.Tensor, torch.nn.Parameter)
_MOST_DRAWS = 64  # batches kept for one step: gradient accumulation beyond that is not recorded whole
MOST_CALLS = 32
_FORGOTTEN_AFTER = 32  # steps of others, after which an optimizer is taken to be out of use
_LATE = 4  # steps after which a GPU has reported that one failed
_MOST_BUFFER_BYTES = 32 << 20  # of buffers that the forward pass changes


class Draw(NamedTuple):
    """One batch that a loader handed out."""

    serial: int
    loader: int
    batch: Any
    random: Random
    versions: list[int]
    numbers: Batch | None  # of its samples


class Call(NamedTuple):
    """The tensors a root module was given, in a step without a loader."""

    model: int
    grad: bool
    tensors: list[torch.Tensor]


class Window:
    """From the end of one optimizer step to the end of the next."""

    def __init__(self) -> None:
        self.step = 0  # the number of the step that closes it
        self.random: Random | None = None  # at its start
        self.calls: list[Call] = []
        self.targets: list[torch.Tensor] = []
        self.losses: deque[torch.Tensor] = deque(maxlen=MOST_LOSSES)  # what was sent backward
        self.buffers: list[tuple[int, str]] = []  # (model, name) of the copies
        self.copies: list[torch.Tensor] = []


class Recorder:
    """Listens to the other probes. Some windows are kept, because a device tells a step or two late that it failed."""

    def __init__(self, training: Training) -> None:
        self.session, self.models, self.optimizers, self.backwards = training
        self.draws: list[Draw] = []
        self.loaders: dict[int, int] = {}  # loader -> in how many windows it was drawn from
        self.window = Window()
        self.past: deque[Window] = deque()  # the newest last
        self._serial = 0
        # optimizer -> its last steps: their numbers, and the serials of the last draws before them
        self._stepped: dict[int, list[tuple[int, int]]] = {}
        self.skips: dict[int, int] = {}  # optimizer -> steps that a gradient scaler left out
        self.drawn_in = -1
        self.generators = Generators()
        self.moving: list[tuple[int, str]] = []  # buffers that change: model and name,
        self._owners: list[dict[str, Any]] = []  # where their module keeps them,
        self._own_names: list[str] = []  # and as what
        self._versions: dict[tuple[int, str], tuple[int, ...]] = {}
        self._float: list[bool] = []  # which of them hold floating-point numbers
        self._plain = False  # all of them are torch's own kind of tensor
        self.broken: list[Any] = []  # called with (optimizer, its track, name, tensor) before the step
        self._told = False  # a buffer was found not to be finite

    def install(self) -> None:
        self.window.step = 1
        self.models.on_given.append(self.called)
        self.optimizers.before_step.append(self._before_step)
        self.optimizers.after_step.append(self.step_ended)
        self.optimizers.light.add(self.step_ended)

    # -- inside a step --------------------------------------------------------------------

    def drawn(self, loader: int, batch: Any, tensors: list[torch.Tensor]) -> None:
        self._serial += 1
        if self.drawn_in != self.window.step:
            self.drawn_in = self.window.step
            self.loaders[loader] = self.loaders.get(loader, 0) + 1
        if len(self.draws) >= _MOST_DRAWS:
            del self.draws[0]
        random = self.generators.now()
        try:
            versions = list(map(_VERSION, tensors))
        except RuntimeError:  # made in inference mode
            versions = list(map(version, tensors))
        draw = (self._serial, loader, batch, random, versions, self.session.batch)
        self.draws.append(tuple.__new__(Draw, draw))  # one call of Python's less

    def called(self, model: Model, grad: bool, tensors: list[torch.Tensor]) -> None:
        window = self.window
        if self.drawn_in == window.step or len(window.calls) >= MOST_CALLS:
            return
        if window.random is None:  # the first step of the run: there was no step whose end it started at
            window.random = self.generators.now()
        # What a graph made is made again; holding it would keep that graph alive.
        if len(tensors) != 1 or tensors[0].requires_grad:
            tensors = [t for t in tensors if not t.requires_grad]
        window.calls.append(tuple.__new__(Call, (model.key, grad, tensors)))  # likewise

    def compared(self, target: torch.Tensor) -> None:
        if self.drawn_in != self.window.step and len(self.window.targets) < MOST_CALLS:
            self.window.targets.append(target.detach() if not target.requires_grad else target.new_empty(0))

    # -- between two steps ----------------------------------------------------------------

    def step_ended(self, optimizer: Any, track: Any, step: int) -> None:
        """In every gear: no line of ours for each batch or buffer, where it is not needed."""
        try:  # of its own: the listeners after it must still hear the step
            depth = _LATE if torch.cuda._initialized else 1
            mine = self._stepped.setdefault(track.key, [])
            mine.append((step, self._serial))
            del mine[: -depth - 1]
            if step % _FORGOTTEN_AFTER == 0 and len(self._stepped) > 1:
                # One that is not used any more must not keep batches alive.
                self._stepped = {k: v for k, v in self._stepped.items() if v[-1][0] > step - _FORGOTTEN_AFTER}
            if self.draws and len(mine) > depth:
                kept = mine[0][1]
                if len(self._stepped) > 1:
                    kept = min([steps[0][1] for steps in self._stepped.values()])
                while self.draws and self.draws[0].serial <= kept:
                    del self.draws[0]
            past = self.window
            past.losses, self.backwards.losses = self.backwards.losses, past.losses
            self.backwards.losses.clear()
            self.past.append(past)
            window = self.window = self.past.popleft() if len(self.past) > depth else Window()
            window.step = step + 1
            window.calls.clear()
            window.targets.clear()
            # Where there is a loader, Python's generator is asked at each draw.
            window.random = self.generators.now(self.drawn_in != step)
            if step & (step - 1) == 0 or (not self.session.resting and self.session.auditing):
                self._look_for_buffers()
            if self.moving or window.copies:
                self._copy(window)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.moving = []
            self.session.fault("recorder", error)

    def left_out(self, key: int) -> None:
        """A gradient scaler left a step out: what comes now belongs to the next one."""
        self.skips[key] = self.skips.get(key, 0) + 1
        self._stepped.setdefault(key, []).append((self.session.step, self._serial))
        self.window.calls.clear()
        self.window.targets.clear()
        self.window.random = self.generators.now()
        self._copy(self.window)

    def _copy(self, window: Window) -> None:
        if not self.moving:
            window.buffers, window.copies = [], []
            return
        if not self.session.looking:  # a rested step
            if self._alone():
                grad = torch.is_grad_enabled()
                torch._C._set_grad_enabled(False)
                try:
                    self._copy_all(window)
                finally:
                    torch._C._set_grad_enabled(grad)
            else:
                with self.session.looking_at("recorder", pieces=False):
                    self._copy_all(window)
            return
        self._copy_all(window)

    def _alone(self) -> bool:
        """No one but torch hears an operation on these tensors: a look would only be one more thing to begin and to end."""
        modes = torch._C._len_torch_dispatch_stack() or torch._C._len_torch_function_stack()
        return self._plain and not modes and self.session.locally is None

    def _copy_all(self, window: Window) -> None:
        values: list[Any] = list(
            map(dict.get, self._owners, self._own_names)
        )  # no line of ours for each of them
        if len(window.copies) != len(values):
            window.copies = [torch.empty_like(value) for value in values]
            window.buffers = self.moving
        torch._foreach_copy_(window.copies, values)

    def sound(self) -> bool:
        """Before a rested step: whether `_before_step` would find nothing to say."""
        if self._told:
            return True
        values: list[Any] = list(map(dict.get, self._owners, self._own_names))
        if values[0].device.type != "cpu":
            return True
        if not self._alone():
            return False
        floats = list(itertools.compress(values, self._float))
        grad = torch.is_grad_enabled()
        torch._C._set_grad_enabled(False)
        try:
            return not floats or math.isfinite(torch.stack(torch._foreach_norm(floats)).sum().item())
        except RuntimeError:  # a look finds out what it is
            return False
        finally:
            torch._C._set_grad_enabled(grad)

    def _before_step(self, optimizer: Any, track: Any) -> None:
        """Before the weights move, so that a capsule can hold them. A refused step's buffers are restored instead."""
        if not self.moving or self._told or self.optimizers.was_refused:
            return
        values: list[Any] = list(map(dict.get, self._owners, self._own_names))
        if values[0].device.type == "cpu" or self.session.auditing:
            floats = list(itertools.compress(values, self._float))
            if floats and not math.isfinite(float(torch.stack(torch._foreach_norm(floats)).sum())):
                self._check(values, optimizer, track)

    def _check(self, values: list[torch.Tensor], optimizer: Any, track: Any) -> None:
        before = dict(zip(self.window.buffers, self.window.copies, strict=True))
        for (key, name), value in zip(self.moving, values, strict=True):
            was = before.get((key, name))
            if _sound(value) or (was is not None and not _sound(was)):
                continue
            self._told = True
            path, _, own = name.rpartition(".")
            place = ".".join(part for part in (self.models.known[key].name, path) if part)
            origin = self.backwards.nonfinite_origin.microscope_schedule.certificate(value)
            step = self.session.step + 1
            self.session.emit(BufferBroken(step=step, module=place, buffer=own, origin=origin))
            for listener in self.broken:
                listener(optimizer, track, (key, name), value)
            return
        # They began like that (a mask, a bound): no matter from now on.
        self._float = [known and _sound(value) for known, value in zip(self._float, values, strict=True)]

    def _look_for_buffers(self) -> None:
        """What a step writes besides the weights it trains: batch norm's statistics, a codebook, an averaged model."""
        self.generators.meet()
        found: list[tuple[int, str, dict[str, Any], str]] = []
        total = 0
        for model in self.models.known.values():
            module = model.module()
            for path, owner in module.named_modules() if module is not None else ():
                prefix = f"{path}." if path else ""
                for kept in (owner._buffers,) if model.trained else (owner._buffers, owner._parameters):
                    held = self._moves(model, prefix, owner, kept)
                    total += sum(value.numel() * value.element_size() for value in held.values())
                    if total <= _MOST_BUFFER_BYTES:
                        found += [(model.key, f"{prefix}{own}", kept, own) for own in held]
        moving = [entry[:2] for entry in found]
        if moving != self.moving:
            for window in (self.window, *self.past):
                window.buffers, window.copies = [], []
        self.moving = moving
        self._owners, self._own_names = [entry[2] for entry in found], [entry[3] for entry in found]
        values = [owner[name] for owner, name in zip(self._owners, self._own_names, strict=True)]
        self._float = [value.is_floating_point() and value.numel() > 0 for value in values]
        self._plain = all(type(value) in _PLAIN for value in values)

    def _moves(
        self, model: Model, prefix: str, owner: Any, kept: dict[str, torch.Tensor | None]
    ) -> dict[str, torch.Tensor]:
        """Those of a module's buffers (or parameters) that were written, all or none."""
        held = {own: value for own, value in kept.items() if value is not None}
        now = tuple(version(value) for value in held.values())
        then = self._versions.setdefault((model.key, f"{prefix}{kept is owner._buffers}"), now)
        # Norm layers write their statistics without counting that as a write.
        norm = isinstance(owner, _NormBase) and owner.training and kept is owner._buffers
        if (now == then and not norm) or any(value.layout != torch.strided for value in held.values()):
            return {}
        return held

    # -- after a refused step -------------------------------------------------------------

    def mend_buffers(self, step: int) -> int:
        """Statistics that the forward pass of that step has made non-finite are as before it again; how many.

        Looks at memory: a GPU is waited for, but only after something went wrong."""
        window = self.window_of(step)
        if len(window.copies) != len(self._owners):
            return 0
        mended = 0
        for owner, name, copy in zip(self._owners, self._own_names, window.copies, strict=True):
            value = owner[name]
            if not _sound(value) and _sound(copy):
                value.data.copy_(copy)
                mended += 1
        if mended and window is not self.window:
            self._copy(self.window)  # it began with the broken ones
        return mended

    # -- what the capsule asks ------------------------------------------------------------

    def window_of(self, step: int) -> Window:
        """The window that step closed, or would have closed."""
        for window in self.past:
            if window.step == step:
                return window
        if self.backwards.losses:
            self.window.losses = self.backwards.losses.copy()
        return self.window

    def loss_of(self, step: int, otherwise: float | None) -> float | None:
        """What was sent backward in that step. Waits for the device: only after something went wrong."""
        losses = [float(loss.detach().real) for loss in self.window_of(step).losses if loss.numel() == 1]
        return telling(losses) if losses else otherwise

    def draws_of(self, key: int, step: int) -> list[Draw]:
        """The batches since that optimizer's step before, of the loaders that training draws from."""
        steps = self._stepped.get(key, [])
        since = max((serial for number, serial in steps if number < step), default=0)
        until = next((serial for number, serial in steps if number == step), self._serial)
        most = max(self.loaders.values(), default=0)
        return [
            draw
            for draw in self.draws
            if since < draw.serial <= until and 2 * self.loaders.get(draw.loader, 0) >= most
        ]

    def steps_since(self, key: int, step: int) -> int:
        """How many steps of that optimizer were reported from this one on."""
        return sum(1 for number, _ in self._stepped.get(key, []) if number >= step)


def _sound(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() or bool(torch.isfinite(tensor).all())
