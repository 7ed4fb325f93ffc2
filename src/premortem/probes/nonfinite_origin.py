"""When a loss or a gradient is not finite: which link broke first, while the graph is still there to be asked.

Nothing is run again. Before backward frees them, the graph's nodes hold what they were given and what they made;
the first node (from the leaves up) that was given finite numbers and made others bore the failure. CPU only: on a
GPU the look would wait for the device at every step.
"""

import math
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import replace

import torch

from premortem.events import DecayLost, Masked, NonFinite, NonFiniteLost, Samples, Site, Underflowed
from premortem.probes.frame_variables import variables
from premortem.probes.graph import root_of
from premortem.probes.graph_values import birth_of, only_line
from premortem.probes.microscope_schedule import MicroscopeSchedule
from premortem.probes.modules import Models
from premortem.probes.operation_words import finite
from premortem.probes.optimizers import Optimizers
from premortem.probes.recent_data import Recent
from premortem.probes.session import Session, is_user_code
from premortem.probes.zeroed_divisions import ZeroedDivisions

_MOST_CASES = 16
_LARGE = 1 << 24  # elements; larger tensors are not searched for rows
_SAMPLED = 16  # parameters whose gradients are looked at after each backward
_SAMPLE_SIZE = 1 << 16


class NonFiniteOrigin:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers, recent: Recent) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self.recent = recent
        self.targets: deque[weakref.ref[torch.Tensor]] = deque(maxlen=8)  # of the last loss calls
        self.sent_back: list[Callable[[torch.Tensor], None]] = []  # called with a loss that is not finite
        self.cases = 0
        self.microscope_schedule = MicroscopeSchedule(session, models)
        self.divisions = ZeroedDivisions(session, self.microscope_schedule.suspect)
        self._open = False  # since the last finite step
        self._certified = False  # ... and the microscope has seen it
        self.loss_broken = False  # one that was sent backward since the last step
        self._hidden: tuple[Masked, NonFinite | None] | None = None  # a gradient that a hook asked about
        self._finite = True  # the gradients that were looked at last

    # -- others tell ----------------------------------------------------------------------

    def compared(self, target: torch.Tensor) -> None:
        if target.is_floating_point():
            self.targets.append(weakref.ref(target))

    # -- around backward ------------------------------------------------------------------

    def before(self, loss: torch.Tensor, at: Site | None) -> None:
        if loss.numel() != 1 or loss.is_complex():
            return
        self.divisions.before(loss)
        if not self._may_read(loss):
            return
        value = float(loss.detach())
        if math.isfinite(value):
            return
        for heard in self.sent_back:
            heard(loss)
        self.loss_broken |= by_itself(value, loss)
        self._tell(lambda: self._forward_case(loss, value, at))

    def asked(self, loss: torch.Tensor, value: float, at: Site | None) -> None:
        """The script itself has seen that it is not finite; perhaps there will be no backward pass."""
        self._tell(lambda: self._forward_case(loss, value, at))

    def asked_about_gradient(self, gradient: torch.Tensor, at: Site | None) -> None:
        """A hook asks whether a gradient is finite. If it is not, and those that arrive are, the hook has hidden it."""
        if self._hidden is None and broken_rows(gradient) is not None:
            seen = self.microscope_schedule.certificate(gradient)
            bad = int((~torch.isfinite(gradient.detach())).sum())
            origin = seen if seen is not None and seen.stage != "weights" else None
            masked = Masked(
                step=self.session.step,
                at=at,
                op="a hook",
                count=bad,
                total=gradient.numel(),
                grad=False,
                gradient=True,
                origin=origin.detail if origin is not None else "",
            )
            self._hidden = (masked, origin)
            self.microscope_schedule.alarm()

    def after(self, value: float | None, at: Site | None) -> bool | None:
        """Whether the gradients that backward left (a sample of them) are finite; None when not looked at."""
        grads = self._gradients()
        size = norm(grads) if grads else None
        sound = None if size is None else math.isfinite(size)
        if size == 0 and value is not None and math.isfinite(value):
            self._vanished(value)
        hidden, self._hidden = self._hidden, None
        if sound and hidden is not None:
            masked, origin = hidden
            if origin is not None:
                self.session.emit(replace(origin, step=self.session.step, value=value))
            self.session.emit(masked)
        if sound is not None:
            self._finite = sound
        if sound is False or self.microscope_schedule.certificate() is not None:
            if value is not None and math.isfinite(value):
                self._tell(lambda: self._backward_case(value, at))
        elif sound and value is not None and math.isfinite(value):
            self._open = self._certified = False
        return sound

    def step_ended(self) -> None:
        """The optimizer's own arithmetic may be the first to fail."""
        seen = self.microscope_schedule.certificate()
        if seen is not None and seen.stage == "update":
            self._tell(lambda: self._as_event(seen, None))
        elif seen is None and (lost := self.microscope_schedule.lost(self._given_gradients())) is not None:
            origin, by = lost
            self.session.emit(NonFiniteLost(step=self.session.step, at=origin.at, origin=origin, by=by))
        scope = self.microscope_schedule.scope
        if scope is not None and scope.decay_lost is not None:
            lost_by, factor, share = scope.decay_lost
            self.session.emit(
                DecayLost(step=self.session.step, at=lost_by.at, origin=lost_by, factor=factor, share=share)
            )
        self.loss_broken = False
        self.microscope_schedule.step_ended()

    def _may_read(self, tensor: torch.Tensor) -> bool:
        """Under the microscope we wait for the device anyway."""
        return tensor.device.type == "cpu" or self.microscope_schedule.scope is not None

    def _vanished(self, value: float) -> None:
        """All gradients that were looked at are 0: was something too small for its type?"""
        scope = self.microscope_schedule.scope
        if scope is None:
            self.microscope_schedule.suspect()
        elif scope.vanished is not None and not any(map(bool, map(torch.any, self._given_gradients()))):
            self.session.emit(
                Underflowed(step=self.session.step, at=scope.vanished.at, origin=scope.vanished, value=value)
            )

    def _tell(self, case: Callable[[], NonFinite]) -> None:
        """Once for each failure, and a second time when the microscope has seen it."""
        self.microscope_schedule.alarm()
        if self.cases >= _MOST_CASES or (
            self._open and (self._certified or not self.microscope_schedule.scope)
        ):
            return
        event = case()
        if self._open and not event.watched:
            return
        self._open, self._certified = True, event.watched
        self.cases += 1
        if event.watched:
            self.microscope_schedule.satisfied()
        self.session.emit(event)

    # -- the cases ------------------------------------------------------------------------

    def _as_event(self, seen: NonFinite, value: float | None) -> NonFinite:
        """The microscope's certificate, with what only we know."""
        event = replace(seen, step=self.session.step, value=value)
        if event.stage == "data" and (found := self._broken_data()) is not None:
            event.what, event.rows = found
            event.samples = next(iter(self.models.sizes()), 0) if event.rows else 0
            event.source = self._source(event.rows)
        return event

    def _source(self, rows: tuple[int, ...]) -> Samples | None:
        """The numbers of these rows in the dataset, where all that the model is given has as many rows as the batch."""
        batch = self.session.batch
        if batch is None or not rows or next(iter(self.models.sizes()), 0) != len(batch):
            return None
        return batch.samples(rows)

    def _forward_case(self, loss: torch.Tensor, value: float, at: Site | None) -> NonFinite:
        seen = self.microscope_schedule.certificate(loss)
        if seen is not None and seen.stage != "weights":
            return self._as_event(seen, value)
        event = NonFinite(step=self.session.step, at=at, stage="loss", value=value)
        event.parameter, low = self._broken_parameter()
        if event.parameter:
            event.stage = "weights"
            # The last gradients were finite, so it was the update that did not fit into 16 bits.
            event.overflow = low and self._finite
            event.detail = "an update did not fit into 16 bits" if event.overflow else ""
            return event
        found = self._broken_data()
        if found is not None and found[0] != "batch" and self._batch_is_sound():
            return event  # it was computed; the microscope, or a replay, will see by what
        birth = None if found is not None else birth_of(loss)
        if birth is not None and birth.constant and self._batch_is_sound():
            return event  # likewise: it was computed before it met a weight
        if found is None and (birth is None or birth.constant):
            found = broken_variable()
        if found is not None:
            event.stage = "data"
            event.what, event.rows = found
            event.source = self._source(event.rows)
            event.at = self.recent.at or at  # where it was read, not where it did harm
        elif birth is not None:
            event.stage, event.what = ("data", "constant") if birth.constant else ("forward", "")
            event.op, event.detail = birth.op, birth.detail
            event.overflow, event.made, event.sure = birth.overflow, birth.made, birth.sure
            line = None if birth.constant else only_line(loss, birth.op)
            event.at, event.located = line or at, line is not None
        else:
            event.overflow = math.isinf(value)
        return event

    def _backward_case(self, value: float, at: Site | None) -> NonFinite:
        seen = self.microscope_schedule.certificate()
        if seen is not None and seen.stage != "weights":
            return self._as_event(seen, value)
        names = self.models.registry.names()
        broken = ""
        for key in self.models.in_training:
            module = self.models.known[key].module()
            for parameter in module.parameters() if module is not None else ():
                if parameter.grad is not None and not finite(parameter.grad):
                    # The last one in the model's order lies nearest to where it was born.
                    broken = names.get(self.session.parameters.of(parameter), (broken, 0))[0]
        return NonFinite(step=self.session.step, at=at, stage="backward", value=value, parameter=broken)

    def _broken_parameter(self) -> tuple[str, bool]:
        """Its name, and whether it is kept in float16."""
        for key in self.models.in_training:
            model = self.models.known[key]
            module = model.module()
            for name, parameter in module.named_parameters() if module is not None else ():
                if parameter.device.type == "cpu" and not finite(parameter):
                    return f"{model.name}.{name}", parameter.dtype == torch.float16
        return "", False

    def _broken_data(self) -> tuple[str, tuple[int, ...]] | None:
        """What the batch holds: the model's input, the target of a loss, any tensor of the loader's batch."""
        for key in self.models.in_training:
            kept = self.models.known[key].last_input
            tensor = kept[0]() if kept is not None else None
            if tensor is not None and not tensor.requires_grad and (rows := broken_rows(tensor)) is not None:
                return "input", rows
        for what, references in (("target", self.targets), ("batch", self.recent.tensors)):
            for reference in reversed(references):
                tensor = reference()
                if (
                    tensor is not None
                    and not tensor.requires_grad
                    and (rows := broken_rows(tensor)) is not None
                ):
                    return what, rows
        return None

    def _batch_is_sound(self) -> bool:
        """What the loader handed out last is at hand, and finite."""
        drawn = [tensor for reference in self.recent.tensors if (tensor := reference()) is not None]
        numbers = [tensor for tensor in drawn if tensor.is_floating_point()]
        looked = all(tensor.device.type == "cpu" and tensor.numel() <= _LARGE for tensor in numbers)
        return bool(numbers) and looked and all(broken_rows(tensor) is None for tensor in numbers)

    def _given_gradients(self) -> list[torch.Tensor]:
        """What the step was made with; a script may have set it itself."""
        parameters = [ref() for track in self.optimizers.tracks.values() for ref in track.sentinels]
        return [p.grad for p in parameters if p is not None and p.grad is not None]

    def _gradients(self) -> list[torch.Tensor]:
        found: list[torch.Tensor] = []
        for track in self.optimizers.tracks.values():
            for reference in track.sentinels:
                parameter = reference()
                grad = parameter.grad if parameter is not None else None
                if grad is not None and grad.device.type != "cpu":
                    break  # a look would wait for the device
                if (
                    grad is not None
                    and grad.layout == torch.strided
                    and grad.is_floating_point()
                    and 0 < grad.numel() <= _SAMPLE_SIZE
                    and (not found or grad.dtype == found[0].dtype)
                ):
                    found.append(grad)
                    if len(found) >= _SAMPLED:
                        return found
        return found


def norm(grads: list[torch.Tensor]) -> float:
    total = float(torch.stack(torch._foreach_norm(grads)).sum())
    if not math.isfinite(total) and all(bool(torch.isfinite(grad).all()) for grad in grads):
        return 1.0  # only their squares are too large
    return total


def by_itself(value: float, loss: torch.Tensor) -> bool:
    """Not finite, and not only because a gradient scaler made it too large: then the scaler's probe decides."""
    return math.isnan(value) or (math.isinf(value) and not root_of(loss).scaled)


def broken_rows(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """Rows (of the first dimension) with non-finite values; None when all is well."""
    if tensor.device.type != "cpu" or not tensor.is_floating_point() or tensor.layout != torch.strided:
        return None
    if not tensor.numel() or tensor.numel() > _LARGE or finite(tensor):
        return None
    if tensor.dim() == 0:
        return ()
    bad = ~torch.isfinite(tensor.detach().reshape(tensor.shape[0], -1)).all(dim=1)
    return tuple(int(i) for i in bad.nonzero()[:8, 0])


def broken_variable() -> tuple[str, tuple[int, ...]] | None:
    """A tensor of plain data, in a variable of the user's own frames, that holds non-finite values."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            for name, value in list(variables(frame).items()):
                if isinstance(value, torch.Tensor) and value.grad_fn is None and not value.requires_grad:
                    rows = broken_rows(value)
                    if rows is not None and value.dim():
                        return name, rows
        frame = frame.f_back
    return None
