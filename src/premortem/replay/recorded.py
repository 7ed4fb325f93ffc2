"""What the recorded step was given, handed out again in the same order."""

from __future__ import annotations

import sys
import types
from collections.abc import Mapping
from typing import Any

import torch

from premortem.changes.batches import keep_rows, rows
from premortem.events import Samples
from premortem.probes.frame_variables import variables
from premortem.probes.sample_numbers import Batch, Recalled
from premortem.probes.session import is_user_code, tensors_in
from premortem.replay.batch_format import unpack
from premortem.replay.capsule import Capsule

_PATIENCE = 8  # batches beyond the recorded ones, before a loop that never steps is ended


class Recorded:
    def __init__(self, capsule: Capsule, rank: int) -> None:
        self.capsule = capsule
        self.rank = rank
        self.draws = capsule.manifest["draws"]
        self.calls = capsule.manifest["calls"] if not self.draws else []
        self.targets = capsule.manifest["targets"] if not self.draws else 0
        self.loaders = {draw["loader"] for draw in self.draws}
        self.template: Any = None  # a batch of the script's own
        self._chosen: list[int] | None = None
        self._drawn: dict[int, int] = {}
        self._called: dict[tuple[int, bool], int] = {}
        self._compared = 0
        self._undo: list[
            tuple[torch.Tensor, torch.Tensor]
        ] = []  # the script's own data that was written over
        self._sizes = self._count()
        self.current = 0  # the batch that was handed out last

    def begin(self) -> None:
        """A new trial: a new turn of the user's loop."""
        self._drawn.clear()
        self.begin_window()

    def begin_window(self) -> None:
        """After any optimizer's step: the batches go on, inputs and targets start again."""
        self._called.clear()
        self._compared = 0
        for tensor, values in reversed(self._undo):
            tensor.copy_(values)
        self._undo.clear()

    @property
    def untouched(self) -> bool:
        return not self._called

    # -- samples --------------------------------------------------------------------------

    def _count(self) -> list[int]:
        """How many samples each batch has; without a loader, the inputs are one batch."""
        if self.draws:
            return [rows(unpack(draw["batch"], self.capsule.step)) for draw in self.draws]
        sizes = {
            self.capsule.step[f"call/{i}/0"].shape[0]
            for i, call in enumerate(self.calls)
            if call["grad"] and call["tensors"] and self.capsule.step[f"call/{i}/0"].dim()
        }
        return [sizes.pop()] if len(sizes) == 1 else []

    def choose(self, samples: list[int] | None) -> None:
        """Only these from now on, counted over all batches of the step; None: all of them."""
        self._chosen = samples

    @property
    def samples(self) -> int:
        return sum(self._sizes)

    @property
    def size(self) -> int:
        """Of the batch that was handed out last."""
        return self._sizes[self.current] if self.current < len(self._sizes) else 0

    @property
    def before(self) -> int:
        """Samples in the batches of the step before that one."""
        return sum(self._sizes[: self.current])

    @property
    def numbers(self) -> Batch | None:
        """Of its samples, in their dataset."""
        found = self.draws[self.current].get("samples") if self.draws else None
        if not found:
            return None
        return Recalled(Samples(found["dataset"], found["length"], tuple(found["indices"])))

    def _of(self, index: int) -> tuple[int, list[int] | None]:
        """Which batch to hand out in the place of this one, and which of its samples."""
        if self._chosen is None:
            return index, None
        starts = [sum(self._sizes[:i]) for i in range(len(self._sizes))]
        kept = [
            [i - start for i in self._chosen if start <= i < start + size]
            for start, size in zip(starts, self._sizes, strict=True)
        ]
        if not kept[index]:  # nothing is left of it: another one stands in
            index = next(i for i, own in enumerate(kept) if own)
        return index, kept[index]

    # -- handing out ----------------------------------------------------------------------

    def batch(self, loader: int) -> tuple[Any, dict[str, Any] | None]:
        """The next batch of this loader, and the random states at that moment."""
        mine = [i for i, draw in enumerate(self.draws) if draw["loader"] == loader]
        number = self._drawn[loader] = self._drawn.get(loader, -1) + 1
        if number >= 4 * len(mine) + _PATIENCE:
            raise StopIteration
        place = mine[number % len(mine)]
        index, chosen = self._of(place)
        self.current = index
        batch = unpack(self.draws[index]["batch"], self.capsule.step, self.template)
        if chosen is not None:
            batch = keep_rows(batch, self._sizes[index], chosen)
        return batch, self.draws[place]["random"]

    def equals(self, own: Any, batch: Any) -> bool:
        """Whether the script has made the recorded batch by itself."""
        mine, theirs = tensors_in(own), tensors_in(batch)
        return len(mine) == len(theirs) > 0 and all(same(*pair) for pair in zip(mine, theirs, strict=True))

    def inputs(self, model: int | None, grad: bool, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """The arguments of a root module, with the recorded tensors in the place of the script's."""
        place = (-1 if model is None else model, grad)
        number = self._called[place] = self._called.get(place, -1) + 1
        same = [i for i, call in enumerate(self.calls) if (call["model"], call["grad"]) == place]
        given: list[torch.Tensor] = []
        if number < len(same):
            call = same[number]
            given = [self.capsule.step[f"call/{call}/{j}"] for j in range(self.calls[call]["tensors"])]
        queue = [self._few(tensor) for tensor in given]
        if queue and self._chosen is not None:
            self._companions()

        def replaced(tensor: torch.Tensor) -> torch.Tensor:
            if queue and not tensor.requires_grad:
                tensor = self._instead(tensor, queue.pop(0))
            return tensor

        changed: tuple[Any, Any] = mapped((args, kwargs), replaced)
        return changed

    def _instead(self, tensor: torch.Tensor, saved: torch.Tensor) -> torch.Tensor:
        """Written into the script's own tensor where that fits: it may use it outside of the model as well."""
        if same(tensor, saved):
            return tensor  # with its history: a microscope may know who made it
        if tensor.shape != saved.shape or tensor.dtype != saved.dtype or tensor.is_inference():
            return saved.to(tensor.device, copy=True)
        if not any(
            written is tensor for written, _ in self._undo
        ):  # else given to several models, which hold it now
            self._write(tensor, saved)
        return tensor

    def _write(self, tensor: torch.Tensor, values: torch.Tensor) -> None:
        self._undo.append((tensor, tensor.detach().clone()))
        with torch.no_grad():
            tensor.copy_(values)

    def _companions(self) -> None:
        """Without a loader it is not known what belongs to the batch; variables with as many rows do."""
        done = {tensor.data_ptr() for tensor, _ in self._undo}
        for tensor in variables_with(self._sizes[0]) if len(self._sizes) == 1 else ():
            if tensor.data_ptr() not in done:
                done.add(tensor.data_ptr())
                self._write(tensor, self._few(tensor).clone())

    def target(self, target: torch.Tensor) -> torch.Tensor:
        number, self._compared = self._compared, self._compared + 1
        if number < self.targets:
            saved = self.capsule.step[f"target/{number}"]
            if not target.requires_grad and saved.numel() and not same(target, self._few(saved)):
                target = self._few(saved).to(target.device, copy=True)
        return target

    def _few(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._chosen is None or len(self._sizes) != 1:
            return tensor
        kept = keep_rows(tensor, self._sizes[0], self._chosen)
        assert isinstance(kept, torch.Tensor)  # noqa: S101 - a tensor's rows are a tensor
        return kept


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """To the last bit."""
    if one.shape != other.shape or one.dtype != other.dtype or one.layout != other.layout:
        return False
    flat = [t.detach().cpu().contiguous().reshape(-1).view(torch.uint8) for t in (one, other)]
    return torch.equal(*flat)


def variables_with(rows: int) -> list[torch.Tensor]:
    """Tensors without a graph and with so many rows, among the variables of the user's functions that are running."""
    found: list[torch.Tensor] = []
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - there is no public way to a caller's variables
    while frame is not None:
        if is_user_code(frame.f_code.co_filename):
            found += [
                value
                for value in variables(frame).values()
                if type(value) is torch.Tensor
                and value.dim()
                and value.shape[0] == rows
                and not value.requires_grad
                and not value.is_inference()
            ]
        frame = frame.f_back
    return found


def mapped(thing: Any, change: Any) -> Any:
    """Nested arguments with each tensor changed, in the order in which the recorder saw them."""
    if isinstance(thing, torch.Tensor):
        return change(thing)
    if isinstance(thing, tuple) and hasattr(thing, "_fields"):
        return type(thing)(*(mapped(item, change) for item in thing))
    if isinstance(thing, (list, tuple)):
        return type(thing)(mapped(item, change) for item in thing)
    if type(thing) is dict:
        return {key: mapped(item, change) for key, item in thing.items()}
    if isinstance(thing, Mapping):
        for key, item in thing.items():
            thing[key] = mapped(item, change)  # type: ignore[index]
    return thing
