"""State dicts and checkpoint files: what was loaded, what of it fitted, what was saved."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.events import CheckpointSaved, FileLoaded, StateLoaded
from premortem.probes.session import Session, user_name, user_site

_PREFIXES = ("module.", "_orig_mod.", "model.", "net.", "network.", "backbone.", "encoder.", "state_dict.")


class States:
    def __init__(self, session: Session) -> None:
        self.session = session
        self.loaded: set[int] = set()  # parameter keys that came from a state dict
        self.files = 0  # files read so far: weights may have come from them by hand
        self._taken: dict[int, tuple[Any, int]] = {}  # state dict -> step at which it was taken
        self._inside = False

    def install(self) -> None:
        session = self.session
        session.around(nn.Module, "state_dict", after=self._state_taken)
        session.patch(nn.Module, "load_state_dict", self._wrap_load)
        session.around(Optimizer, "load_state_dict", after=self._optimizer_loaded)
        session.around(torch, "load", after=self._file_loaded)
        session.around(torch, "save", after=self._saved)

    # -- state dicts ----------------------------------------------------------------------

    def _state_taken(self, note: Any, result: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        # Only the outermost dict reaches the user; inner calls pass a destination.
        if not args and "destination" not in kwargs and isinstance(result, dict):
            try:
                self._taken[id(result)] = (weakref.ref(result), self.session.step)
            except TypeError:  # a plain dict cannot be referenced weakly
                return

    def _taken_at(self, state: Any) -> int | None:
        known = self._taken.get(id(state))
        return known[1] if known is not None and known[0]() is state else None

    def _wrap_load(self, original: Any) -> Any:
        def load_state_dict(module: nn.Module, state_dict: Any, strict: bool = True, *args: Any, **kw: Any) -> Any:
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

        load_state_dict.__doc__ = original.__doc__
        return load_state_dict

    def _compare(self, module: nn.Module, state: Mapping[str, Any], strict: bool) -> StateLoaded:
        own = module.state_dict()
        given = [name for name in state if isinstance(name, str)]
        fits = [n for n in given if n in own and shape(state[n]) == shape(own[n])]
        missing = tuple(name for name in own if name not in state)
        unexpected = tuple(name for name in given if name not in own)
        prefix, would = best_prefix(own, unexpected)
        aliased = [n for n in fits if same_memory(state[n], own[n])]
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
            taken_at=self._taken_at(state),
            nonfinite=tuple(n for n in fits if not finite(state[n]))[:8],
        )

    def _mark(self, module: nn.Module, state: Mapping[str, Any]) -> None:
        for name, parameter in module.named_parameters():
            if name in state:
                self.loaded.add(self.session.parameters.of(parameter))

    def _optimizer_loaded(self, note: Any, result: Any, optimizer: Optimizer, state: Any, *args: Any) -> None:
        entries = len(state.get("state", {})) if isinstance(state, dict) else 0
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
            )
        )

    # -- files ----------------------------------------------------------------------------

    def _file_loaded(self, note: Any, result: Any, source: Any = None, *args: Any, **kwargs: Any) -> None:
        self.files += 1
        keys = tuple(str(key) for key in result)[:64] if isinstance(result, Mapping) else ()
        groups, entries = optimizer_state_in(result)
        self.session.emit(
            FileLoaded(
                step=self.session.step,
                at=user_site(),
                path=path_of(source),
                keys=keys,
                optimizer_lrs=groups,
                optimizer_entries=entries,
            )
        )

    def _saved(self, note: Any, result: Any, thing: Any, target: Any = None, *args: Any, **kwargs: Any) -> None:
        path = path_of(target)
        size = os.path.getsize(path) if path and os.path.exists(path) else None
        self.session.emit(CheckpointSaved(step=self.session.step, at=user_site(), path=path, bytes=size))


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
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return True
    return math.isfinite(float(value.detach().float().sum())) or bool(torch.isfinite(value).all())


def best_prefix(own: Mapping[str, Any], unexpected: tuple[str, ...]) -> tuple[str, int]:
    """The prefix that, dropped from (or put before) the unexpected keys, makes most of them fit."""
    best, most = "", 0
    heads = {name.split(".")[0] + "." for name in unexpected} | set(_PREFIXES)
    for head in heads:
        dropped = sum(1 for name in unexpected if name.startswith(head) and name[len(head) :] in own)
        if dropped > most:
            best, most = f"-{head}", dropped
        added = sum(1 for name in unexpected if head + name in own)
        if added > most:
            best, most = f"+{head}", added
    for head in {name.split(".")[0] + "." for name in own}:
        added = sum(1 for name in unexpected if head + name in own)
        if added > most:
            best, most = f"+{head}", added
    return best, most


def optimizer_state_in(thing: Any, depth: int = 0) -> tuple[tuple[float, ...], int]:
    """Learning rates and number of entries of an optimizer's state inside a loaded object."""
    if not isinstance(thing, Mapping) or depth > 2:
        return (), 0
    groups, state = thing.get("param_groups"), thing.get("state")
    if isinstance(groups, list) and isinstance(state, Mapping):
        rates = tuple(float(g["lr"]) for g in groups if isinstance(g, Mapping) and isinstance(g.get("lr"), float))
        return rates, len(state)
    for value in thing.values():
        found = optimizer_state_in(value, depth + 1)
        if found[1]:
            return found
    return (), 0
