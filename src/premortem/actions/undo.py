"""What an optimizer's step may change, as it was before: to put back, bit for bit."""

import weakref
from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any

import torch

from premortem.actions.launch_graphs import Repeated
from premortem.tensors.finite import UNSCALED, non_finite, non_finite_sum
from premortem.tensors.sharding import is_shard, local

_VERSION = attrgetter("_version")
_POINTER = torch.Tensor.data_ptr
_SPARE = 1.5  # room that must be left beside a copy, in copies
# Bytes that a device copies in less time than it takes the host to leave that to another stream.
_SMALL = 32 << 20

Kept = tuple[torch.Tensor, torch.Tensor]
Lists = tuple[list[torch.Tensor], list[torch.Tensor]]
Gained = tuple[list[torch.Tensor], Any]  # counters on the host, and what a step has added to them or to each


class Before:
    """Weights and state of an optimizer, where whether to undo is decided on the host."""

    def __init__(self, optimizer: torch.optim.Optimizer) -> None:
        self.optimizer = optimizer
        self._weights = [(p, p.detach().clone()) for group in optimizer.param_groups for p in group["params"]]
        self._known = {parameter: dict(state) for parameter, state in optimizer.state.items()}
        self._state = [pair for state in self._known.values() for pair in tensors(state)]
        self._lists = [
            (state, name, list(value))
            for state in self._known.values()
            for name, value in state.items()
            if isinstance(value, list)
        ]

    def broken(self) -> bool:
        """Whether the step has made something that is not finite."""
        with torch.no_grad():
            return not (all(bool(torch.isfinite(p).all()) for p, _ in self._weights) and self._sound())

    def _sound(self) -> bool:
        """A moment that overflowed to infinity makes updates of 0 for ever: no better than NaN."""
        state = [t for t, _ in [*self._state, *self._born()] if t.is_floating_point() and t.numel()]
        return all(bool(torch.isfinite(t).all()) for t in state)

    def _born(self) -> list[Kept]:
        fresh = [state for p, state in self.optimizer.state.items() if p not in self._known]
        return [pair for state in fresh for pair in tensors(state, copies=False)]

    @torch.no_grad()
    def put_back(self) -> None:
        for tensor, old in [*self._weights, *self._state]:
            tensor.copy_(old)
        for parameter in [p for p in self.optimizer.state if p not in self._known]:
            del self.optimizer.state[parameter]
        for parameter, state in self._known.items():
            self.optimizer.state[parameter] = state
        for state, name, items in self._lists:
            state[name] = items


class Shadow:
    """Weights and state of an optimizer whose steps are decided on a device, without waiting.

    One copy is kept, overwritten before each step; afterwards it is copied back by a kernel that looks at the flag
    itself and, on a sound step, ends before it has read anything. A small copy is made right before the step, by one
    launch. Making a large one is left to a stream of its own while the last backward pass before the step runs: that pass
    changes neither weights nor state."""

    def __init__(self, optimizer: torch.optim.Optimizer, sure: bool) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._sure = sure  # its updates are finite whenever the gradients are
        self._size = (0, 0)  # parameters, and those that have state
        self._places = (0, 0)
        self._pieces = False
        self._live: list[torch.Tensor] = []
        self.gained: list[Gained] = []  # by every step, of counters on the host, where that is known
        self._steps: list[torch.Tensor] = []  # those counters,
        self._counters: list[torch.Tensor] = []  # and numbers there of which that is not known
        self._counted: list[torch.Tensor] = []
        self._flag = torch.empty(())
        self._copy: Callable[[], None] = nothing
        self._put_back: Callable[[], None] = nothing
        self._roomy = True
        self.large = False
        self._passes = self._usual = 0  # backward passes since the last step, and before it
        self._aside: torch.cuda.Stream | None = None
        self._copying = False
        self._ahead: int | None = None  # the copy is of what had this version

    def backward_starts(self) -> None:
        self._passes += 1
        optimizer = self._optimizer()
        if not self.large or self._passes != self._usual or not self._roomy:
            return
        if optimizer is None or self._outgrown(optimizer):
            return
        device = self._live[0].device
        if self._aside is None:
            self._aside = torch.cuda.Stream(device)
        self._ahead = self._version()
        self._aside.wait_stream(torch.cuda.current_stream(device))
        self._copying = True
        with torch.cuda.stream(self._aside):
            self._copy()

    def backward_ended(self) -> None:
        """What comes now may write the weights: not before they are copied."""
        if self._copying and self._aside is not None:
            self._copying = False
            torch.cuda.current_stream(self._live[0].device).wait_stream(self._aside)

    def remember(self) -> bool:
        """Before a step. False when there is no room for a copy."""
        optimizer = self._optimizer()
        if optimizer is None or not self._roomy:
            return False
        self.backward_ended()  # else a hook in the middle of one makes this step
        ahead, self._ahead = self._ahead, None
        self._usual, self._passes = self._passes, 0
        if self._outgrown(optimizer):
            if not self._grow(optimizer):
                return False
            ahead = None
        if ahead is None or ahead != self._version():
            self._copy()
        self._counted = list(torch._foreach_add(self._counters, 0)) if self._counters else []
        return True

    def copies(self, optimizer: torch.optim.Optimizer) -> bool:
        """`remember`, where that is one launch; False, and nothing was done, where it is more."""
        copy = self._copy
        if (
            self.large
            or self._counters
            or not isinstance(copy, Repeated)
            or not isinstance(self._put_back, Repeated)
        ):
            return False
        if copy.graph is None or self._put_back.graph is None or self._outgrown(optimizer):
            return False
        copy.graph.replay()
        return True

    def puts_back(self, optimizer: torch.optim.Optimizer, flag: torch.Tensor) -> bool:
        """`undo_where`, after `copies`: two launches, and `gained` is what counters on the host have gained. False, and
        nothing was done, if this step has made new state."""
        put_back = self._put_back
        if (
            not isinstance(put_back, Repeated)
            or put_back.graph is None
            or self._size[1] != len(optimizer.state)
        ):
            return False
        self._flag.copy_(flag)
        put_back.graph.replay()
        return True

    def undo_where(self, flag: torch.Tensor) -> list[Gained]:
        """After it: put back what the device has, if the flag is not 0 or a new weight is not finite. Counters on
        the host are given back, with what they gained, for the time when the answer has arrived."""
        optimizer = self._optimizer()
        if optimizer is None:
            return []
        self._flag.copy_(flag)
        self._put_back()
        gained = list(self.gained)
        if self._counters:
            gained.append((self._counters, list(torch._foreach_sub(self._counters, self._counted))))
        if self._size != size_of(optimizer):  # state that this step has made begins at 0
            fresh, born = self._born(optimizer)
            for targets in fresh:
                copy_unless(1 - self._flag, [torch.zeros_like(t) for t in targets], targets)
            if born:
                gained.append((born, [t.clone() for t in born]))
        return gained

    def _version(self) -> int:
        """Goes up when one of them is written."""
        return sum(map(_VERSION, self._live))

    def _outgrown(self, optimizer: torch.optim.Optimizer) -> bool:
        """It has other tensors now: more of them, or those of a state that was loaded, or of weights that moved."""
        parameters = places = 0
        for group in optimizer.param_groups:  # as `size_of` and `places_of`: this is felt at every step
            held = group["params"]
            parameters += len(held)
            places += sum(map(_POINTER, map(local, held) if self._pieces else held))
        state = optimizer.state
        return self._places != (id(state), places) or self._size != (parameters, len(state))

    def _born(self, optimizer: torch.optim.Optimizer) -> tuple[list[list[torch.Tensor]], list[torch.Tensor]]:
        """State that was not there before the step: on the device, by type, and on the host."""
        known = {t.data_ptr() for t in [*self._live, *self._steps, *self._counters]}
        live, steps, counters = tensors_of(optimizer)
        fresh = [t for t in live if t.data_ptr() not in known]
        return [targets for _, targets in by_dtype(fresh, fresh)], [
            t for t in [*steps, *counters] if t.data_ptr() not in known
        ]

    def _grow(self, optimizer: torch.optim.Optimizer) -> bool:
        self._live, self._copy, self._put_back = [], nothing, nothing  # what there was need not be kept
        live, steps, counters = tensors_of(optimizer)
        self._steps, self._counters = (steps, counters) if self._sure else ([], [*steps, *counters])
        self.gained = [(self._steps, 1)] if self._steps else []
        self._roomy = room_for(live)
        if self._roomy:
            self._pieces = any(is_shard(p) for group in optimizer.param_groups for p in group["params"])
            self._size, self._places = size_of(optimizer), places_of(optimizer, pieces=self._pieces)
            self.large = bytes_of(live) > _SMALL
            self._live, copies = live, [torch.empty_like(t) for t in live]
            self._flag = torch.zeros((), device=live[0].device)
            doubted = [] if self._sure else live[: self._size[0]]
            self._copy = Repeated(partial(torch._foreach_copy_, copies, live), live[0].device)
            self._put_back = Repeated(
                partial(put_back, self._flag, by_dtype(copies, live), doubted), live[0].device
            )
        return self._roomy


def nothing() -> None:
    pass


def put_back(flag: torch.Tensor, pairs: list[Lists], doubted: list[torch.Tensor]) -> None:
    """Copy, on the device, if the flag there is not 0, or one of the doubted tensors is not finite; then it is set."""
    if checked := [t for t in doubted if t.dtype in UNSCALED]:
        non_finite(checked, flag, torch.ones_like(flag))
    if others := [t for t in doubted if t.dtype not in UNSCALED]:
        norms = [norm.float() for norm in torch._foreach_norm(others, 1)]
        flag.copy_(torch.maximum(flag, non_finite_sum(norms)))
    for sources, targets in pairs:
        copy_unless(1 - flag, sources, targets)


def size_of(optimizer: torch.optim.Optimizer) -> tuple[int, int]:
    parameters = 0
    for group in (
        optimizer.param_groups
    ):  # no line of ours for each of them, here and below: this is felt at every step
        parameters += len(group["params"])
    return parameters, len(optimizer.state)


def places_of(optimizer: torch.optim.Optimizer, *, pieces: bool) -> tuple[int, int]:
    """Where they are: loading a state makes a new dictionary, and weights may be moved."""
    places = 0
    for group in optimizer.param_groups:
        held = group["params"]
        places += sum(map(_POINTER, map(local, held) if pieces else held))
    return id(optimizer.state), places


def tensors_of(
    optimizer: torch.optim.Optimizer,
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """All that a step may change: on the device of the weights; on the host counters of steps, and other numbers."""
    live = [local(p.detach()) for group in optimizer.param_groups for p in group["params"]]
    device = live[0].device
    steps: list[torch.Tensor] = []
    others: list[torch.Tensor] = []
    for state in optimizer.state.values():
        for name, value in state.items():
            for tensor, _ in tensors({name: value}, copies=False):
                at = live if tensor.device == device else steps if name == "step" else others
                at.append(local(tensor))
    return live, steps, others


def by_dtype(sources: list[torch.Tensor], targets: list[torch.Tensor]) -> list[Lists]:
    found: dict[torch.dtype, Lists] = {}
    for source, target in zip(sources, targets, strict=True):
        pair = found.setdefault(target.dtype, ([], []))
        pair[0].append(source)
        pair[1].append(target)
    return list(found.values())


def copy_unless(flag: torch.Tensor, sources: list[torch.Tensor], targets: list[torch.Tensor]) -> None:
    """Copy, on the device, unless the flag there is 1.

    The first step of fused SGD with momentum does just that: the momentum becomes the gradient, unless its
    `found_inf` is set. With a rate of 0 the weights it is given, here the sources, stay as they are."""
    if sources[0].is_floating_point():
        torch._fused_sgd_(
            sources,
            sources,
            targets,
            weight_decay=0.0,
            momentum=0.9,
            lr=0.0,
            dampening=0.0,
            nesterov=False,
            maximize=False,
            is_first_step=True,
            found_inf=flag,
        )
        return
    for source, target in zip(sources, targets, strict=True):
        target.copy_(torch.where(flag == 1, target, source))


def bytes_of(live: list[torch.Tensor]) -> int:
    return sum(t.numel() * t.element_size() for t in live)


def room_for(live: list[torch.Tensor]) -> bool:
    device, wanted = live[0].device, bytes_of(live)
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + unused > (1 + _SPARE) * wanted


def tensors(state: dict[str, Any], *, copies: bool = True) -> list[Kept]:
    """The tensors of one parameter's state (also in lists, as LBFGS keeps them), each with a copy."""
    found: list[torch.Tensor] = []
    for value in state.values():
        items = value if isinstance(value, list) else [value]
        found += [item for item in items if isinstance(item, torch.Tensor)]
    return [(tensor, tensor.detach().clone() if copies else tensor) for tensor in found]
