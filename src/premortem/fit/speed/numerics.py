"""Whether a step under a speed-up is the same step: its loss and its gradients against the plain one's."""

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

_SAMPLED = 2048  # values of each gradient
_EXACT = 1e-3  # of the gradient's length; kernels add up in another order
_SHORTENED = (
    1e-2  # where products of float32 are computed with fewer bits, as a GPU's convolutions are by default
)
_COARSE = 0.2  # 16 bits
_COARSE_LOSS = 0.02
_NOISE = 20.0  # times what two plain steps differ by
_UNSTEADY = 0.01  # a script whose own steps differ by more is no measure for anything


@dataclass
class Seen:
    """What came of one turn of the loop."""

    seconds: float = 0.0
    losses: tuple[float, ...] = ()
    gradient: torch.Tensor | None = None  # a sample of it, on the host
    peak: int = 0  # bytes, on a GPU
    error: str = ""
    in_force: str = ""


@dataclass
class Plain:
    """The script's own step, several times: twice with the same random numbers, then with others."""

    same: list[Seen] = field(default_factory=list)
    others: list[Seen] = field(default_factory=list)

    @property
    def floor(self) -> float:
        """What two runs of the very same step differ by."""
        return distance(self.same[0].gradient, self.same[1].gradient) if len(self.same) > 1 else 0.0

    @property
    def chance(self) -> float:
        """What random numbers make of the gradient; 0 for a step that draws none."""
        far = [distance(self.same[0].gradient, other.gradient) for other in self.others]
        most = max(far, default=0.0)
        return most if most > max(1e-9, 2 * self.floor) else 0.0


@dataclass(frozen=True)
class Agreement:
    agrees: bool | None  # None: it is not known
    gradient: float  # distance of the gradients, in units of the plain one's length
    loss: float  # likewise of the losses
    note: str = ""


def agreement(plain: Plain, seen: Seen, *, exact: bool, own_chance: bool) -> Agreement:
    """`own_chance`: its random numbers are not those of the plain step, whatever the seed is."""
    first = plain.same[0]
    far = distance(first.gradient, seen.gradient)
    loss = max((_relative(a, b) for a, b in zip(first.losses, seen.losses, strict=False)), default=0.0)
    if plain.floor > _UNSTEADY:
        return Agreement(None, far, loss)
    if own_chance and plain.chance:
        # It cannot be the same sample; it must be one of the same kind.
        spread = max(
            _relative(first.losses[0], o.losses[0]) for o in plain.others if o.losses and first.losses
        )
        fits = far <= 1.5 * plain.chance and loss <= max(3 * spread, _COARSE_LOSS)
        return Agreement(fits, far, loss, "within what random numbers make of the step")
    allowed = max(exactness() if exact else _COARSE, _NOISE * plain.floor)
    return Agreement(far <= allowed and loss <= (allowed if exact else _COARSE_LOSS), far, loss)


def exactness() -> float:
    if not torch.cuda.is_initialized():
        return _EXACT
    with suppress(RuntimeError):  # the script mixes the old way of asking with the new one
        if torch.get_float32_matmul_precision() == "highest" and not torch.backends.cudnn.allow_tf32:
            return _EXACT
    return _SHORTENED


def sketch(optimizers: list[Any]) -> torch.Tensor:
    """The gradients, a few values of each, in the order of the parameters."""
    values = []
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                grad = parameter.grad
                if grad is None:
                    values.append(torch.zeros(1, dtype=torch.float64))
                    continue
                flat = (grad.to_dense() if grad.layout != torch.strided else grad).detach().reshape(-1)
                stride = max(1, flat.numel() // _SAMPLED)
                values.append(flat[::stride][:_SAMPLED].double().cpu())
    return torch.cat(values) if values else torch.zeros(1, dtype=torch.float64)


def distance(one: torch.Tensor | None, other: torch.Tensor | None) -> float:
    if one is None or other is None or one.shape != other.shape:
        return math.inf
    length = float(one.norm())
    far = float((one - other).norm())
    return far / length if length else (0.0 if far == 0 else math.inf)


def _relative(one: float, other: float) -> float:
    return (
        abs(one - other) / max(abs(one), 1e-12) if math.isfinite(one) and math.isfinite(other) else math.inf
    )
