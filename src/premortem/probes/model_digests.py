"""A few numbers that stand for a model: equal on two ranks when the model is, cheap enough to be taken in a run.

Of every parameter sixteen values, other ones each time, are hashed by one small product on their device; nothing waits.
"""

from typing import Any

import torch

from premortem.tensors.sharding import is_shard, local

_SAMPLED = 16  # values of a tensor
_MOST = 256  # parameters in one digest; of more of them, others each time
_BITS = (1 << 52) - 1  # what a float64 holds exactly: hashes travel beside sums
_STEP = 7919  # a prime: how far the sample moves from one digest to the next


def comparable(parameter: Any) -> bool:
    """Not a piece of which every rank has another, and not a placeholder."""
    if type(parameter).__name__ == "FlatParameter" or not isinstance(parameter, torch.Tensor):
        return False
    if is_shard(parameter) and len(holders(parameter)) < 2:
        return False
    piece = local(parameter)
    return piece.numel() > 0 and piece.layout == torch.strided and not piece.is_complex()


def holders(parameter: Any) -> list[int]:
    """The ranks that hold the same piece of a sharded parameter as this one, by its placements; [] of an ordinary one."""
    if not is_shard(parameter):
        return []
    mesh, here = parameter.device_mesh, parameter.device_mesh.get_coordinate()
    if here is None:
        return []
    at = tuple(
        slice(None) if placement.is_replicate() else place
        for placement, place in zip(parameter.placements, here, strict=True)
    )
    return sorted(int(rank) for rank in mesh.mesh[at].flatten().tolist())


def chosen(parameters: list[torch.Tensor], turn: int) -> list[int]:
    stride = -(-len(parameters) // _MOST)
    return list(range(turn % stride, len(parameters), stride)) if stride else []


class Taken:
    """Numbers about parameters, their gradients and the optimizer's state, perhaps still on their way from the device."""

    def __init__(self, parameters: list[torch.Tensor], states: list[torch.Tensor | None], turn: int) -> None:
        shift = turn * _STEP
        places: dict[tuple[int, torch.device], torch.Tensor] = {}
        values, slopes, moments, self._without = [], [], [], []
        nothing: dict[torch.device, torch.Tensor] = {}
        for number, (parameter, state) in enumerate(zip(parameters, states, strict=True)):
            piece, grad = local(parameter), parameter.grad
            size, device = piece.numel(), piece.device
            at = places.get((size, device))
            if at is None:
                spread = torch.arange(_SAMPLED, device=device) * max(1, size // _SAMPLED)
                at = places[size, device] = (spread + shift) % size
                nothing.setdefault(device, torch.zeros(_SAMPLED, device=device))
            values.append(_plain(torch.take(piece, at)))
            grad = None if grad is None else local(grad)
            if grad is None or grad.layout != torch.strided or grad.numel() != size:
                self._without.append(number)
                slopes.append(nothing[device])
            else:
                slopes.append(_plain(torch.take(grad, at)))
            kept = None if state is None else local(state)
            moments.append(
                nothing[device] if kept is None or kept.numel() != size else _plain(torch.take(kept, at))
            )
        self._event: Any = None
        self._host = torch.zeros(5, 0)
        if not parameters:
            return
        matrix = torch.stack(values)
        exact = matrix.double()
        packed = torch.stack(
            [
                _hashed(matrix),
                _hashed(torch.stack(slopes)),
                exact.sum(1),
                exact.abs().sum(1),
                torch.stack(moments).double().abs().sum(1),
            ]
        )
        if packed.device.type == "cuda":
            self._host = torch.empty(packed.shape, dtype=packed.dtype, pin_memory=True)
            self._host.copy_(packed, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()
        else:
            self._host = packed

    @property
    def arrived(self) -> bool:
        return self._event is None or bool(self._event.query())

    def read(self) -> dict[str, list[Any]]:
        values, gradients, sums, sizes, moments = self._host.tolist()
        slopes = [int(each) or 1 for each in gradients]
        for number in self._without:
            slopes[number] = 0
        return {
            "values": [int(each) for each in values],
            "gradients": slopes,
            "sums": [float(f"{each:.8g}") for each in sums],  # short, as they travel as text
            "sizes": [float(f"{each:.8g}") for each in sizes],
            "moments": [float(f"{each:.6g}") for each in moments],
        }


def _plain(values: torch.Tensor) -> torch.Tensor:
    return values if values.dtype is torch.float32 else values.float()


def state_of(optimizer: Any, parameter: Any, turn: int) -> torch.Tensor | None:
    """One of the tensors that an optimizer keeps for a parameter, another one each time."""
    kept = optimizer.state.get(parameter)
    if not isinstance(kept, dict):
        return None
    alike = [
        each
        for each in kept.values()
        if isinstance(each, torch.Tensor)
        and each.numel() == parameter.numel()
        and each.device == parameter.device
        and each.layout == torch.strided
        and each.is_floating_point()
    ]
    return alike[turn % len(alike)] if alike else None


def hash_of(tensors: list[torch.Tensor]) -> int:
    """Of small tensors on the CPU, such as running statistics; 0 when there are none there."""
    rows = [
        torch.take(t.detach(), torch.arange(_SAMPLED) % t.numel()).float()
        for t in tensors[:_MOST]
        if t.device.type == "cpu" and t.is_floating_point() and t.numel()
    ]
    return int(_hashed(torch.stack(rows)).sum()) & _BITS if rows else 0


def _hashed(matrix: torch.Tensor) -> torch.Tensor:
    bits = matrix.view(torch.int32).to(torch.int64)
    weights = torch.arange(1, _SAMPLED + 1, device=matrix.device) * 0x9E3779B1
    mixed = (bits * weights).sum(1)
    return ((mixed ^ (mixed >> 17)) & _BITS).double()
