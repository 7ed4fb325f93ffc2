"""A run that goes on from a checkpoint: what of the file arrived, looked at before the first step.

Nothing is asked of how the script restores. What counts is the state at the first step: a scheduler that was wound
forward by hand is as good as one that was loaded.
"""

import math
import os
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim.optimizer import Optimizer

from premortem.events import Misplaced, Resumed, Schedule, Setting, Site, StateMisplaced
from premortem.probes.assigned_rates import Assigned
from premortem.probes.checkpoint_contents import (
    AVERAGED,
    SETTINGS,
    Holdings,
    SavedOptimizer,
    holdings_of,
    hyper_parameters,
    saved_optimizer,
    settings_of,
)
from premortem.probes.frame_variables import variables
from premortem.probes.loop_counters import loop_counters, used, user_frames
from premortem.probes.optimizer_construction import number
from premortem.probes.optimizers import Optimizers
from premortem.probes.scalers import Scalers
from premortem.probes.schedulers import Schedulers, horizon
from premortem.probes.session import Session, user_site
from premortem.probes.shadow_weights import bare, holds, kept_weights, unwrapped
from premortem.probes.states import own_state, path_of

_MOST_PAIRS = 8


class Restored:
    """An optimizer that was given a state."""

    def __init__(self, saved: SavedOptimizer, optimizer: Optimizer, at: Site | None) -> None:
        self.saved = saved
        self.at = at
        self.assigned: Assigned | None = None  # once it is loaded
        # The names are asked for now: loading replaces them by those of the file.
        names = [str(n) for group in optimizer.param_groups for n in group.get("param_names", ())]
        self.names = names if len(names) == saved.size else None
        self.built = [hyper_parameters(group) for group in optimizer.param_groups]
        self.loaded: list[
            dict[str, Any]
        ] = []  # the groups after loading, to see what the script assigns again


class Resuming:
    def __init__(
        self, session: Session, optimizers: Optimizers, schedulers: Schedulers, scalers: Scalers
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.schedulers = schedulers
        self.scalers = scalers
        self._trained_since = math.inf  # when this run made its first step
        self.files: list[Holdings] = []  # read, and not stepped on yet
        self._own = False  # the last of them was written by this very run
        self._modules: list[weakref.ref[nn.Module]] = []  # loaded since then
        self.restored: dict[int, Restored] = {}
        self._told: set[int] = set()

    def install(self) -> None:
        session = self.session
        session.around(torch, "load", after=self._read)
        session.around(nn.Module, "load_state_dict", after=self._module_loaded)
        session.around(
            Optimizer, "load_state_dict", before=self._before_optimizer, after=self._optimizer_loaded
        )
        self.optimizers.before_step.append(self._stepping)
        self.schedulers.writing.append(self._scheduler_writes)
        self.schedulers.restored = self.restored

    # -- what is read and loaded ----------------------------------------------------------

    def _read(self, note: Any, result: Any, source: Any = None, *args: Any, **kwargs: Any) -> None:
        path = path_of(source)
        holdings = holdings_of(result, path, user_site())
        if holdings.resumable:
            self._own = bool(path) and os.path.exists(path) and os.path.getmtime(path) >= self._trained_since
            self.files.append(holdings)
            self._told.clear()
            self.restored.clear()
            self._modules.clear()

    def _module_loaded(self, note: Any, result: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        if self.files and not getattr(result, "missing_keys", ()):
            self._modules.append(weakref.ref(module))

    def _before_optimizer(self, optimizer: Optimizer, state: Any = None, *a: Any, **kw: Any) -> Any:
        state = kw.get("state_dict", state)
        saved = saved_optimizer(state) if isinstance(state, Mapping) else None
        return Restored(saved, optimizer, user_site()) if saved is not None else None

    def _optimizer_loaded(self, note: Any, result: Any, optimizer: Optimizer, *args: Any, **kw: Any) -> None:
        if isinstance(note, Restored):
            note.assigned = Assigned(optimizer)
            note.loaded = [{n: group.get(n) for n in SETTINGS} for group in optimizer.param_groups]
            self.restored[self.session.optimizers.of(optimizer)] = note

    def _scheduler_writes(self, done: bool) -> None:
        for restored in self.restored.values():
            if restored.assigned is not None:
                restored.assigned.scheduler_writes(done=done)

    # -- the first step -------------------------------------------------------------------

    def _stepping(self, optimizer: Optimizer, track: Any) -> None:
        if self._trained_since == math.inf:
            self._trained_since = time.time()
        if not self.files and not self.restored:
            return
        key = self.session.optimizers.of(optimizer)
        if key in self._told:
            if len(self._told) >= len(self.optimizers.live()):  # all have stepped: it is a run like any other
                self.files.clear()
                self.restored.clear()
            return
        self._told.add(key)
        restored = self.restored.get(key)
        if restored is not None:
            self._compare_places(key, optimizer, restored)
        if self._own and (restored is None or track.steps):
            return  # it went back, or began anew from its weights: only what is all new goes on from a file of its own
        file = self._resumed_from(restored)
        if file is not None and self._modules:
            self.session.emit(self._resumed(key, optimizer, restored, file))

    def _resumed_from(self, restored: Restored | None) -> Holdings | None:
        """The file that the run goes on from: the last that holds the state of an optimizer."""
        held = [file for file in self.files if file.optimizers] or self.files
        return held[-1] if held else None

    def _resumed(self, key: int, optimizer: Optimizer, restored: Restored | None, file: Holdings) -> Resumed:
        frames = list(user_frames())
        size = sum(len(group["params"]) for group in optimizer.param_groups)
        same_size = [saved for saved in file.optimizers.values() if saved.size == size]
        saved = restored.saved if restored is not None else next(iter(same_size), None)
        scaler = self.scalers.last() if self.scalers.last is not None else None
        averaged, average = self._average(file, frames)
        return Resumed(
            step=self.session.step,
            at=file.at,
            path=file.path,
            optimizer=key,
            kind=type(optimizer).__name__,
            parameters=size,
            restored=restored is not None,
            entries=saved.entries if saved is not None else 0,
            saved_steps=saved.steps if saved is not None else 0,
            saved_settings=file.settings,
            counters=file.counters,
            reached=loop_counters(frames),
            held=tuple(held_counters(file, frames)),
            saved_rates=tuple(g["lr"] for g in saved.groups if "lr" in g) if saved is not None else (),
            rates=tuple(number(group.get("lr")) for group in optimizer.param_groups),
            by_hand=restored is not None and restored.assigned is not None and restored.assigned.by_hand(),
            schedules=tuple(self._schedules(key, file)),
            overwritten=tuple(overwritten(restored, optimizer)) if restored is not None else (),
            saved_scale=file.scale,
            scale=float(scaler.get_scale()) if scaler is not None and scaler.is_enabled() else None,
            averaged=averaged,
            average=average,
        )

    def _schedules(self, optimizer: int, file: Holdings) -> Iterator[Schedule]:
        live = self.schedulers.of_optimizer(optimizer)
        alone = len(live) == len(file.schedulers) == 1
        for scheduler in live:
            saved = next(iter(file.schedulers.values())) if alone else None
            yield Schedule(
                kind=type(scheduler).__name__,
                position=int(getattr(scheduler, "last_epoch", 0) or 0),
                horizon=horizon(scheduler),
                built_horizon=self.schedulers.horizons.get(self.session.schedulers.of(scheduler)),
                saved_position=saved.position if saved is not None else None,
                saved_horizon=saved.horizon if saved is not None else None,
                other_kind=saved is not None and other_kind(saved.names, scheduler),
                rate=max(map(number, getattr(scheduler, "_last_lr", ())), default=None),
            )

    # -- averaged weights -----------------------------------------------------------------

    def _average(self, file: Holdings, frames: list[Any]) -> tuple[str, str]:
        """The entry of averaged weights in the file, and who should hold them but starts from the plain ones."""
        modules = [module for ref in self._modules if (module := ref()) is not None]
        for entry, saved in file.modules.items():
            plain = next((m for n, m in file.modules.items() if n != entry and bare(m) == bare(saved)), None)
            if (
                plain is None
                or not AVERAGED.search(entry)
                or unwrapped(plain.samples) == unwrapped(saved.samples)
            ):
                continue
            kept = list(kept_weights(frames, modules))
            own = [own_state(module) for module in modules]
            if any(holds(tensors, saved.samples) for tensors in (*own, *(held for _, held in kept))):
                continue  # restored; what else starts from the plain weights (a frozen reference) is meant to
            for name, tensors in kept:
                if holds(tensors, plain.samples):
                    return entry, name
        return "", ""

    # -- optimizer state in its place -----------------------------------------------------

    def _compare_places(self, key: int, optimizer: Optimizer, restored: Restored) -> None:
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        if len(parameters) != restored.saved.size or not type(optimizer).__module__.startswith("torch.optim"):
            return
        known_by, pairs = self._misplaced(parameters, restored)
        if pairs:
            self.session.emit(
                StateMisplaced(
                    step=self.session.step,
                    at=restored.at,
                    optimizer=key,
                    kind=type(optimizer).__name__,
                    pairs=tuple(pairs[:_MOST_PAIRS]),
                    total=len(parameters),
                    known_by=known_by,
                )
            )

    def _misplaced(self, parameters: list[Any], restored: Restored) -> tuple[str, list[Misplaced]]:
        saved = restored.saved
        if saved.names is not None and restored.names is not None:
            if sorted(saved.names) != sorted(restored.names):
                return "names", []  # another model, or other names for the same: not a matter of order
            return "names", different(saved.names, restored.names)
        live = self._names(parameters)
        if live is not None and (written := self._order_in_file(saved, live)) is not None:
            return "order", different(written, live)
        shapes = [tuple(p.shape) for p in parameters]
        wrong = [index for index, shape in saved.shapes.items() if shape != shapes[index]]
        names = live or [f"parameter {index}" for index in range(len(parameters))]
        return "shapes", [
            Misplaced(f"a parameter of shape {list(saved.shapes[i])}", f"{names[i]} {list(shapes[i])}")
            for i in wrong
        ]

    def _names(self, parameters: list[Any]) -> list[str] | None:
        """What these parameters are called, when they are those of one loaded model, in its own order."""
        for ref in self._modules:
            module = ref()
            own = list(module.named_parameters()) if module is not None else []
            if [id(p) for _, p in own] == [id(p) for p in parameters]:
                return [name for name, _ in own]
        return None

    def _order_in_file(self, saved: SavedOptimizer, live: list[str]) -> list[str] | None:
        """The parameters in the order of the file's weights, if that is the order its moments were saved in."""
        for file in self.files:
            for module in file.modules.values():
                order = [name for name in module.shapes if name in set(live)]
                fits = len(order) == len(live) and all(
                    module.shapes[order[index]] == shape for index, shape in saved.shapes.items()
                )
                # Names in the order of the alphabet were sorted by whoever wrote the file: that tells nothing.
                if fits and saved.shapes and order != sorted(order):
                    return order
        return None


def different(saved: list[str], now: list[str]) -> list[Misplaced]:
    return [Misplaced(old, new) for old, new in zip(saved, now, strict=True) if old != new]


def overwritten(restored: Restored, optimizer: Optimizer) -> Iterator[Setting]:
    """Values the optimizer was built with that are those of the file now."""
    groups = zip(restored.built, restored.saved.groups, restored.loaded, optimizer.param_groups, strict=False)
    for index, (built, saved, loaded, group) in enumerate(groups):
        now = hyper_parameters(group)
        for name in sorted(built.keys() & saved.keys() & now.keys()):
            untouched = group[name] is loaded.get(name)  # else the script assigned it, if only the same value
            if untouched and built[name] != saved[name] == now[name]:
                yield Setting(name, built[name], saved[name], index)


def other_kind(saved: frozenset[str], scheduler: Any) -> bool:
    """The file's schedule is another one than this, by the names of their settings."""
    own = settings_of(vars(scheduler))
    # A class of the user's own may save but some of its settings.
    whole = type(scheduler).__module__.startswith("torch.optim")
    return saved != own if whole else not saved <= own


def held_counters(file: Holdings, frames: list[Any]) -> Iterator[tuple[str, int, bool]]:
    values = {number + more for _, number in file.counters for more in (0, 1) if number > 1}
    seen: set[str] = set()
    for frame in frames:
        for name, value in {**frame.f_globals, **variables(frame)}.items():
            if type(value) is int and value in values and name not in seen:
                seen.add(name)
                yield name, value, used(frame.f_code.co_filename, name)
