"""Puts the state of a capsule back into a running script: weights, buffers, optimizers, random generators."""

from __future__ import annotations

import random
import sys
from typing import TYPE_CHECKING, Any

import torch

from premortem.probes.rank_comparison import is_fully_sharded
from premortem.probes.shards import as_they_are
from premortem.replay.capsule import Capsule
from premortem.replay.collect import held, plain_name
from premortem.tensors.sharding import is_shard, local

if TYPE_CHECKING:
    from premortem.probes import Attachment
    from premortem.probes.model_registry import Model


class Restorer:
    def __init__(self, capsule: Capsule, attachment: Attachment) -> None:
        self.capsule = capsule
        self.attachment = attachment
        self.warnings: list[str] = []
        self._done: set[int] = set()  # models that were restored in this trial
        self._restored: dict[int, int] = {}  # optimizer -> how many parameters it had then
        self._names = [entry["name"] if entry else None for entry in capsule.manifest["models"]]

    def warn(self, sentence: str) -> None:
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    # -- models ---------------------------------------------------------------------------

    def begin(self) -> None:
        """All that is known of by now, as it was before the recorded step."""
        self._done.clear()
        for model in list(self.attachment.models.known.values()):
            self.model(model)
        for index, track in enumerate(self.attachment.optimizers.tracks.values()):
            optimizer = track.optimizer()
            if optimizer is not None and index < len(self.capsule.manifest["optimizers"]):
                self._optimizer(index, optimizer)
        self._scaler()
        self._schedulers()

    def parameters(self, index: int) -> list[torch.Tensor]:
        """What that optimizer holds."""
        tracks = list(self.attachment.optimizers.tracks.values())
        optimizer = tracks[index].optimizer() if index < len(tracks) else None
        return held(optimizer) if optimizer is not None else []

    def before_update(self, index: int, optimizer: Any) -> None:
        """Rates and groups as at the recorded step, whatever the script has made of them in this turn."""
        saved = self.capsule.manifest["optimizers"][index]
        if saved is not None:
            self._groups(optimizer, saved)
            self._state(index, optimizer, saved, self._restored.get(index, 0))

    def model(self, model: Model) -> bool:
        """Once in a trial, and before it is called; whether it was done now."""
        module = model.module()
        if model.key in self._done or module is None:
            return False
        self._done.add(model.key)
        sharded_again(module)
        index = self.index(model)
        if index is None:
            if not self._is_part(module):
                self.warn(f"the model `{model.name}` was not there in the recorded run; it is left as it is")
            return True
        prefix = f"model/{index}/"
        mine: dict[str, torch.Tensor] = {plain_name(name): p for name, p in module.named_parameters()}
        mine.update({plain_name(name): tensor for name, tensor in module.named_buffers()})
        saved = {
            name[len(prefix) :]: tensor
            for name, tensor in self.capsule.state.items()
            if name.startswith(prefix)
        }
        if not saved and mine:
            self.warn(
                f"the capsule has no weights of `{model.name}`; it runs with those the script starts with"
            )
        for name, tensor in mine.items():
            tensor.grad = None
            if name in saved and saved[name].shape == local(tensor).shape:
                put(tensor, saved[name])
            elif saved:
                self.warn(f"`{model.name}.{name}` has another shape or is new; it is left as it is")
        return True

    def _is_part(self, module: torch.nn.Module) -> bool:
        """Of another one, with which it is restored: a layer that is called apart when it is computed again."""
        known = [m for model in self.attachment.models.known.values() if (m := model.module()) is not None]
        return any(module is not other and module in other.modules() for other in known)

    def sharded_again(self) -> None:
        for model in self.attachment.models.known.values():
            module = model.module()
            if module is not None:
                sharded_again(module)

    def index(self, model: Model) -> int | None:
        """By its name in the user's code, and among those of one name by their order."""
        mine = [m.key for m in self.attachment.models.known.values() if m.name == model.name]
        theirs = [i for i, name in enumerate(self._names) if name == model.name]
        place = mine.index(model.key)
        if place < len(theirs):
            return theirs[place]
        order = list(self.attachment.models.known).index(model.key)
        return order if order < len(self._names) and self._names[order] is not None else None

    def broken_buffer(self) -> torch.Tensor | None:
        """The one that the recorded step broke, as it is now."""
        saved = self.capsule.manifest.get("buffer")
        if saved is None:
            return None
        _, index, name = saved["name"].split("/", 2)
        for model in self.attachment.models.known.values():
            module = model.module()
            if module is not None and self.index(model) == int(index):
                mine = [*module.named_buffers(), *module.named_parameters()]
                return next((value for own, value in mine if plain_name(own) == name), None)
        return None

    # -- optimizers and scaler ------------------------------------------------------------

    def _optimizer(self, index: int, optimizer: Any) -> None:
        saved = self.capsule.manifest["optimizers"][index]
        if saved is None:
            return
        self._groups(optimizer, saved)
        parameters = held(optimizer)
        for number, parameter in enumerate(parameters):
            parameter.grad = None
            loose = self.capsule.state.get(f"loose/{index}/{number}")
            if loose is not None and loose.shape == local(parameter).shape:
                put(parameter, loose)
            optimizer.state.pop(parameter, None)
        self._state(index, optimizer, saved, 0)
        self._restored[index] = len(parameters)

    def _groups(self, optimizer: Any, saved: dict[str, Any]) -> None:
        for group, values in zip(optimizer.param_groups, saved["groups"], strict=False):
            for name, value in values.items():
                if name in group and not isinstance(group[name], torch.Tensor):
                    group[name] = _typed(value, group[name])

    def _state(self, index: int, optimizer: Any, saved: dict[str, Any], first: int) -> None:
        """Of its parameters from that one on: a script may add some in the middle of a turn."""
        parameters = held(optimizer)
        prefix = f"state/{index}/"
        for name, tensor in self.capsule.state.items():
            if name.startswith(prefix):
                place, key = name[len(prefix) :].split("/", 1)
                if first <= int(place) < len(parameters):
                    parameter = parameters[int(place)]
                    # A step counter stays on the CPU, as the optimizer made it.
                    device = parameter.device if tensor.dim() else tensor.device
                    piece = tensor.to(device, copy=True)
                    with as_they_are(self.attachment.session):
                        optimizer.state[parameter][key] = like(parameter, piece)
        for name, value in saved["scalars"].items():
            place, key = name.split("/", 1)
            if first <= int(place) < len(parameters):
                optimizer.state[parameters[int(place)]][key] = value

    def _schedulers(self) -> None:
        """They do not advance in a trial: the recorded step had its rates already."""
        probe = self.attachment.schedulers
        probe.veto = lambda *_: True
        mine = [self.attachment.session.schedulers.object(key) for key in sorted(probe.told)]
        living = [scheduler for scheduler in mine if scheduler is not None]
        for scheduler, saved in zip(living, self.capsule.manifest.get("schedulers", ()), strict=False):
            if type(scheduler).__name__ == saved["kind"]:
                own = vars(scheduler)
                own.update({k: _typed(v, own[k]) for k, v in saved["state"].items() if k in own})

    def _scaler(self) -> None:
        saved = self.capsule.manifest.get("scaler")
        scaler = self.attachment.scalers.last() if self.attachment.scalers.last is not None else None
        if saved and scaler is not None and scaler.is_enabled():
            scaler.load_state_dict(saved)

    # -- chance ---------------------------------------------------------------------------

    def random(self, state: dict[str, Any] | None) -> None:
        if state is None:
            return
        tensors, name = self.capsule.step, state["name"]
        torch.default_generator.set_state(tensors[f"{name}/torch"])
        if f"{name}/cuda" in tensors:
            if torch.cuda.is_available() and torch.cuda.is_initialized():
                torch.cuda.default_generators[torch.cuda.current_device()].set_state(tensors[f"{name}/cuda"])
            elif str(self.capsule.manifest["device"]).startswith("cuda"):
                self.warn("random numbers of the GPU cannot be drawn here; dropout and noise differ")
        if state["python"] is not None:
            kind, words, gauss = state["python"]
            random.setstate((kind, tuple(words), gauss))
        if f"{name}/numpy" in tensors and "numpy" in sys.modules:
            import numpy as np

            raw = bytes(tensors[f"{name}/numpy"].tolist())
            words = np.frombuffer(raw[:-4], dtype=np.uint32)
            place = int.from_bytes(raw[-4:], sys.byteorder)
            np.random.set_state(("MT19937", words, place, 0, 0.0))  # noqa: NPY002


def _typed(value: Any, like: Any) -> Any:
    """JSON has no tuples, and no infinity."""
    if isinstance(like, tuple):
        return tuple(value)
    return float(value) if isinstance(like, float) and isinstance(value, str) else value


def sharded_again(module: torch.nn.Module) -> None:
    """FSDP2 lets other objects stand in for its parameters until a backward pass is over, which there may not have been:
    its own are put back. Nothing is sent."""
    for each in module.modules():
        fsdp: Any = each
        if is_fully_sharded(each):
            fsdp.reshard()


def like(parameter: torch.Tensor, piece: torch.Tensor) -> torch.Tensor:
    """What an optimizer keeps for a parameter in pieces is in the same pieces; a step counter is not."""
    if not is_shard(parameter) or piece.shape != local(parameter).shape:
        return piece
    from torch.distributed.tensor import DTensor

    sharded: Any = parameter
    return DTensor.from_local(
        piece,
        sharded.device_mesh,
        sharded.placements,
        run_check=False,  # else a collective
        shape=parameter.shape,
        stride=parameter.stride(),
    )


def put(tensor: torch.Tensor, saved: torch.Tensor) -> None:
    """The saved values in their own type, where the tensor, or this rank's piece of it, lies."""
    piece = local(tensor)
    if tensor.dtype == saved.dtype:
        piece.data.copy_(saved)
    else:  # a trial in another precision had changed it
        tensor.data = saved.to(tensor.device, copy=True)
