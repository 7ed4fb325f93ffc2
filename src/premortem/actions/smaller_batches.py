"""When memory runs out: the batch in parts, with the gradients of the whole.

    model(x)             out of memory -> tried out: do samples influence each other? does one part fit? -> in 2, 4, 8, ... parts
    loss(output, y)      the user's own; it is given the whole output
    loss.backward()      computes each part again, and needs the memory of one part
                         out of memory -> this step is not made; from the next one on the model runs in more parts
    optimizer.step()     once, as always

No rank has to ask another: what comes out of a split forward is what would have come out of a whole one, and it takes
part in the same number of collective operations. A backward pass that failed on one rank cannot be repaired by that rank alone,
so that there it stays an error.
"""

from __future__ import annotations

import functools
import math
import traceback
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from premortem.actions.batch_parts import Call, Given, Unlike, rehearse, run_in_parts
from premortem.actions.independence import dependence, fixed_chance, obstacle
from premortem.events import BatchSplit, OutOfMemory

if TYPE_CHECKING:
    from premortem.probes import Attachment

_MOST_LOST = 8  # steps that may be given up in a run


class Splitter:
    """Stands by until memory runs out."""

    def __init__(self, attachment: Attachment) -> None:
        self.session = attachment.session
        self.models = attachment.models
        self.memory = attachment.memory
        self.optimizers = attachment.optimizers
        self.guard = attachment.guard
        # (model, with gradients) -> how much input it may be given at once
        self._room: dict[tuple[int, bool], float] = {}
        self._fits: dict[int, float] = {}  # model -> how much was seen to fit, backward pass included
        self._last: dict[int, tuple[int, int]] = {}  # model -> samples and size of what it was given last
        self._trusted: set[tuple[int, bool]] = set()  # (model, training) whose samples are independent
        self._why_not: dict[int, str] = {}
        self._lost = 0

    def install(self) -> None:
        self.memory.rescue_forward = self._in_forward
        self.memory.rescue_backward = self._in_backward
        self.models.on_call.append(self._called)
        if hasattr(DistributedDataParallel, "_run_ddp_forward"):
            self.session.layer(DistributedDataParallel, "_run_ddp_forward", self._wrap_ddp)

    def _called(self, model: Any, grad: bool, tensors: list[torch.Tensor]) -> None:
        if grad and tensors and tensors[0].dim():
            self._last[model.key] = (tensors[0].shape[0], sum(t.numel() for t in tensors))

    # -- the forward pass -----------------------------------------------------------------

    def _in_forward(
        self,
        event: OutOfMemory,
        error: Exception,
        module: nn.Module,
        original: Callable[..., Any],
        args: Any,
        kwargs: Any,
    ) -> tuple[Any, str]:
        if isinstance(module, DistributedDataParallel):  # it was tried where the model inside was called
            return None, self._why_not.get(self._key(module.module), "it runs on several processes")
        return self._rescue(event, error, module, functools.partial(original, module), args, kwargs)

    def _rescue(
        self, event: OutOfMemory, error: Exception, module: nn.Module, run: Call, args: Any, kwargs: Any
    ) -> tuple[Any, str]:
        """The result and "", or nothing and why not."""
        given = Given(args, kwargs)
        why = obstacle(module)
        if not why:
            forget(error)
            why = self._dependence(module, run, given)
        parts = 1
        while not why:
            parts = self._enough(module, run, given, 2 * parts)
            if not parts:
                why = "a single sample does not fit either"
                break
            result, why, fits = self._attempt(run, given, parts)
            if fits:
                self._limit(module, given.size / parts)
                self._emit(event, module, given.samples, parts)
                return result, ""
        self._why_not[self._key(module)] = why
        return None, why

    def _enough(self, module: nn.Module, run: Call, given: Given, parts: int) -> int:
        """So many parts, or more, that there is memory for each, backward included; 0 when there never is."""
        weights: list[torch.Tensor] = [p for p in module.parameters() if p.requires_grad]
        while True:
            parts = min(parts, given.samples)
            size = given.size / parts
            if not torch.is_grad_enabled() or size <= self._fits.get(self._key(module), 0.0):
                return parts
            if self._rehearsed(run, given.cut(0, -(-given.samples // parts)), weights):
                self._fits[self._key(module)] = size
                return parts
            if parts == given.samples:
                return 0
            parts *= 2

    def _rehearsed(self, run: Call, part: Given, weights: list[torch.Tensor]) -> bool:
        """Whether one part fits. Better to learn it here than in the backward pass, where the step is lost."""
        failed: Exception | None = None
        self.session.looking = True
        try:
            with fixed_chance():
                rehearse(run, part, weights)
        except torch.cuda.OutOfMemoryError as error:
            failed = error
        except Exception:  # noqa: BLE001, S110 - it cannot be rehearsed (reentrant checkpoints): the pass itself will tell
            pass
        finally:
            self.session.looking = False
        if failed is not None:
            forget(failed)
        return failed is None

    def _attempt(self, run: Call, given: Given, parts: int) -> tuple[Any, str, bool]:
        try:
            return self._run(run, given, parts), "", True
        except torch.cuda.OutOfMemoryError as error:
            failed = error
        except Unlike as error:
            return None, str(error), False
        forget(failed)
        # It fits alone and not beside the others: in smaller parts, unless there are none.
        return None, "a single sample does not fit either" if parts == given.samples else "", False

    def _run(self, run: Call, given: Given, parts: int) -> Any:
        def within(*args: Any, **kwargs: Any) -> Any:
            depth, self.models.depth = self.models.depth, 1  # also when backward runs it again: no new root
            try:
                return run(*args, **kwargs)
            finally:
                self.models.depth = depth

        return run_in_parts(within, given, parts)

    def _dependence(self, module: nn.Module, run: Call, given: Given) -> str:
        """Why the batch cannot be split; "" when it was tried out that it can."""
        key = (self._key(module), module.training)
        if key in self._trusted:
            return ""
        self.session.looking = True  # what is tried out is no step of the run
        try:
            why, means = dependence(module, run, given)
        finally:
            self.session.looking = False
        if not why and not means:
            self._trusted.add(key)
        return why

    # -- a model that is known not to fit -------------------------------------------------

    def _limit(self, module: nn.Module, size: float) -> None:
        self._room[self._key(module), torch.is_grad_enabled()] = size
        self.models.instead[self._key(module)] = self._instead

    def _instead(self, original: Callable[..., Any], module: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return self._limited(module, functools.partial(original, module), args, kwargs)

    def _limited(self, module: nn.Module, run: Call, args: Any, kwargs: Any) -> Any:
        """In as many parts as are needed from the start, instead of failing first."""
        given = Given(args, kwargs)
        room = self._room.get((self._key(module), torch.is_grad_enabled()), math.inf)
        parts = min(given.samples, math.ceil(given.size / room))
        if parts < 2:
            return run(*args, **kwargs)
        why = obstacle(module) or self._dependence(module, run, given)
        parts = 0 if why else self._enough(module, run, given, parts)
        if not parts:
            self._why_not[self._key(module)] = why or "a single sample does not fit either"
            return run(*args, **kwargs)
        self._limit(module, min(room, given.size / parts))
        return self._run(run, given, parts)

    def _wrap_ddp(self, original: Any) -> Any:
        """The model inside is what is split: around it, processes exchange as much as ever."""

        def run_forward(ddp: Any, *args: Any, **kwargs: Any) -> Any:
            run = functools.partial(original, ddp)
            try:
                return self._limited(ddp.module, run, args, kwargs) if self._room else run(*args, **kwargs)
            except torch.cuda.OutOfMemoryError as error:
                failed = error
            event = self.memory.describe("forward", failed)
            result, why = self._rescue(event, failed, ddp.module, run, args, kwargs)
            if why:
                raise failed
            return result

        return run_forward

    # -- the backward pass ----------------------------------------------------------------

    def _in_backward(self, event: OutOfMemory, error: Exception) -> str:
        """Gives the step up, so that the next one can be made in parts; else why it cannot be."""
        if self.optimizers.inside is not None:
            return "it happened inside the optimizer's step"
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return "it happened in the backward pass of one of several processes, which the others cannot learn of"
        if self._lost >= _MOST_LOST:
            return f"{_MOST_LOST} steps were given up already"
        chosen, why = self._divisible()
        if not chosen:
            return why or "no model of this step is known"
        forget(error)
        for module, samples, size in chosen:
            parts = 2 * max(1, math.ceil(size / self._room.get((self._key(module), True), math.inf)))
            self._limit(module, size / parts)
            self._emit(event, module, samples, min(samples, parts), lost=True)
        self._lost += 1
        self._give_up([module for module, _, _ in chosen])
        return ""

    def _divisible(self) -> tuple[list[tuple[nn.Module, int, int]], str]:
        """The models of this step that can be given smaller parts, or why there is none."""
        chosen, why = [], ""
        for key in self.models.in_training:
            module = self.models.known[key].module()
            if module is None or key not in self._last:
                continue
            samples, size = self._last[key]
            why = self._why_not.get(key, "") or obstacle(module)
            if not why and size / samples >= self._room.get((key, True), math.inf):
                why = "a single sample does not fit either"
            if not why:
                chosen.append((module, samples, size))
        return chosen, why

    def _give_up(self, modules: list[nn.Module]) -> None:
        """Some gradients have come and some have not: none of them may be used."""
        mine = {id(p) for module in modules for p in module.parameters()}
        for track in self.optimizers.live():
            optimizer = track.optimizer()
            held = [p for group in optimizer.param_groups for p in group["params"]] if optimizer else []
            if not any(id(p) in mine for p in held):
                continue
            self.guard.doomed.add(track.key)
            graded = [p.grad for p in held if p.grad is not None]
            if not graded:  # a gradient scaler wants to see at least one
                smallest = min((p for p in held if p.requires_grad), key=lambda p: p.numel())
                smallest.grad = torch.zeros_like(smallest)
            for grad in graded:
                grad.zero_()

    def _key(self, module: nn.Module) -> int:
        return self.session.modules.of(module)

    def _emit(
        self, event: OutOfMemory, module: nn.Module, samples: int, parts: int, *, lost: bool = False
    ) -> None:
        known = self.models.known.get(self._key(module))
        with self.session.looking_at("split"):
            self.session.emit(
                BatchSplit(
                    step=self.session.step,
                    at=event.at,
                    model=self._key(module),
                    name=known.name if known is not None else type(module).__name__,
                    phase=event.phase,
                    samples=samples,
                    parts=parts,
                    requested=event.requested,
                    lost=lost,
                )
            )


def forget(error: BaseException) -> None:
    """Let go of what the failed pass has made: the frames of its traceback hold it, and frames of ours between them, which no
    traceback shows, hold what each layer was given."""
    for frame, _line in traceback.walk_tb(error.__traceback__):
        ended: types.FrameType | None = frame
        while ended is not None:
            try:
                ended.clear()
            except RuntimeError:  # it is running, and so are its callers
                break
            ended = ended.f_back
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
