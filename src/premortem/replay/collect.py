"""From the live run to a capsule: state before the step, data, random states, the loss to the last bit.

In two parts. `collect` runs in the training's thread: it names everything, and copies it where it lies. `sealed` reads the
copies, which waits for a device, and may run in another thread while the training goes on.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from premortem.probes.generators import Random
from premortem.probes.recorder import Draw, Window
from premortem.probes.session import tensors_in, version
from premortem.ranks import processes
from premortem.replay.batch_format import pack
from premortem.replay.capsule import Capsule
from premortem.replay.tensor_file import pieces
from premortem.tensors.sharding import in_pieces, local

if TYPE_CHECKING:
    from premortem.probes import Attachment

Tensors = dict[str, torch.Tensor]


class Taken(NamedTuple):
    """Copies of all that a capsule holds, each with memory of its own, and what is to be read of them."""

    facts: dict[str, Any]
    state: Tensors
    data: Tensors
    losses: list[torch.Tensor]
    gradients: list[torch.Tensor]
    buffer: torch.Tensor | None
    ready: list[torch.cuda.Event]  # of each GPU: the copies are made


def collect(
    attachment: Attachment,
    optimizer: Any,
    key: int,
    step: int,
    reason: str,
    most: int,
    buffer: tuple[tuple[int, str], torch.Tensor] | None = None,
) -> Taken:
    """What to write: the manifest's facts about the step, and the tensors, of at most `most` bytes.

    `buffer` is the one that the step broke, when it broke nothing else."""
    recorder = attachment.recorder
    window = recorder.window_of(step)
    draws = recorder.draws_of(key, step)
    notes: list[str] = []
    session, track = attachment.session, attachment.optimizers.tracks[key]
    if session.step > step:
        notes.append(
            f"it was known {session.step - step} steps later; weights that moved since are as they were then"
        )
    state: Tensors = {}
    data: Tensors = {}
    models = _models(attachment, window, state, notes)
    optimizers = _optimizers(attachment, state)
    facts = {
        "number": step,
        "reason": reason,
        "optimizer": _position(attachment, key),
        # Of this optimizer, before this one, made or not.
        "steps": track.steps - recorder.steps_since(key, step) + recorder.skips.get(key, 0),
        "models": models,
        "optimizers": optimizers,
        "draws": [_draw(i, draw, data, notes) for i, draw in enumerate(draws)],
        "calls": _calls(attachment, window, data),
        "targets": len(window.targets),
        "random": random_state(window.random, "random/start", data),
        "buffer": _buffer(attachment, buffer[0]) if buffer is not None else None,
        "scaler": _scaler(attachment),
        "schedulers": _schedulers(attachment),
        "guarded": getattr(attachment, "guard", None) is not None,
        "compiled": attachment.session.compiling_used,
        "device": _device(optimizer),
        "ranks": _ranks(optimizer),
        "precision": {
            "default": str(torch.get_default_dtype()),
            "tf32": bool(torch.backends.cuda.matmul.allow_tf32),
            "deterministic": torch.are_deterministic_algorithms_enabled(),
        },
        "notes": notes,
    }
    for i, target in enumerate(window.targets):
        data[f"target/{i}"] = target
    for i, loss in enumerate(window.losses):
        data[f"loss/{i}"] = loss
    _fit(state, data, most, notes)
    grads = gradients(optimizer)
    copier = Copier([*state.values(), *data.values(), *grads])
    return Taken(
        facts,
        copier.stored(state, notes),
        copier.stored(data, notes),
        [copier.copy(loss) for loss in window.losses],
        [copier.copy(grad) for grad in grads if grad.layout == torch.strided],
        copier.copy(buffer[1]) if buffer is not None else None,
        copier.made(),
    )


def sealed(taken: Taken) -> Capsule:
    """The capsule: everything on the CPU, with the exact losses and the checksums. Waits for the device."""
    streams = {}
    for done in taken.ready:
        stream = streams[done.device] = torch.cuda.Stream(done.device)
        stream.wait_event(done)
    facts = taken.facts
    with ExitStack() as inside:
        for stream in streams.values():
            inside.enter_context(torch.cuda.stream(stream))
        facts["losses"] = [exact(loss) for loss in taken.losses]
        facts["gradients"] = digest(taken.gradients)
        if taken.buffer is not None:
            facts["buffer"]["bits"] = digest([taken.buffer])
        on_cpu = [{name: t.cpu() for name, t in tensors.items()} for tensors in (taken.state, taken.data)]
    return Capsule(facts, *on_cpu)


class Copier:
    """Copies tensors on their device, which takes no time of the host; to the CPU where there is no room for that."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self._devices = {t.device for t in tensors if t.device.type == "cuda"}
        self._full = {device for device in self._devices if not _room(device, tensors)}

    def copy(self, tensor: torch.Tensor) -> torch.Tensor:
        piece = local(tensor).detach()
        device = torch.device("cpu") if piece.device in self._full else piece.device
        return torch.empty(piece.shape, dtype=piece.dtype, device=device).copy_(piece)

    def stored(self, tensors: Tensors, notes: list[str]) -> Tensors:
        stored: Tensors = {}
        for name, tensor in tensors.items():
            if tensor.layout != torch.strided or tensor.is_quantized or tensor.dtype == torch.complex128:
                notes.append(
                    f"`{name}` is of a kind that a capsule cannot hold ({tensor.layout}, {tensor.dtype})"
                )
            else:
                stored[name] = self.copy(tensor)
        return stored

    def made(self) -> list[torch.cuda.Event]:
        events = []
        for device in self._devices:
            with torch.cuda.device(device):
                done = torch.cuda.Event()
                done.record()
                events.append(done)
        return events


def _room(device: torch.device, tensors: list[torch.Tensor]) -> bool:
    """Whether the device has twice as much memory left as the copies take: the training may need the rest."""
    needed = sum(local(t).nbytes for t in tensors if t.device == device)
    cached = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return 2 * needed < torch.cuda.mem_get_info(device)[0] + cached


# --- the parts -------------------------------------------------------------------------------


def plain_name(name: str) -> str:
    """Without what torch.compile puts in between."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def _models(attachment: Attachment, window: Window, state: Tensors, notes: list[str]) -> list[Any]:
    before = dict(zip(window.buffers, window.copies, strict=True))
    models: list[Any] = []
    for index, model in enumerate(attachment.models.known.values()):
        module = model.module()
        if module is None:
            models.append(None)
            continue
        for name, parameter in module.named_parameters():
            state[f"model/{index}/{plain_name(name)}"] = parameter
        for name, buffer in module.named_buffers():
            state[f"model/{index}/{plain_name(name)}"] = before.get((model.key, name), buffer)
        models.append({"name": model.name, "kind": type(module).__name__, "training": module.training})
    return models


def _buffer(attachment: Attachment, broken: tuple[int, str]) -> dict[str, str]:
    key, name = broken
    index = list(attachment.models.known).index(key)
    return {"name": f"model/{index}/{plain_name(name)}"}


def _optimizers(attachment: Attachment, state: Tensors) -> list[Any]:
    known = {
        id(parameter)
        for model in attachment.models.known.values()
        if (module := model.module()) is not None
        for parameter in module.parameters()
    }
    optimizers: list[Any] = []
    for index, track in enumerate(attachment.optimizers.tracks.values()):
        optimizer = track.optimizer()
        if optimizer is None:
            optimizers.append(None)
            continue
        scalars: dict[str, Any] = {}
        for place, parameter in enumerate(held(optimizer)):
            if id(parameter) not in known:  # a loose parameter: of no model that is called
                state[f"loose/{index}/{place}"] = parameter
            for name, value in optimizer.state.get(parameter, {}).items():
                if isinstance(value, torch.Tensor):
                    state[f"state/{index}/{place}/{name}"] = value
                elif isinstance(value, (int, float, bool)):
                    scalars[f"{place}/{name}"] = value
        groups = [
            {name: _plain(value) for name, value in group.items() if name != "params" and _is_plain(value)}
            for group in optimizer.param_groups
        ]
        optimizers.append({"kind": type(optimizer).__name__, "groups": groups, "scalars": scalars})
    return optimizers


def held(optimizer: Any) -> list[torch.Tensor]:
    """All parameters of an optimizer, in order."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _draw(index: int, draw: Draw, data: Tensors, notes: list[str]) -> dict[str, Any]:
    if [version(t) for t in tensors_in(draw.batch)] != draw.versions:
        notes.append(
            f"batch {index} was changed in place after it was drawn; the capsule has the changed one"
        )
    numbers = draw.numbers.samples() if draw.numbers is not None else None
    return {
        "loader": draw.loader,
        "samples": numbers._asdict() if numbers is not None else None,
        "batch": pack(draw.batch, f"batch/{index}", data),
        "random": random_state(draw.random, f"random/draw/{index}", data),
    }


def _calls(attachment: Attachment, window: Window, data: Tensors) -> list[Any]:
    order = {key: index for index, key in enumerate(attachment.models.known)}
    calls = []
    for i, call in enumerate(window.calls):
        for j, tensor in enumerate(call.tensors):
            data[f"call/{i}/{j}"] = tensor
        calls.append({"model": order.get(call.model, -1), "grad": call.grad, "tensors": len(call.tensors)})
    return calls


def random_state(state: Random | None, name: str, data: Tensors) -> dict[str, Any] | None:
    if state is None:
        return None
    data[f"{name}/torch"] = state.torch
    if state.cuda is not None:
        data[f"{name}/cuda"] = state.cuda
    if state.numpy is not None:
        data[f"{name}/numpy"] = torch.frombuffer(bytearray(state.numpy), dtype=torch.uint8)
    if state.python is None:
        return {"name": name, "python": None}
    kind, words, gauss = state.python.state
    return {"name": name, "python": [kind, list(words), gauss]}


def _scaler(attachment: Attachment) -> dict[str, Any] | None:
    scaler = attachment.scalers.last() if attachment.scalers.last is not None else None
    return {k: _plain(v) for k, v in scaler.state_dict().items()} if scaler is not None else None


def _schedulers(attachment: Attachment) -> list[Any]:
    schedulers = []
    for key in sorted(attachment.schedulers.told):
        scheduler = attachment.session.schedulers.object(key)
        if scheduler is not None:
            state = {k: _plain(v) for k, v in vars(scheduler).items() if _is_plain(v)}
            schedulers.append({"kind": type(scheduler).__name__, "state": state})
    return schedulers


def _position(attachment: Attachment, key: int) -> int:
    return list(attachment.optimizers.tracks).index(key)


def _ranks(optimizer: Any) -> dict[str, Any] | None:
    """Whose part of the step this is, where several processes make it together."""
    dist = torch.distributed
    if not (dist.is_available() and dist.is_initialized()) or dist.get_world_size() == 1:
        return None
    return {
        "rank": dist.get_rank(),
        "ranks": dist.get_world_size(),
        "sharded": any(in_pieces(parameter) for parameter in held(optimizer)),
        "told": processes.place(os.environ)
        is not None,  # by variables, as torchrun's: so the same variables can be set again
    }


def _device(optimizer: Any) -> str:
    return next((str(p.device) for p in held(optimizer)), "cpu")


# --- numbers ---------------------------------------------------------------------------------


def exact(loss: torch.Tensor) -> dict[str, Any]:
    """A scalar's value and its bits: NaN does not equal itself, bits do."""
    value = float(loss.detach())
    whole = loss.detach().reshape(1).cpu().contiguous().view(torch.uint8)
    return {"value": value, "dtype": str(loss.dtype), "bits": bytes(whole.tolist()[::-1]).hex()}


def gradients(optimizer: Any) -> list[torch.Tensor]:
    return [p.grad for p in held(optimizer) if p.grad is not None]


def digest(tensors: list[torch.Tensor]) -> str:
    """A checksum over exact bits. Different NaNs of one operation are one NaN: their sign says nothing."""
    total = hashlib.sha256()
    for tensor in tensors:
        if tensor.layout != torch.strided or tensor.is_complex():
            continue
        for piece in pieces(tensor.detach().cpu().contiguous()):
            bits = piece
            if piece.is_floating_point():
                bits = torch.where(torch.isnan(piece), torch.full_like(piece, float("nan")), piece)
            total.update(bits.view(torch.uint8).numpy().data)
    return total.hexdigest()


def _is_plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(item, (int, float, bool, str, type(None))) for item in value)
    return isinstance(value, (int, float, bool, str, type(None))) or (
        isinstance(value, torch.Tensor) and value.numel() == 1
    )


def _plain(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else None
    return list(value) if isinstance(value, tuple) else value


# --- size ------------------------------------------------------------------------------------


def _fit(state: Tensors, data: Tensors, most: int, notes: list[str]) -> None:
    """Drop what a replay can do without, and say so."""
    for kind, what in (("state/", "the state of the optimizers"), ("model/", "parameters and buffers")):
        if _bytes(state) + _bytes(data) <= most:
            return
        dropped = [name for name in state if name.startswith(kind)]
        size = _bytes({name: state[name] for name in dropped})
        for name in dropped:
            del state[name]
        notes.append(
            f"{what} ({size >> 20} MiB) did not fit into the {most >> 20} MiB that a capsule may have"
        )


def _bytes(tensors: Tensors) -> int:
    return sum(local(t).numel() * t.element_size() for t in tensors.values())
