"""The state of a training run at one moment, as checksums and small numbers."""

import hashlib
import math
import pickle
import random
import sys
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from premortem.probes import Attachment
from premortem.probes.frame_variables import variables as of_frame
from premortem.probes.loop_counters import loop_counters, user_frames
from premortem.probes.optimizer_construction import number
from premortem.probes.shadow_weights import kept_weights
from premortem.proof.described import described

_MOST_VARIABLES = 400


def moment(attachment: Attachment, root: nn.Module | None, batch: dict[str, Any]) -> dict[str, Any]:
    """All of it that a resume must bring back."""
    frames = list(user_frames())
    optimizers = [o for track in attachment.optimizers.live() if (o := track.optimizer()) is not None]
    held = {p.data_ptr() for o in optimizers for group in o.param_groups for p in group["params"]}
    return {
        "step": attachment.session.step,
        "weights": named(root.named_parameters()) if root is not None else {},
        "buffers": named(root.named_buffers()) if root is not None else {},
        "parameters": [[checksum(p) for g in o.param_groups for p in g["params"]] for o in optimizers],
        "optimizers": [optimizer_state(o, names_of(root)) for o in optimizers],
        "schedulers": [
            scheduler_state(s)
            for o in optimizers
            for s in attachment.schedulers.of_optimizer(attachment.session.optimizers.of(o))
        ],
        "random": random_states(),
        "counters": [list(pair) for pair in loop_counters(frames)],
        "variables": variables(frames),
        "kept": {
            name: {key: checksum(value) for key, value in tensors.items() if isinstance(value, torch.Tensor)}
            for name, tensors in kept_weights(frames, [root] if root is not None else [])
            if not any(isinstance(v, torch.Tensor) and v.data_ptr() in held for v in tensors.values())
        },
        "batch": batch,
    }


def checksum(tensor: torch.Tensor) -> str:
    """Of the exact bits."""
    whole = tensor.detach()
    if whole.layout != torch.strided:
        whole = whole.to_dense()
    flat = whole.cpu().contiguous().reshape(-1).view(torch.uint8)
    return hashlib.blake2b(flat.numpy().tobytes(), digest_size=8).hexdigest()


def named(tensors: Any) -> dict[str, str]:
    return {name: checksum(tensor) for name, tensor in tensors}


def names_of(root: nn.Module | None) -> dict[int, str]:
    return {id(p): name for name, p in root.named_parameters()} if root is not None else {}


def optimizer_state(optimizer: Any, names: dict[int, str]) -> dict[str, Any]:
    state: dict[str, Any] = {}
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    for index, parameter in enumerate(parameters):
        entry = optimizer.state.get(parameter)
        if entry:
            state[names.get(id(parameter), f"parameter {index}")] = {
                name: checksum(value) if isinstance(value, torch.Tensor) else described(value)
                for name, value in entry.items()
            }
    return {
        "kind": type(optimizer).__name__,
        "state": state,
        "rates": [number(group.get("lr")) for group in optimizer.param_groups],
        "decay": [number(group.get("weight_decay", 0.0)) for group in optimizer.param_groups],
        "total": len(parameters),
    }


def scheduler_state(scheduler: Any) -> dict[str, Any]:
    values = {
        name: value
        for name, value in vars(scheduler).items()
        if isinstance(value, (int, float, list, str, bool)) and name not in {"verbose", "_is_initial"}
    }
    return {
        "kind": type(scheduler).__name__,
        "position": getattr(scheduler, "last_epoch", None),
        "values": {name: described(value) for name, value in sorted(values.items())},
    }


def random_states() -> dict[str, str]:
    states = {"torch": checksum(torch.get_rng_state()), "python": short(pickle.dumps(random.getstate()))}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = short(b"".join(bytes(s.tolist()) for s in torch.cuda.get_rng_state_all()))
    numpy = sys.modules.get("numpy.random")
    if numpy is not None:
        states["numpy"] = short(pickle.dumps(numpy.get_state()))
    return states


def short(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=8).hexdigest()


def variables(frames: list[Any]) -> dict[str, str]:
    """Numbers that the script keeps in variables or in attributes of `self`: a best score, a patience."""
    found: dict[str, str] = {}
    for frame in reversed(frames):
        held = of_frame(frame)
        owner = held.get("self")
        own = vars(owner) if hasattr(owner, "__dict__") and not isinstance(owner, nn.Module) else {}
        for name, value in [
            *held.items(),
            *((f"self.{key}", each) for key, each in own.items()),
        ]:
            if (
                len(found) < _MOST_VARIABLES
                and not name.startswith("_")
                and type(value) in {int, float, bool}
            ):
                found.setdefault(name, repr(value))
    return found


def loss_bits(value: float | None) -> str:
    return "" if value is None else ("nan" if math.isnan(value) else float(value).hex())


def tensors_in_file(thing: Any, depth: int = 0) -> bool:
    if isinstance(thing, (torch.Tensor, nn.Module)):
        return True
    values = (
        thing.values() if isinstance(thing, Mapping) else thing if isinstance(thing, (list, tuple)) else ()
    )
    return depth < 4 and any(tensors_in_file(value, depth + 1) for value in values)
