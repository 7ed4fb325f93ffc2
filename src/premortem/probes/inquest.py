"""When a loss or a gradient is not finite: which link broke first, while the graph is still there to be asked.

Nothing is run again. Before backward frees them, the graph's nodes hold what they were given and what they made;
the first node (from the leaves up) that was given finite numbers and made others bore the failure. CPU only: on a
GPU the look would wait for the device at every step.
"""

from __future__ import annotations

import math
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch

from premortem.events import NonFinite, Site
from premortem.probes.graph import name_of
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.recent import Recent
from premortem.probes.session import Session, is_user_code

_MOST_CASES = 16
_MOST_NODES = 20_000
_LARGE = 1 << 24  # elements; larger tensors are not searched for rows
_SAMPLED = 16  # parameters whose gradients are looked at after each backward
_SAMPLE_SIZE = 1 << 16

# Operations that make finite numbers too large rather than meaningless.
_GROWING = frozenset(
    "Exp Exp2 Expm1 Cosh Sinh Mul Add Sub Addmm Mm Bmm Baddbmm Linear Convolution Pow Sum Mean Prod Cumprod ToCopy "
    "MseLoss SmoothL1Loss HuberLoss Square LinalgVectorNorm Cumsum Dot Mv".split()
)
# Where the second operand's zeros, or the first one's sign, decide.
_POSITIVE = frozenset({"Log", "Log2", "Log10"})
_WITHIN_ONE = frozenset({"Acos", "Asin", "Atanh"})


class Birth(NamedTuple):
    op: str
    detail: str
    overflow: bool = False
    constant: bool = False  # an operand that is no result of the model was broken already


class Inquest:
    def __init__(self, session: Session, models: Models, optimizers: Optimizers, recent: Recent) -> None:
        self.session = session
        self.models = models
        self.optimizers = optimizers
        self.recent = recent
        self.targets: deque[weakref.ref[torch.Tensor]] = deque(maxlen=8)  # of the last loss calls
        self.cases = 0
        self._open = False  # since the last finite step
        self._finite = True  # so were the last gradients

    # -- others tell ----------------------------------------------------------------------

    def compared(self, target: torch.Tensor) -> None:
        if target.is_floating_point():
            self.targets.append(weakref.ref(target))

    # -- around backward ------------------------------------------------------------------

    def before(self, loss: torch.Tensor, at: Site | None) -> None:
        if loss.device.type != "cpu" or loss.numel() != 1 or loss.is_complex():
            return
        value = float(loss.detach())
        if math.isfinite(value):
            return
        self._tell(lambda: self._forward_case(loss, value, at))

    def after(self, value: float | None, at: Site | None) -> bool | None:
        """Whether the gradients that backward left (a sample of them) are finite; None when not looked at."""
        grads = self._gradients()
        if not grads:
            return None
        total = float(torch.stack(torch._foreach_norm(grads)).sum())
        self._finite = math.isfinite(total)
        if self._finite:
            if value is not None and math.isfinite(value):
                self._open = False
            return True
        if all(bool(torch.isfinite(g).all()) for g in grads):
            return True  # only their squares are too large
        if value is not None and math.isfinite(value):
            self._tell(lambda: self._backward_case(value, at))
        return False

    def _tell(self, case: Any) -> None:
        if self._open or self.cases >= _MOST_CASES:
            return
        self._open = True
        self.cases += 1
        self.session.emit(case())

    # -- the cases ------------------------------------------------------------------------

    def _forward_case(self, loss: torch.Tensor, value: float, at: Site | None) -> NonFinite:
        event = NonFinite(step=self.session.step, at=at, stage="loss", value=value)
        event.parameter, low = self._broken_parameter()
        if event.parameter:
            event.stage = "weights"
            # The last gradients were finite, so it was the update that did not fit into 16 bits.
            event.overflow = low and self._finite
            event.detail = "an update did not fit into 16 bits" if event.overflow else ""
            return event
        found = self._broken_data()
        birth = None if found is not None else birth_of(loss)
        if found is None and (birth is None or birth.constant):
            found = broken_variable()
        if found is not None:
            event.stage = "data"
            event.what, event.rows = found
        elif birth is not None and birth.constant:
            event.stage, event.what = "data", "constant"
            event.op, event.detail = birth.op, birth.detail
        elif birth is not None:
            event.op, event.detail, event.overflow = birth.op, birth.detail, birth.overflow
        else:
            event.overflow = math.isinf(value)
        return event

    def _backward_case(self, value: float, at: Site | None) -> NonFinite:
        names = self.models.names()
        broken = ""
        for key in self.models.in_training:
            module = self.models.known[key].module()
            for parameter in module.parameters() if module is not None else ():
                if parameter.grad is not None and not finite(parameter.grad):
                    # The last one in the model's order lies nearest to where it was born.
                    broken = names.get(self.session.parameters.of(parameter), (broken, 0))[0]
        return NonFinite(step=self.session.step, at=at, stage="gradient", value=value, parameter=broken)

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


def finite(tensor: torch.Tensor) -> bool:
    values = tensor.detach()
    if values.layout != torch.strided:
        values = values._values() if values.is_sparse else values.to_dense()
    return not values.is_floating_point() or bool(torch.isfinite(values).all())


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
            for name, value in list(frame.f_locals.items()):
                if isinstance(value, torch.Tensor) and value.grad_fn is None and not value.requires_grad:
                    rows = broken_rows(value)
                    if rows is not None and value.dim():
                        return name, rows
        frame = frame.f_back
    return None


# --- the graph as a witness ------------------------------------------------------------------


def birth_of(loss: torch.Tensor) -> Birth | None:
    """The first operation, leaves first, that was given finite numbers and made others."""
    for node in children_first(loss.grad_fn):
        found = examine(node)
        if found is not None:
            return found
    return None


def children_first(start: Any) -> Iterator[Any]:
    """Every node after the ones it depends on."""
    stack: list[tuple[Any, bool]] = [(start, False)] if start is not None else []
    seen: dict[Any, None] = {}
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
            continue
        if node in seen or len(seen) > _MOST_NODES:
            continue
        seen[node] = None
        stack.append((node, True))
        stack.extend((child, False) for child, _ in node.next_functions if child is not None)


def examine(node: Any) -> Birth | None:
    name = name_of(node)
    children = [child for child, _ in node.next_functions]
    inputs, result = saved(node, name)
    for index, value in inputs:
        if not finite(value):
            child = children[index] if index < len(children) else None
            if child is None:
                return Birth(name, f"an operand of {name.lower()} holds {worst(value)}", constant=True)
            below = name_of(child)
            return Birth(
                below,
                f"{below.lower()} made {worst(value)}",
                bool(torch.isinf(value).any()) and below in _GROWING,
            )
    rule = broken_rule(node, name, dict(inputs))
    if rule:
        return Birth(name, rule)
    if result is not None and not finite(result):
        grew = name in _GROWING and bool(torch.isinf(result).any())
        return Birth(name, f"{name.lower()} made {worst(result)}{largest(inputs)}", grew)
    return None


def saved(node: Any, name: str) -> tuple[list[tuple[int, torch.Tensor]], torch.Tensor | None]:
    """What the node was given, by position, and what it made, as far as it kept them."""
    inputs: list[tuple[int, torch.Tensor]] = []
    result = None
    for attribute, position in (
        ("self", 0),
        ("other", 1),
        ("mat1", 1),
        ("mat2", 1),
        ("target", 1),
        ("input", 0),
    ):
        value = kept(node, attribute)
        if value is not None:
            # addmm keeps mat1 and mat2, its first child is the bias; mm keeps self and mat2.
            inputs.append((position + (name == "Addmm" and attribute == "mat2"), value))
    result = kept(node, "result")
    return inputs, result


def kept(node: Any, attribute: str) -> torch.Tensor | None:
    try:
        value = getattr(node, f"_saved_{attribute}", None)
    except RuntimeError:  # freed already, or written over since
        return None
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return None
    return value.detach() if value.layout == torch.strided and value.numel() else None


def broken_rule(node: Any, name: str, inputs: dict[int, torch.Tensor]) -> str:
    """Finite operands for which the operation has no finite result."""
    first = inputs.get(0)
    if name in _POSITIVE and first is not None and (low := float(first.min())) <= 0:
        return f"the logarithm of {'0' if low == 0 else f'{low:.3g}'}"
    if name == "Log1P" and first is not None and (low := float(first.min())) <= -1:
        return f"log1p of {low:.3g}"
    if name in _WITHIN_ONE and first is not None and float(first.abs().max()) > 1:
        return f"{name.lower()} of {float(first.abs().max()):.6g}"
    if name in {"Std", "Var"} and first is not None and (first.numel() == 1 or 1 in first.shape[:1]):
        return f"the {name.lower()} of a single value"
    if name == "Div":
        divisor = inputs.get(1)
        if divisor is not None and bool((divisor == 0).any()):
            return f"a division by 0 ({int((divisor == 0).sum())} of {divisor.numel()} divisors)"
        if kept_number(node, "other") == 0:
            return "a division by 0"
    if name == "Pow":
        return broken_power(node, first)
    if name in {"NllLoss", "NllLoss2D"}:
        weight = kept(node, "total_weight")
        if weight is not None and float(weight) == 0:
            return "the mean over no target at all (every one is ignore_index)"
    if name == "Mean" and kept_number(node, "self_sym_numel") == 0:
        return "the mean of an empty tensor"
    return ""


def broken_power(node: Any, base: torch.Tensor | None) -> str:
    exponent = kept(node, "exponent")
    fixed = kept_number(node, "exponent")
    if base is None or (exponent is None and fixed is None):
        return ""
    power = (
        float(fixed) if fixed is not None else float(exponent.reshape(-1)[0]) if exponent is not None else 0.0
    )
    low = float(base.min())
    if low < 0 and power != int(power):
        return f"a negative number ({low:.3g}) to the power {power:.3g}"
    if power < 0 and bool((base == 0).any()):
        return f"0 to the power {power:.3g}"
    return ""


def kept_number(node: Any, attribute: str) -> float | None:
    try:
        value = getattr(node, f"_saved_{attribute}", None)
    except RuntimeError:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def worst(value: torch.Tensor) -> str:
    return "nan" if bool(torch.isnan(value).any()) else "inf"


def largest(inputs: list[tuple[int, torch.Tensor]]) -> str:
    if not inputs:
        return ""
    return f" from numbers up to {max(float(v.abs().max()) for _, v in inputs):.3g}"
