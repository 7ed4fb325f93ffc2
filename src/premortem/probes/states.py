"""State dicts and checkpoint files: what was loaded, what of it fitted, what was saved."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.events import CheckpointSaved, FileLoaded, LoadedWeightsChanged, StateLoaded, UnsavedStateUsed
from premortem.probes.checkpoint_contents import counters_in, records_in
from premortem.probes.first_use_flags import FirstUseFlags
from premortem.probes.noisy_layers import uncounted
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, sampled, user_name, user_site, version
from premortem.probes.shards import as_they_are
from premortem.probes.state_names import best_prefix, fitting_entry
from premortem.tensors.initial import as_made
from premortem.tensors.sharding import is_shard

_MOST_TAKEN = 4096  # state dicts that are still in memory
_RELATED = 0.5  # correlation, over 64 weights, above which weights have something to do with each other

_ROWS = 8  # of a weight, of which some may be empty
_LARGEST = 1 << 26  # elements
_EMPTY = 0.1  # of the rows: one row of zeros is that of the padding


class States:
    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers
        self.flags = FirstUseFlags(session)
        self.loaded = session.loaded  # parameter keys that came from a state dict
        self._filled_at = -1  # last step at which a checkpoint was read into memory that models own
        self._shapes: dict[str, Any] = {}  # of the tensors in the file that was read last, by name
        self._read: weakref.WeakValueDictionary[int, torch.Tensor] = (
            weakref.WeakValueDictionary()
        )  # the tensors of files, by id
        self._last_saved: CheckpointSaved | None = None
        self.files = 0  # files read so far: weights may have come from them by hand
        # first tensor of a state dict -> step at which it was taken; a shallow copy holds the same tensor
        self._taken: dict[int, tuple[weakref.ref[torch.Tensor], int, int]] = {}  # ... and its version then
        self._asked: weakref.WeakKeyDictionary[nn.Module, int] = (
            weakref.WeakKeyDictionary()
        )  # last step of each
        self._unsaved: dict[
            int, dict[str, list[float]]
        ] = {}  # what state dicts leave out, for each architecture
        self.fresh: list[
            tuple[weakref.ref[nn.Module], str, dict[str, Any]]
        ] = []  # loaded since the last step

    def install(self) -> None:
        session = self.session
        session.around(nn.Module, "state_dict", after=self._state_taken)
        session.patch(nn.Module, "load_state_dict", self._wrap_load)
        session.around(Optimizer, "load_state_dict", after=self._optimizer_loaded)
        session.around(torch, "load", after=self._file_loaded)
        session.around(torch, "save", after=self._saved)
        session.around(shutil, "copyfile", after=self._copied)
        self.optimizers.before_step.append(self._first_step)

    # -- state dicts ----------------------------------------------------------------------

    def _state_taken(self, note: Any, result: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        # Only the outermost dict reaches the user; inner calls pass a destination.
        if args or "destination" in kwargs or not isinstance(result, Mapping):
            return
        if len(self._taken) > _MOST_TAKEN:
            self._taken = {key: known for key, known in self._taken.items() if known[0]() is not None}
        first = first_tensor(result)
        if first is not None and len(self._taken) <= _MOST_TAKEN:
            self._taken[id(first)] = (weakref.ref(first), self.session.step, version(first))
        self._asked[module] = self.session.step
        buffers = unsaved_buffers(module)
        if buffers:
            self._unsaved[shapes_of(module)] = {name: sampled(value) for name, value in buffers.items()}

    def _taken_at(self, state: Any) -> int | None:
        first = first_tensor(state)
        known = self._taken.get(id(first))
        return known[1] if known is not None and known[0]() is first else None

    def _rewritten(self, state: Any) -> bool:
        """Whether the memory of this state dict was written since it was taken."""
        first = first_tensor(state)
        known = self._taken.get(id(first))
        return first is not None and known is not None and known[0]() is first and known[2] != version(first)

    def _wrap_load(self, original: Any) -> Any:
        def load_state_dict(
            module: nn.Module, state_dict: Any, strict: bool = True, *args: Any, **kw: Any
        ) -> Any:
            if not self.session.listening():
                return original(module, state_dict, strict, *args, **kw)
            event = None
            with self.session.looking_at("load_state_dict"):
                event = self._compare(module, state_dict, strict)
            try:
                result = original(module, state_dict, strict, *args, **kw)
            except Exception as error:
                if event is not None:
                    event.error = str(error)
                    self.session.emit(event)
                raise
            if event is not None:
                with self.session.looking_at("load_state_dict"):
                    self._mark(module, state_dict)
                    self.session.emit(event)
            return result

        return load_state_dict

    def _compare(self, module: nn.Module, state: Mapping[str, Any], strict: bool) -> StateLoaded:
        with as_they_are(self.session):  # a piece of a sharded weight has another shape
            own = own_state(module)
        given = list(state)
        read = any(self._read.get(id(value)) is value for value in state.values())
        made = as_made(module, state) if read else (0, 0)
        fits = [n for n in given if n in own and shape(state[n]) == shape(own[n])]
        missing = tuple(name for name in own if name not in state)
        unexpected = tuple(name for name in given if name not in own)
        prefix, would = best_prefix(own, unexpected)
        filled = self._filled_at == self.session.step
        aliased = [n for n in fits if not filled and same_memory(state[n], own[n])]
        keys = self.session.parameters
        taken_at = None if filled else self._taken_at(state)
        if (
            taken_at is None and aliased
        ):  # other tensors on the same memory: taken when a state dict was last asked for
            taken_at = self._asked.get(module)
        return StateLoaded(
            step=self.session.step,
            at=user_site(),
            target="module",
            key=self.session.modules.of(module),
            name=user_name(module) or type(module).__name__,
            strict=bool(strict),
            given=len(given),
            wanted=len(own),
            matched=len(fits),
            missing=missing[:32],
            unexpected=unexpected[:32],
            would_match=would,
            prefix=prefix,
            aliased=len(aliased),
            taken_at=taken_at,
            rewritten=not filled and self._rewritten(state),
            reshaped=sum(
                name in self._shapes and self._shapes[name] != shape(own[name])
                for name in own
                if name not in fits or name in aliased
            ),
            empty=tuple(name for name in fits if name not in aliased and half_empty(state[name]))[:8],
            renamed=renamed([shape(own[n]) for n in missing], [shape(state[n]) for n in unexpected]),
            parameters=tuple(keys.of(p) for _, p in zip(range(64), module.parameters(), strict=False)),
            nonfinite=tuple(n for n in fits if not finite(state[n]))[:8],
            uncounted=tuple(uncounted(state, fits))[:32],
            entry=fitting_entry(own, state, len(fits)),
            from_file=read,
            as_made=made if made[1] else None,
        )

    def _await_use(self, module: nn.Module, name: str) -> None:
        """Buffers that are not in any state dict, and not what they were when it was taken: will they be used so?"""
        buffers = unsaved_buffers(module)
        known = self._unsaved.get(shapes_of(module), {}) if buffers else {}
        lost = {
            n: (value, version(value))
            for n, value in buffers.items()
            if n in known and known[n] != sampled(value)
        }
        if not lost:
            return
        key, at = self.session.modules.of(module), user_site()

        def used(training: bool) -> None:
            if not training and all(version(value) == then for value, then in lost.values()):
                self.session.emit(
                    UnsavedStateUsed(step=self.session.step, at=at, model=key, name=name, buffers=tuple(lost))
                )

        self.session.next_call[key] = used

    def _mark(self, module: nn.Module, state: Mapping[str, Any]) -> None:
        for name, parameter in module.named_parameters():
            if name in state:
                number = self.session.parameters.of(parameter)
                self.loaded.add(number)
                self.session.from_file.pop(number, None)
                if self._read.get(id(state[name])) is state[name]:
                    self.session.from_file[number] = version(parameter)
        name = user_name(module) or type(module).__name__
        # What is loaded later wins: an earlier load of the same weights is not lost, it is replaced.
        mine = {id(p) for p in module.parameters()}
        for _, _, kept in self.fresh:
            for key in [key for key, (ref, _) in kept.items() if id(ref()) in mine]:
                del kept[key]
        self._await_use(module, name)
        self.flags.loaded(module, name, user_site())
        self.fresh.append((weakref.ref(module), name, remembered(module, state)))

    def _first_step(self, optimizer: Any, track: Any) -> None:
        """Before the first step after a load: are the weights still those that were loaded?"""
        self.flags.stepping()
        fresh, self.fresh = self.fresh, []
        for reference, name, kept in fresh:
            module = reference()
            if module is None or not kept:
                continue
            changed = [
                key for key, (ref, old) in kept.items() if (p := ref()) is not None and unrelated(p, old)
            ]
            if changed:
                self.session.emit(
                    LoadedWeightsChanged(
                        step=self.session.step,
                        model=self.session.modules.of(module),
                        name=name,
                        changed=tuple(changed),
                        loaded=len(kept),
                        tied=tuple(pair for name in changed if (pair := tied(module, name))),
                    )
                )

    def _optimizer_loaded(
        self, note: Any, result: Any, optimizer: Optimizer, state_dict: Any, *args: Any
    ) -> None:
        state = state_dict
        held = state.get("state", {}) if isinstance(state, dict) else {}
        entries = len(held)
        self.session.emit(
            StateLoaded(
                step=self.session.step,
                at=user_site(),
                target="optimizer",
                key=self.session.optimizers.of(optimizer),
                name=type(optimizer).__name__,
                strict=True,
                given=entries,
                wanted=sum(len(group["params"]) for group in optimizer.param_groups),
                matched=entries,
                nonfinite=tuple(
                    f"state.{position}.{name}"
                    for position, entry in held.items()
                    if isinstance(entry, Mapping)
                    for name, value in entry.items()
                    if not finite(value)
                )[:8],
            )
        )

    # -- files ----------------------------------------------------------------------------

    def _file_loaded(self, note: Any, result: Any, source: Any = None, *args: Any, **kwargs: Any) -> None:
        self.files += 1
        self._shapes = shapes_held(result)
        for tensor in tensors_in_states(result):
            self._read[id(tensor)] = tensor
        keys = tuple(str(key) for key in result)[:64] if isinstance(result, Mapping) else ()
        self.session.emit(
            FileLoaded(
                step=self.session.step,
                at=user_site(),
                path=path_of(source),
                keys=keys,
                optimizer_entries=optimizer_entries(result),
                counters=counters_in(result),
                records=records_in(result),
                written=written(path_of(source)),
                tensors=len(tensors_in_states(result)),
            )
        )

    def _saved(
        self, note: Any, result: Any, thing: Any, target: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        path = path_of(target)
        size = os.path.getsize(path) if path and os.path.exists(path) else None
        weights, current = self._weights_in(thing)
        event = CheckpointSaved(
            step=self.session.step,
            at=user_site(),
            path=path,
            bytes=size,
            taken_at=self._oldest(thing),
            weights=weights,
            current=current,
            records=records_in(thing),
        )
        self._last_saved = event
        self.session.emit(event)

    def _copied(self, note: Any, result: Any, source: Any, target: Any, *args: Any, **kwargs: Any) -> None:
        """The file that was just saved is copied: `shutil.copyfile(path, "model_best.pth")`. After another step the model has
        other weights than the file."""
        saved, path = self._last_saved, path_of(target)
        just = saved is not None and saved.step == self.session.step
        if saved is not None and just and path and saved.path and saved.path == path_of(source):
            self.session.emit(dataclasses.replace(saved, step=self.session.step, at=user_site(), path=path))

    def filled(self) -> None:
        """A library reads a checkpoint right into the tensors of a state dict: what holds the model's own memory then
        holds what was in the file."""
        self._filled_at = self.session.step

    def told_saved(self, thing: Any, path: str) -> None:
        """Saved by whoever writes in the place of `torch.save`."""
        self._saved(None, None, thing, path)

    def asked(self) -> list[nn.Module]:
        """Models that were asked for their state dict."""
        return list(self._asked)

    def asked_after_training(self) -> list[nn.Module]:
        """Those that were asked when steps had been made: what they held may have been kept."""
        return [module for module, step in self._asked.items() if step]

    def _weights_in(self, thing: Any, depth: int = 0) -> tuple[int | None, bool | None]:
        """A checksum of the weights in what is saved, and whether a model has these weights now."""
        if not isinstance(thing, Mapping) or depth > 2:
            return None, None
        tensors = {k: v for k, v in thing.items() if isinstance(k, str) and isinstance(v, torch.Tensor)}
        owners = (
            [m for m in self._asked if set(tensors) == set(names_in_state(m))] if len(tensors) > 1 else []
        )
        # What is not trained any more (an encoder of a first stage) is the same in every checkpoint, and should be.
        if any(moving(m) for m in owners):
            saved = {name: sampled(value, 4) for name, value in tensors.items()}
            current = any(sampled(own, 4) == saved[name] for m in owners for name, own in moving(m))
            return hash(tuple(map(tuple, saved.values()))), current
        found = [self._weights_in(value, depth + 1) for value in thing.values()]
        known = [each for each in found if each[0] is not None]
        return next((each for each in known if each[1]), known[0] if known else (None, None))

    def _oldest(self, thing: Any, depth: int = 0) -> int | None:
        """When the oldest state dict in what is saved was taken from a model that still owns its memory."""
        if not isinstance(thing, Mapping) or depth > 2:
            return None
        found = [self._oldest(value, depth + 1) for value in thing.values()]
        known = [step for step in (self._taken_at(thing), *found) if step is not None]
        return min(known, default=None)


def names_in_state(module: nn.Module) -> list[str]:
    buffers = unsaved_buffers(module)
    every = [name for name, _ in module.named_parameters(remove_duplicate=False)]
    return every + [name for name, _ in module.named_buffers(remove_duplicate=False) if name not in buffers]


def moving(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Some of the weights that training moves."""
    found = [
        (n, p) for n, p in module.named_parameters() if p.requires_grad and p.dim() > 1 and p.numel() > 8
    ]
    return found[:: max(1, len(found) // 8)]


def unsaved_buffers(module: nn.Module) -> dict[str, torch.Tensor]:
    """Buffers (CPU) that a state dict does not hold."""
    return {
        f"{path}.{name}".lstrip("."): value
        for path, owner in module.named_modules()
        for name in owner._non_persistent_buffers_set
        if (value := owner._buffers.get(name)) is not None
        and value.is_floating_point()
        and value.device.type == "cpu"
        and value.numel()
    }


def shapes_of(module: nn.Module) -> int:
    return hash(tuple(tuple(p.shape) for p in module.parameters()))


def written(path: str) -> float | None:
    try:
        return os.path.getmtime(path) if path else None
    except OSError:
        return None


def first_tensor(state: Any) -> torch.Tensor | None:
    if not isinstance(state, Mapping):
        return None
    return next((value for value in state.values() if isinstance(value, torch.Tensor)), None)


def renamed(missing: list[Any], unexpected: list[Any]) -> int:
    """The same shapes in the same order under other names: it is the same layer."""
    return len(missing) if missing == unexpected else 0


def remembered(module: nn.Module, state: Mapping[str, Any]) -> dict[str, Any]:
    """Samples of the matrices among the loaded weights."""
    found: dict[str, Any] = {}
    for name, parameter in module.named_parameters():
        if (
            name in state
            and parameter.dim() >= 2
            and parameter.numel() >= 32
            and parameter.device.type == "cpu"
        ):
            found[name] = (weakref.ref(parameter), sampled(parameter, 64))
            if len(found) >= 64:
                break
    return found


def unrelated(parameter: torch.Tensor, old: list[float]) -> bool:
    """The weights are others, not the same scaled, pruned or perturbed: they do not correlate with the old."""
    if parameter.device.type != "cpu":
        return False
    now = sampled(parameter, 64)
    if now == old or len(now) != len(old) or len(set(old)) < 8:
        return False
    pairs = torch.tensor([now, old], dtype=torch.float64)
    if not torch.isfinite(pairs).all() or (pairs.std(dim=1) == 0).any():
        return False
    return abs(float(torch.corrcoef(pairs)[0, 1])) < _RELATED


def tied(module: nn.Module, name: str) -> str:
    """ab.weight = c.weight, when two modules share this parameter; "" when it has one owner."""
    every = list(module.named_parameters(remove_duplicate=False))
    mine = dict(every)[name]
    names = [other for other, parameter in every if parameter is mine]
    return " = ".join(names) if len(names) > 1 else ""


def tensors_in_states(thing: Any, depth: int = 0) -> list[torch.Tensor]:
    if not isinstance(thing, Mapping) or depth > 1:
        return []
    values = thing.values()
    here = [v for v in values if isinstance(v, torch.Tensor)]
    return [*here, *(t for v in values for t in tensors_in_states(v, depth + 1))]


def shapes_held(thing: Any, depth: int = 0) -> dict[str, Any]:
    if not isinstance(thing, Mapping) or depth > 1:
        return {}
    found = {str(name): shape(v) for name, v in thing.items() if isinstance(v, torch.Tensor)}
    for value in thing.values():
        found.update(shapes_held(value, depth + 1))
    return found


def half_empty(value: Any) -> bool:
    """Whether a weight ends in many rows of zeros, and begins with others: it was not written to its end."""
    if (
        not isinstance(value, torch.Tensor)
        or value.dim() < 2
        or len(value) < _ROWS
        or value.numel() > _LARGEST
    ):
        return False
    if value.device.type != "cpu" or value.layout != torch.strided or not value.is_floating_point():
        return False
    if is_shard(value):
        return False  # a piece: its end is not the tensor's
    zero = (value.detach() == 0).reshape(len(value), -1).all(1)
    tail = int(zero.flip(0).long().cumprod(0).sum())
    return _EMPTY * len(value) <= tail == int(zero.sum()) < len(value)


def path_of(thing: Any) -> str:
    return os.fspath(thing) if isinstance(thing, (str, os.PathLike)) else ""


def shape(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None


def same_memory(a: Any, b: Any) -> bool:
    return (
        isinstance(a, torch.Tensor)
        and isinstance(b, torch.Tensor)
        and a.numel() > 0
        and a.layout == b.layout == torch.strided
        and a.data_ptr() == b.data_ptr()
    )


def finite(value: Any) -> bool:
    """No NaN. Infinity is fine where it is all there is beside zeros: an attention mask in a buffer."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return True
    if math.isfinite(float(value.detach().float().sum())):
        return True
    bad = ~torch.isfinite(value)
    if not bad.any():
        return True
    return not torch.isnan(value).any() and not value[~bad].any()


def optimizer_entries(thing: Any, depth: int = 0) -> int:
    """How many parameters have an entry in an optimizer's state inside a loaded object."""
    if not isinstance(thing, Mapping) or depth > 2:
        return 0
    state = thing.get("state")
    if isinstance(thing.get("param_groups"), list) and isinstance(state, Mapping):
        return len(state)
    return next((n for value in thing.values() if (n := optimizer_entries(value, depth + 1))), 0)


def own_state(module: nn.Module) -> Mapping[str, Any]:
    """What its state dict holds, without a call of the user's own code: that may print, count, or raise."""
    if not any(_has_own_way(part) for part in module.modules()):
        return module.state_dict()
    held: dict[str, Any] = {}
    for path, part in module.named_modules(remove_duplicate=False):
        kept = {n: b for n, b in part._buffers.items() if n not in part._non_persistent_buffers_set}
        for name, tensor in (*part._parameters.items(), *kept.items()):
            if tensor is not None:
                held[f"{path}.{name}" if path else name] = tensor
    return held


def _has_own_way(part: nn.Module) -> bool:
    hooks = (*part._state_dict_hooks.values(), *part._state_dict_pre_hooks.values())
    ways = (type(part).state_dict, type(part)._save_to_state_dict, type(part).get_extra_state, *hooks)
    return not all((getattr(way, "__module__", None) or "").partition(".")[0] == "torch" for way in ways)
