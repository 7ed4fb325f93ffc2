"""What an optimizer's step may change, as it was before: to put back, bit for bit."""

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from premortem.actions import driver
from premortem.actions.launch_graphs import Repeated
from premortem.tensors.finite import UNSCALED, non_finite, non_finite_sum
from premortem.tensors.sharding import is_shard, local

_POINTER = torch.Tensor.data_ptr
_SPARE = 1.5  # room that must be left beside a copy, in copies

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

    Before a step they are copied, and afterwards copied back, by kernels that look at the flag themselves: on a sound
    step both end before they have read anything, and nothing is written. So the copy can lie in memory that is not there
    until it is written (driver.py). Of an optimizer whose sound gradients may make a broken update, that comes too late:
    there each step is copied, into memory of the device."""

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

    def fits(self) -> bool:
        """Before a step: whether there is room for a copy of all that it may change."""
        optimizer = self._optimizer()
        if optimizer is None or not self._roomy:
            return False
        return not self._outgrown(optimizer) or self._grow(optimizer)

    def remember(self, flag: torch.Tensor) -> None:
        """Before a step that is undone if this is not 0, or if it makes weights that are not finite."""
        self._flag.copy_(flag)
        self._copy()
        self._counted = list(torch._foreach_add(self._counters, 0)) if self._counters else []

    def quick(self, optimizer: torch.optim.Optimizer) -> bool:
        """Whether `remembers` and `puts_back` may stand for `remember` and `undo_where`: one launch each, no look."""
        copy, back = self._copy, self._put_back
        return not (
            self._counters
            or not isinstance(copy, Repeated)
            or not isinstance(back, Repeated)
            or copy.graph is None
            or back.graph is None
            or self._outgrown(optimizer)
        )

    def remembers(self, flag: torch.Tensor) -> None:
        self._flag.copy_(flag)
        self._copy.graph.replay()  # type: ignore[attr-defined]  # `quick` has looked

    def puts_back(self, optimizer: torch.optim.Optimizer) -> bool:
        """`gained` is what counters on the host have gained. False, and nothing was done, if this step has made new state."""
        if self._size[1] != len(optimizer.state):
            return False
        self._put_back.graph.replay()  # type: ignore[attr-defined]
        return True

    def undo_where(self) -> list[Gained]:
        """After it: put back what the device has, if the flag is not 0 or a new weight is not finite. Counters on
        the host are given back, with what they gained, for the time when the answer has arrived."""
        optimizer = self._optimizer()
        if optimizer is None:
            return []
        self._put_back()
        gained = list(self.gained)
        if self._counters:
            gained.append((self._counters, list(torch._foreach_sub(self._counters, self._counted))))
        if self._size != size_of(optimizer):  # state that this step has made begins at 0
            fresh, born = self._born(optimizer)
            for targets in fresh:
                copy_unless(inverse(self._flag), [torch.zeros_like(t) for t in targets], targets)
            if born:
                gained.append((born, [t.clone() for t in born]))
        return gained

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
        device = live[0].device
        spare = driver.written_only(live) if self._sure else None
        self._roomy = spare is not None or room_for(live)
        if self._roomy:
            self._pieces = any(is_shard(p) for group in optimizer.param_groups for p in group["params"])
            self._size, self._places = size_of(optimizer), places_of(optimizer, pieces=self._pieces)
            copies = [torch.empty_like(t) for t in live] if spare is None else spare
            self._live, self._flag = live, torch.zeros((), device=device)
            pairs, doubted = by_dtype(copies, live), [] if self._sure else live[: self._size[0]]
            copied = (
                partial(keep, self._flag, pairs)
                if self._sure
                else partial(torch._foreach_copy_, copies, live)
            )
            self._copy = Repeated(copied, device)
            self._put_back = Repeated(partial(put_back, self._flag, pairs, doubted), device)
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
    for copies, live in pairs:
        copy_unless(inverse(flag), copies, live)


def keep(flag: torch.Tensor, pairs: list[Lists]) -> None:
    """Make the copies, on the device, if the flag there is not 0."""
    for copies, live in pairs:
        copy_unless(inverse(flag), live, copies)


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


def inverse(flag: torch.Tensor) -> torch.Tensor:
    """1 where the flag is 0, and 0 where it is 1, by a step of SGD with a rate of 1. Subtracting would load a kernel of 17 MB for
    this alone; that of SGD makes the copies as well."""
    one = torch.ones_like(flag)
    torch._fused_sgd_(
        [one],
        [flag],
        [],
        weight_decay=0.0,
        momentum=0.0,
        lr=1.0,
        dampening=0.0,
        nesterov=False,
        maximize=False,
        is_first_step=False,
    )
    return one


def copy_unless(flag: torch.Tensor, sources: list[torch.Tensor], targets: list[torch.Tensor]) -> None:
    """Copy, on the device, unless the flag there is 1.

    The first step of fused SGD with momentum does just that: the momentum becomes the gradient, unless its
    `found_inf` is set. With a rate of 0 the weights it is given, here the sources, stay as they are, but for -0 and
    infinity: where the sources are the script's own, the same flag has the copies put back after its step."""
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
