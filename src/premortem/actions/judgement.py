"""What is known before a step: whether it may be made, and what undoes it if that turns out too late.

On the CPU gradients are looked at, and waited for. On a GPU the host does not wait: the kernel of a fused optimizer is given the answer, or
weights and state are remembered (undo.py) and put back by what looks at the answer there.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from premortem.actions.agreement import Agreement, Circle, circles_of
from premortem.actions.undo import Before, Gained, Shadow
from premortem.probes.microscope_schedule import among_ranks
from premortem.tensors.finite import non_finite_sum
from premortem.tensors.parts import may_have_parts

if TYPE_CHECKING:
    from premortem.probes import Attachment

# Squares of larger numbers do not fit into 32 bits, and moments of second order are made of squares.
_LARGEST = 1e18
_TRUSTED = "torch.optim."


class Verdict(NamedTuple):
    """What is known before a step."""

    refuse: bool = False
    reason: str = "gradient"
    before: Before | None = None  # what is needed to undo it, where gradients alone do not tell
    shadow: Shadow | None = (
        None  # what undoes it on a device, where the host does not read whether it must be undone,
    )
    owed: Owed | None = None  # and counters on the host
    by_kernel: bool = False  # the optimizer's own kernel decides


SOUND = Verdict()
BY_KERNEL = Verdict(by_kernel=True)


class Owed:
    """A step that a device decides about: counters on the host go back when it has answered that it was refused.
    That may be before the step is over, or a step or two later."""

    __slots__ = ("_counters", "_refused")

    def __init__(self) -> None:
        self._counters: list[Gained] = []
        self._refused = False

    def add(self, counters: list[Gained]) -> None:
        self._counters = counters
        if self._refused:
            self.refuse()

    def refuse(self) -> None:
        self._refused = True
        for counters, gained in self._counters:
            torch._foreach_sub_(counters, gained)


class Judgement:
    """Asks about the gradients of each step."""

    def __init__(self, attachment: Attachment) -> None:
        self.session = attachment.session
        self.optimizers = attachment.optimizers
        self.stats = attachment.stats
        # Optimizers whose next step must not be made, whatever the gradients are:
        self.doomed: set[int] = set()
        self.agreement = Agreement(attachment.ranks.connection, attachment.ranks.tell)
        self._owed: dict[int, deque[Owed]] = {}  # of each optimizer, the steps whose answer is on its way
        self._shadows: weakref.WeakKeyDictionary[Any, Shadow] = weakref.WeakKeyDictionary()
        self._circles: weakref.WeakKeyDictionary[Any, tuple[int, tuple[Circle, ...]]] = (
            weakref.WeakKeyDictionary()
        )
        self._in_parts = False  # some optimizer steps what other ranks hold the rest of

    # -- of a rested step -------------------------------------------------------------------

    def sound(self, optimizer: Any) -> int | None:
        """Before a rested step: the key of the optimizer, if nothing is peculiar about its step and its gradients, on the
        CPU, are finite, or a scaler has found them so."""
        try:
            session, held = self.session, self.stats.known.get(id(optimizer))
            if held is None or held.optimizer() is not optimizer or held.half or self.doomed:
                return None
            if self._among_others or getattr(optimizer, "found_inf", None) is not None:
                return None
            if not (session.scaled or (held.quick and not session.rest.careful)) or not trusted(optimizer):
                return None
            sound = session.scaled or self.stats.finite(held)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("guard", error)
            return None
        return held.key if sound else None

    def quickly(self, optimizer: Any) -> Verdict | None:
        """What is known before a rested step that a device decides about and that is like any other; None when it takes
        more than this to know it. No look is begun: nothing here is heard by a layer of ours."""
        session, stats = self.session, self.stats
        try:
            held = stats.known.get(id(optimizer))
            if held is None or held.on_cpu or held.half or held.sparse or held.optimizer() is not optimizer:
                return None
            if session.rest.careful or self._peculiar(optimizer):
                return None
            shadow = self._shadows.get(optimizer)
            if shadow is None:
                return BY_KERNEL if held.by_kernel(optimizer) else None
            grads = held.gradients()
            if len(grads) != len(held.parameters) or torch._C._len_torch_dispatch_stack():
                return None
            if not shadow.quick(optimizer):
                return None
            owed = self._owe(held.key)
            shadow.remembers(stats.check(held.key, held, grads))
            return Verdict(shadow=shadow, owed=owed)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            session.fault("guard", error)
            return None

    def _peculiar(self, optimizer: Any) -> bool:
        """More than the usual is asked of this step, or of its optimizer."""
        return (
            not self.session.resting
            or bool(self.doomed)
            or self._among_others
            or getattr(optimizer, "found_inf", None) is not None
            or not trusted(optimizer)
        )

    # -- of any step ------------------------------------------------------------------------

    def by_numbers(self, optimizer: Any) -> bool:
        """Whether its steps are judged by the norms of gradients on the CPU, of which this rank looks at its own."""
        if not self._among_others:
            return True
        held = self.stats.held(optimizer)
        return held is not None and held.on_cpu and not held.half and trusted(optimizer)

    def judge(self, optimizer: Any) -> Verdict:
        if getattr(optimizer, "found_inf", None) is not None:
            return SOUND  # a scaler has its own answer
        if self.session.scaled and trusted(optimizer) and self._whole(optimizer):
            return (
                SOUND  # it has waited for the answer, and makes only sound steps: nothing needs to be undone
            )
        if not self._peculiar(optimizer) and self.stats.sound(optimizer):
            return SOUND
        sure = trusted(optimizer)
        held = self.stats.held(optimizer)
        if sure and held is not None and held.by_kernel(optimizer):
            return BY_KERNEL
        track = self.optimizers.track(optimizer)
        held, grads = found = self.stats.gradients(optimizer)
        self.stats.measure(optimizer, track, found)
        if not grads:
            return SOUND
        sure = sure and not held.half
        circles = self._circles_of(optimizer)
        if held.on_cpu:
            large = not math.hypot(*self.stats.read()) < _LARGEST
            for circle in circles:
                agreed = self._agreed(circle, held.parameters, large)
                if agreed is None:
                    return SOUND
                large = agreed
            reason = self._broken(optimizer, grads, circles) if large else ""
            if reason:
                return Verdict(refuse=True, reason=reason)
            return Verdict(before=None if sure else Before(optimizer))
        if sure and held.by_kernel(optimizer):
            return BY_KERNEL
        shadow = self._shadows.get(optimizer)
        if shadow is None:
            shadow = self._shadows[optimizer] = Shadow(optimizer, sure)
        if not shadow.fits():  # exact, at the price of waiting
            flag = non_finite_sum(held.norms(grads, 1))
            self._raise_together(circles, flag)
            return Verdict(refuse=bool(flag))
        owed = self._owe(track.key)
        shadow.remember(self._check(track.key, held, grads, circles))
        return Verdict(shadow=shadow, owed=owed)

    def _owe(self, key: int) -> Owed:
        owed = Owed()
        self._owed.setdefault(key, deque(maxlen=64)).append(owed)
        return owed

    def _whole(self, optimizer: Any) -> bool:
        """Nothing of it is in 16 bits or in pieces."""
        held = self.stats.held(optimizer) or self.stats.gradients(optimizer)[0]
        return not held.half and not self._among_others

    def at_kernel(self, optimizer: Any, grads: list[torch.Tensor]) -> torch.Tensor:
        """The flag of a step whose kernel is being called with these gradients."""
        held = self.stats.held(optimizer)
        circles = self._circles_of(optimizer)
        if held is None or circles or len(grads) != len(held.parameters):
            # More kernels follow, or parameters are in pieces, or others than before have a gradient.
            more = held is not None and len(grads) > len(held.parameters)
            held, grads = self.stats.gradients(optimizer, more=more)
        return self._check(self.session.optimizers.of(optimizer), held, grads, circles)

    def _broken(self, optimizer: Any, grads: list[torch.Tensor], circles: tuple[Circle, ...]) -> str:
        """Why a step whose numbers are too large, or not finite, must be refused; "" when it need not."""
        broken = not all(bool(torch.isfinite(grad).all()) for grad in grads)
        for circle in circles:
            broken = self.agreement.any(circle, broken)
        if broken:
            return "gradient"
        # Only their squares are too large: for the norm, and for an optimizer that squares them itself.
        return "update" if squares(optimizer) else ""

    # -- with others who have pieces of the same parameters ------------------------------------

    @property
    def _among_others(self) -> bool:
        return self._in_parts or self.session.locally is not None

    def _circles_of(self, optimizer: Any) -> tuple[Circle, ...]:
        if self.session.locally is None and not (may_have_parts() and among_ranks()):
            return ()
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        known = self._circles.get(optimizer)
        if known is None or known[0] != count:
            known = self._circles[optimizer] = (count, circles_of(optimizer))
            self._in_parts = self._in_parts or bool(known[1])
        return known[1]

    def _raise_together(self, circles: tuple[Circle, ...], flag: torch.Tensor) -> None:
        for circle in circles:
            self.agreement.on_device(circle, flag)

    def _agreed(self, circle: Circle, parameters: list[torch.Tensor], large: bool) -> bool | None:
        """The norms of the step become those of the whole parameters. Whether they, or one rank's, are too large, by
        numbers that are the same on all ranks; None when that is unknown."""
        answer = self.agreement.norms(circle, parameters, self.stats.read(), large)
        if answer is None:
            return None
        if circle.parameters:
            self.stats.replace(answer.norms)
        return answer.alarmed or not answer.total < _LARGEST

    def _check(
        self, key: int, held: Any, grads: list[torch.Tensor], circles: tuple[Circle, ...]
    ) -> torch.Tensor:
        if not circles:
            return self.stats.check(key, held, grads)
        return self.stats.check(key, held, grads, functools.partial(self._raise_together, circles))

    def undone(self, optimizer: Any, before: Before) -> bool:
        broken = before.broken()
        for circle in self._circles_of(optimizer):
            broken = self.agreement.any(circle, broken)
        if broken:
            before.put_back()
        return broken

    def settled(self, key: int) -> Owed | None:
        """A device has answered about the oldest step of this optimizer that it was asked about."""
        waiting = self._owed.get(key)
        return waiting.popleft() if waiting else None


def trusted(optimizer: Any) -> bool:
    """Whether its update is finite whenever the gradients are."""
    if not type(optimizer).__module__.startswith(_TRUSTED):
        return False
    for group in optimizer.param_groups:
        rate = group.get("lr")
        if group.get("eps") == 0 or (isinstance(rate, (int, float)) and not math.isfinite(rate)):
            return False
    return True


def squares(optimizer: Any) -> bool:
    """Whether it keeps moments of second order."""
    return any(name in group for group in optimizer.param_groups for name in ("betas", "alpha", "eps"))
