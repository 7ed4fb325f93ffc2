"""Weights that were trained in this run, and that `load_state_dict` replaces by those of a file from before it."""

from __future__ import annotations

import ast
import os
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.parameter import UninitializedParameter
from torch.optim.optimizer import Optimizer

from premortem.events import Site, WeightsReplaced
from premortem.files.syntax import last_name
from premortem.probes.files_read import FileReading
from premortem.probes.frame_variables import variables
from premortem.probes.gradient_track import Track
from premortem.probes.loop_counters import user_frames
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, sampled, user_name, user_site, version
from premortem.probes.source import tree_of
from premortem.probes.states import States, path_of, shape, tensors_in_states, written

_CLOCKS = 0.05  # seconds: what the start of a process is known to. What this run saves is known by its name, however coarse the times of files are
_MOST_TRAINERS = 64  # optimizers that are remembered one by one
_MOST_COMPARED = 16  # parameters
_MOST_FRAMES = 12
_HALF = 0.5  # of the weights that are loaded: else it is a part of another model
_CLOSE, _HALF_CLOSE = 1e-6, 2e-3  # relative: the same weights, and the same stored in 16 bits
_HUBS = (f"{os.sep}.cache{os.sep}", f"{os.sep}hub{os.sep}")  # what is downloaded is where a training begins
_WRITES = ("save", "dump", "write", "store")
_MOVES = ("replace", "rename", "move", "copy", "copyfile", "copy2")  # to their last argument


class _File(NamedTuple):
    path: str
    written: float
    old: bool  # it is from before this run


class _Trainer(NamedTuple):
    """An optimizer, which may be gone, and the keys of what it holds."""

    track: Track
    held: set[int]


class _Load(NamedTuple):
    event: WeightsReplaced
    weights: list[tuple[weakref.ref[torch.Tensor], int]]  # and their versions right after it


class ReplacedWeights:
    def __init__(
        self, session: Session, optimizers: Optimizers, states: States, reading: FileReading
    ) -> None:
        self.session = session
        self.optimizers = optimizers
        self.states = states
        self.reading = reading
        self._began = began()
        self._saved: set[str] = set()  # files that this run wrote, whatever their time says
        self._read: dict[int, tuple[weakref.ref[torch.Tensor], _File]] = {}  # tensors of files, by id()
        self._trainers: list[_Trainer] = []
        self._trained: set[int] = set()  # what those held that are forgotten
        self._given: set[int] = (
            set()
        )  # parameters that began with, or went on from, weights of an earlier run
        self._resumed = False  # so did an optimizer
        self._loads: list[_Load] = []

    def install(self) -> None:
        session = self.session
        session.around(torch, "load", after=self._file_read)
        session.around(torch, "save", after=self._file_saved)
        session.around(nn.Module, "load_state_dict", before=self._loading, after=self._loaded)
        session.around(Optimizer, "load_state_dict", after=self._optimizer_loaded)
        self.optimizers.met.append(self._met)

    # -- files ----------------------------------------------------------------------------

    def _file_saved(
        self, note: Any, result: Any, thing: Any, target: Any = None, *args: Any, **kw: Any
    ) -> None:
        if path := named(target):
            self._saved.add(os.path.realpath(path))

    def _file_read(self, note: Any, result: Any, source: Any = None, *args: Any, **kw: Any) -> None:
        tensors = tensors_in_states(result)
        path = named(source) if tensors else ""
        moment = written(path)
        if moment is None:
            return
        real = os.path.realpath(path)
        file = _File(real, moment, moment < self._began - _CLOCKS and real not in self._saved)
        self._read = {key: known for key, known in self._read.items() if known[0]() is not None}
        for tensor in tensors:
            self._read[id(tensor)] = (weakref.ref(tensor), file)

    def _file_of(self, tensors: Iterable[Any]) -> _File | None:
        """The one file that all of them were read from."""
        known = [(self._read.get(id(tensor)), tensor) for tensor in tensors]
        files = {found[1] if found is not None and found[0]() is tensor else None for found, tensor in known}
        return files.pop() if len(files) == 1 else None

    # -- what is trained ------------------------------------------------------------------

    def _met(self, optimizer: Optimizer) -> None:
        track = self.optimizers.tracks[self.session.optimizers.of(optimizer)]
        self._trainers.append(_Trainer(track, self._held(optimizer)))
        if len(self._trainers) > _MOST_TRAINERS:
            first = self._trainers.pop(0)
            self._trained |= first.held if first.track.steps else set()

    def _held(self, optimizer: Optimizer) -> set[int]:
        keys = self.session.parameters
        every = (p for group in optimizer.param_groups for p in group["params"])
        return {keys.of(p) for p in every if isinstance(p, torch.Tensor)}

    def _in_training(self) -> set[int]:
        """The keys of all parameters that a step was made on."""
        found = set(self._trained)
        for trainer in self._trainers:
            if trainer.track.steps:
                living = trainer.track.optimizer()
                if living is not None:  # groups may have been added
                    trainer.held.update(self._held(living))
                found |= trainer.held
        return found

    # -- loading --------------------------------------------------------------------------

    def _optimizer_loaded(self, note: Any, result: Any, *args: Any, **kwargs: Any) -> None:
        self._resumed = self._resumed or not self.session.step

    def _loading(self, module: nn.Module, state: Any = None, *args: Any, **kwargs: Any) -> Any:
        state = kwargs.get("state_dict", state)
        if not isinstance(state, Mapping):
            return None
        own = {
            n: p
            for n, p in module.named_parameters()
            if n in state and not isinstance(p, UninitializedParameter) and shape(p) == shape(state[n])
        }
        if not own:
            return None
        keys = {name: self.session.parameters.of(p) for name, p in own.items()}
        file = self._file_of(state[name] for name in own)
        training = self._in_training() if self.session.step else set()
        trained = {name: p for name, p in own.items() if keys[name] in training and p.requires_grad}
        if size(trained.values()) < _HALF * size(own.values()):
            # From here on it is the training of an earlier run that goes on. What was downloaded is none, and what is copied
            # between two models of this run does no harm here.
            if file is None or (file.old and not any(hub in file.path for hub in _HUBS)):
                self._given.update(keys.values())
            return None
        if file is None or not file.old or self._resumed or began_from_files(module):
            return None
        given = {name: p for name, p in trained.items() if keys[name] in self._given}
        self._given.update(keys.values())
        if size(given.values()) >= _HALF * size(trained.values()) or same(trained, state):
            return None
        return file, tuple(keys[name] for name in trained)

    def _loaded(self, note: Any, result: Any, module: nn.Module, *args: Any, **kwargs: Any) -> None:
        if note is None:
            return
        file, keys = note
        session = self.session
        event = WeightsReplaced(
            step=session.step,
            at=user_site(),
            model=session.modules.of(module),
            name=user_name(module) or type(module).__name__,
            path=file.path,
            written=file.written,
            parameters=keys[:64],
            saved_by=self._line_that_saves(file.path),
            called=bool(session.rest.calls),
            kept=bool(self._saved or self.states.asked_after_training()),
        )
        self._loads.append(_Load(event, [(weakref.ref(p), version(p)) for p in module.parameters()]))
        session.rest.wake()  # the detectors must hear what it is used for, and no step need follow

    def tell(self) -> None:
        """At the end: what is still as it was loaded."""
        loads, self._loads = self._loads, []
        for event, weights in loads:
            here = [(p, then) for ref, then in weights if (p := ref()) is not None]
            untouched = len(here) == len(weights) and all(version(p) == then for p, then in here)
            if untouched or event.step == self.session.step:
                self.session.emit(event)

    # -- the line that would have written it ----------------------------------------------

    def _line_that_saves(self, path: str) -> Site | None:
        frames = [frame for frame, _ in zip(user_frames(), range(_MOST_FRAMES), strict=False)]
        names = set(names_of(path, frames))
        files = {frame.f_code.co_filename: None for frame in frames}
        files |= {file: None for file, text in self.reading.sources().items() if b"save" in text}
        return next((site for file in files for site in lines_that_save(file, path, names)), None)


def names_of(path: str, frames: list[FrameType]) -> Iterator[str]:
    """What the script calls this file: variables and attributes that hold its path."""
    for frame in frames:
        for name, value in {**frame.f_globals, **variables(frame)}.items():
            if leads_to(value, path):
                yield name
            elif name in {"self", "args", "cfg", "config", "opt"}:
                inner = getattr(value, "__dict__", {})
                yield from (f"{name}.{key}" for key, held in inner.items() if leads_to(held, path))


def leads_to(value: Any, path: str) -> bool:
    if not isinstance(value, (str, Path)) or len(str(value)) > 4096:
        return False
    # No look at the disk for every text that the script holds.
    return os.path.basename(value) == os.path.basename(path) and os.path.realpath(value) == path


def lines_that_save(file: str, path: str, names: set[str]) -> Iterator[Site]:
    """Calls of something that saves, with this file among the arguments: by its name, or by a variable that holds its path."""
    base = os.path.basename(path)
    for owner, call in calls_in(tree_of(file), None):
        name = last_name(call).lower()
        if name in _MOVES:
            given = call.args[-1:]
        elif any(word in name for word in _WRITES):
            given = [*call.args, *(keyword.value for keyword in call.keywords)]
        else:
            continue
        own = parameters_of(owner) if owner is not None and is_helper(owner) else set()
        for each in given:
            if isinstance(each, ast.Dict):  # what is saved
                continue
            text = ast.unparse(each) if isinstance(each, (ast.Name, ast.Attribute)) else ""
            spelt = (
                node.value
                for node in ast.walk(each)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
            if (text in names and text not in own) or any(os.path.basename(value) == base for value in spelt):
                yield Site(file, call.lineno)


Owner = ast.FunctionDef | ast.AsyncFunctionDef


def calls_in(node: ast.AST, owner: Owner | None) -> Iterator[tuple[Owner | None, ast.Call]]:
    """Every call, and the function that it stands in."""
    if isinstance(node, ast.Call):
        yield owner, node
    inner = node if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else owner
    for child in ast.iter_child_nodes(node):
        yield from calls_in(child, inner)


def is_helper(function: Owner) -> bool:
    """It saves what it is given, where its caller wants it: `def save_checkpoint(state, path)`."""
    return any(word in function.name.lower() for word in _WRITES)


def parameters_of(function: Owner) -> set[str]:
    every = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return {each.arg for each in every}


def named(thing: Any) -> str:
    """The path of a file, also of one that is open."""
    name = path_of(thing) or getattr(thing, "name", "")
    return name if isinstance(name, str) else ""


def size(parameters: Iterable[torch.Tensor]) -> int:
    return sum(p.numel() for p in parameters)


def same(trained: Mapping[str, torch.Tensor], state: Mapping[str, Any]) -> bool:
    """The file holds the weights that are there already."""
    for name, parameter in list(trained.items())[:: max(1, len(trained) // _MOST_COMPARED)]:
        close = _HALF_CLOSE if min(parameter.element_size(), state[name].element_size()) <= 2 else _CLOSE
        pairs = zip(sampled(parameter, 64), sampled(state[name], 64), strict=True)
        if any(abs(now - then) > close * max(abs(now), abs(then), 1e-3) for now, then in pairs):
            return False
    return True


def began_from_files(module: nn.Module) -> bool:
    """Built by `from_pretrained` of a folder: it goes on from an earlier run, and no `load_state_dict` shows it."""
    name = getattr(getattr(module, "config", None), "_name_or_path", "")
    return isinstance(name, str) and os.path.isdir(name)


def began() -> float:
    """When this process was started; now, where that cannot be known."""
    now = time.time()
    try:
        ticks = int(Path("/proc/self/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19])
        up = float(Path("/proc/uptime").read_text(encoding="ascii").split()[0])
        return min(now, now - up + ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, ValueError, IndexError):
        return now
