"""A step as a transaction: an update that is not finite is never applied.

    optimizer.step()
        what would the update be?    one fused look at the gradients (the numbers of the step, which are taken anyway)
        finite                       the step happens, untouched
        not finite                   it does not: weights, moments and step counters keep every bit

On the CPU the look costs nothing more, and a refused step is simply not made. On a GPU nobody may wait for the
answer: the kernels of fused optimizers are given it, on the device (kernels.py); the others are undone on the device.
Optimizers whose arithmetic can break on sound gradients (eps 0, 16-bit weights, strangers') are undone as well.
A scaler that has its own answer is left alone.
"""

from __future__ import annotations

import functools
import math
import weakref
from collections import Counter, deque
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.nn.utils import clip_grad
from torch.optim.swa_utils import AveragedModel

from premortem.actions.agreement import Agreement, Circle, circle_of
from premortem.actions.kernels import Kernels
from premortem.actions.undo import Before, Gained, Shadow
from premortem.events import StepRefused
from premortem.points import passes_on, unseen
from premortem.tensors.finite import non_finite_sum
from premortem.tensors.sharding import local

if TYPE_CHECKING:
    from premortem.probes import Attachment

# Squares of larger numbers do not fit into 32 bits, and moments of second order are made of squares.
_LARGEST = 1e18
_TRUSTED = "torch.optim."


class Refusal(NamedTuple):
    """A step that was not made. Weights and optimizer state are as before; the gradients are still in place."""

    optimizer: torch.optim.Optimizer
    key: int
    step: int
    # "gradient": it was not finite. "update": the optimizer made, or would have made, such numbers of sound ones.
    # "memory": the backward pass that makes it did not come to its end.
    reason: str
    loss: float | None


class Verdict(NamedTuple):
    """What is known before a step."""

    refuse: bool = False
    reason: str = "gradient"
    before: Before | None = None  # what is needed to undo it, where gradients alone do not tell
    flag: torch.Tensor | None = None  # not 0 when it must be undone; on a device, where nobody reads it
    shadow: Shadow | None = None  # then what is needed for that,
    owed: Owed | None = None  # and counters on the host
    by_kernel: bool = False  # the optimizer's own kernel decides


_SOUND = Verdict()
_BY_KERNEL = Verdict(by_kernel=True)


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


class Guard:
    """Stands around `step` of every optimizer class that the run uses."""

    def __init__(self, attachment: Attachment, settle: Callable[[], None]) -> None:
        self.session = attachment.session
        self.optimizers = attachment.optimizers
        self.stats = attachment.stats
        self.schedulers = attachment.schedulers
        self.recorder = attachment.recorder
        self.backwards = attachment.backwards
        self.listeners: list[Callable[[Refusal], None]] = []
        self.doomed: set[int] = (
            set()
        )  # optimizers whose next step must not be made, whatever the gradients are
        self.kernels = Kernels(attachment.session)
        self._settle = settle  # called when a refusal has been told: a policy may end the run here
        self._classes: set[type] = set()
        self._inside = False
        self._unsaid: list[tuple[Any, int]] = []  # refusals that a device has told in the middle of a step
        self._row: dict[int, int] = {}  # optimizer -> refused in a row
        self._made: Counter[int] = Counter()
        self._refused: Counter[int] = Counter()
        self._seen: dict[int, tuple[int, int]] = {}  # scheduler -> made and refused when it last advanced
        self._owed: dict[int, deque[Owed]] = {}  # of each optimizer, the steps whose answer is on its way
        self._shadows: weakref.WeakKeyDictionary[Any, Shadow] = weakref.WeakKeyDictionary()
        self._agreement = Agreement(attachment.ranks.connection, attachment.ranks.tell)
        self._circles: weakref.WeakKeyDictionary[Any, tuple[int, Circle | None]] = weakref.WeakKeyDictionary()

    def install(self) -> None:
        self.stats.be_checked()
        self.stats.learnt.append(self._learnt)
        self.optimizers.met.append(self._meet)
        self.optimizers.on_clear.append(self.doomed.discard)
        for track in self.optimizers.live():
            self._meet(track.optimizer())
        self.schedulers.veto = self._holds_back
        self.session.layer(AveragedModel, "update_parameters", self._wrap_average)
        if hasattr(clip_grad, "_clip_grads_with_norm_"):
            self.session.layer(clip_grad, "_clip_grads_with_norm_", self._wrap_clip)

    # -- stepping -------------------------------------------------------------------------

    def _meet(self, optimizer: Any) -> None:
        cls = type(optimizer)
        if not self._classes:
            # Not before: building an optimizer imports dynamo, which takes stock of torch's functions as they are then.
            self.kernels.install()
        if cls not in self._classes:
            self._classes.add(cls)
            # Once torch has put its hooks around `step`: ours is the outermost, so a refused step runs none of them.
            self.session.layer(cls, "step", self._wrap_step, quiet=self._wrap_rested, asks=True)

    def _wrap_step(self, original: Any) -> Any:
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:  # a wrapper (Lookahead, SAM) steps its inner optimizer: one transaction
                return original(optimizer, *args, **kwargs)
            try:
                return self._transact(original, optimizer, args, kwargs)
            finally:
                self._inside = False
                if self._unsaid:
                    with self.session.looking_at("guard"):
                        self._say()

        return step

    def _wrap_rested(self, original: Any) -> Any:
        """In a rested step: gradients on the CPU that are finite need no more than that, and what a device decides about
        is remembered and put back by one launch each."""
        transact, session = self._wrap_step(original), self.session

        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside or session.looking or not session.on or get_ident() != session.thread:
                return original(optimizer, *args, **kwargs)
            key = None if args or kwargs else self._sound(optimizer)
            verdict = None
            if key is None:
                verdict = None if args or kwargs else self._quickly(optimizer)
                if verdict is None:
                    return transact(optimizer, *args, **kwargs)
            self._inside = True
            try:
                result = original(optimizer)
            finally:
                self._inside = False
            if key is not None:
                self._row[key] = 0
                self._made[key] += 1
            elif verdict is not None:
                self._finish_quickly(optimizer, verdict)
            return result

        return step

    def _sound(self, optimizer: Any) -> int | None:
        """Before a rested step: the key of the optimizer, if nothing is peculiar about its step and its gradients, on the
        CPU, are finite, or a scaler has found them so."""
        held = self.stats.held(optimizer)
        if held is None or held.half or self.doomed or self.session.locally is not None:
            return None
        if not trusted(optimizer) or getattr(optimizer, "found_inf", None) is not None:
            return None
        sound = self.session.scaled or (held.on_cpu and self.stats.sound(optimizer))
        return held.key if sound else None

    def _quickly(self, optimizer: Any) -> Verdict | None:
        """What is known before a rested step that a device decides about and that is like any other; None when it takes
        more than this to know it. No look is begun: nothing here is heard by a layer of ours."""
        session, stats = self.session, self.stats
        try:
            held, shadow = stats.held(optimizer), self._shadows.get(optimizer)
            if held is None or shadow is None or held.on_cpu or held.half or held.sparse:
                return None
            if session.rest.careful or self._unsaid or self._peculiar(optimizer):
                return None
            grads = held.gradients()
            if len(grads) != len(held.parameters) or torch._C._len_torch_dispatch_stack():
                return None
            if stats.expecting:
                with session.looking_at("guard", pieces=False):
                    stats.hear()
                if self._unsaid:
                    return None
            if not shadow.copies(optimizer):
                return None
            owed = self._owe(held.key)
            return Verdict(flag=stats.check(held.key, held, grads), shadow=shadow, owed=owed)
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            session.fault("guard", error)
            return None

    def _finish_quickly(self, optimizer: Any, verdict: Verdict) -> None:
        """After such a step."""
        flag, shadow, owed = verdict.flag, verdict.shadow, verdict.owed
        if flag is None or shadow is None or owed is None:
            return
        try:
            if shadow.puts_back(optimizer, flag):
                owed.add(shadow.gained)
                return
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("guard", error)
            return
        with self.session.looking_at("guard", pieces=False):
            owed.add(shadow.undo_where(flag))

    def _peculiar(self, optimizer: Any) -> bool:
        """More than the usual is asked of this step, or of its optimizer."""
        return (
            not self.session.resting
            or bool(self.doomed)
            or self.session.locally is not None
            or getattr(optimizer, "found_inf", None) is not None
            or not trusted(optimizer)
        )

    def _succeeded(self, key: int) -> None:
        if self._row.get(key):
            self._row[key] = 0
        self._made[key] += 1

    @passes_on
    def _transact(self, original: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
        closure = args[0] if args else kwargs.get("closure")
        verdict = _SOUND
        with self.session.looking_at("guard", pieces=closure is not None or not self._by_numbers(optimizer)):
            if self.stats.expecting:
                self.stats.hear()  # of a step before that was refused, while the weights are still as they were
            verdict = self._foresee(optimizer, closure)
        self._inside = True
        if verdict.refuse:
            self.optimizers.refuse(optimizer, args, kwargs)
            self._conclude(optimizer, verdict)
            return None
        if closure is not None and self.optimizers.calls_once(optimizer):
            return self._with_closure(original, optimizer, closure)
        if verdict.by_kernel:
            self.kernels.expect(functools.partial(self._at_kernel, optimizer))
        try:
            result = original(optimizer, *args, **kwargs)
        finally:
            self.kernels.release()
        self._conclude(optimizer, verdict)
        return result

    def _foresee(self, optimizer: Any, closure: Any) -> Verdict:
        if self.doomed and (key := self.session.optimizers.of(optimizer)) in self.doomed:
            self.doomed.discard(key)
            return Verdict(refuse=True, reason="memory")
        if closure is None:
            return self._judge(optimizer)
        # One that is called once, before anything else, makes the gradients, which are judged then.
        return _SOUND if self.optimizers.calls_once(optimizer) else Verdict(before=Before(optimizer))

    @passes_on
    def _with_closure(self, original: Any, optimizer: Any, closure: Any) -> Any:
        """The gradients are made inside the step, and used right after: that is when to judge them."""
        verdict = Verdict()
        hidden: list[tuple[Any, Any]] = []

        @unseen
        def watched() -> Any:
            nonlocal verdict
            result = closure()
            with self.session.looking_at("guard"):
                verdict = self._judge(optimizer)
            self.optimizers.gradients_made(optimizer)
            with self.session.looking_at("guard"):
                if verdict.refuse:  # without gradients there is nothing to step on
                    self.optimizers.was_refused = True
                    hidden.extend((p, p.grad) for group in optimizer.param_groups for p in group["params"])
                    for parameter, _ in hidden:
                        parameter.grad = None
            if verdict.by_kernel:
                self.kernels.expect(functools.partial(self._at_kernel, optimizer))
            return result

        try:
            result = original(optimizer, watched)
        finally:
            self.kernels.release()
            for parameter, gradient in hidden:
                parameter.grad = gradient
        self._conclude(optimizer, verdict)
        return result

    def _by_numbers(self, optimizer: Any) -> bool:
        """Whether its steps are judged by the norms of gradients on the CPU, of which this rank looks at its own."""
        if self.session.locally is None:
            return True
        held = self.stats.held(optimizer)
        return held is not None and held.on_cpu and not held.half and trusted(optimizer)

    def _judge(self, optimizer: Any) -> Verdict:
        if getattr(optimizer, "found_inf", None) is not None:
            return _SOUND  # a scaler has its own answer
        if self.session.scaled and trusted(optimizer) and self._whole(optimizer):
            return (
                _SOUND  # it has waited for the answer, and makes only sound steps: nothing needs to be undone
            )
        if not self._peculiar(optimizer) and self.stats.sound(optimizer):
            return _SOUND
        sure = trusted(optimizer)
        held = self.stats.held(optimizer)
        if sure and held is not None and held.by_kernel(optimizer):
            return _BY_KERNEL
        track = self.optimizers.track(optimizer)
        held, grads = found = self.stats.gradients(optimizer)
        self.stats.measure(optimizer, track, found)
        if not grads:
            return _SOUND
        sure = sure and not held.half
        circle = self._circle(optimizer)
        if held.on_cpu:
            large = not math.hypot(*self.stats.read()) < _LARGEST
            if circle is not None:
                agreed = self._agreed(circle, held.parameters, large)
                if agreed is None:
                    return _SOUND
                large = agreed
            reason = self._broken(optimizer, grads, circle) if large else ""
            if reason:
                return Verdict(refuse=True, reason=reason)
            return Verdict(before=None if sure else Before(optimizer))
        if sure and held.by_kernel(optimizer):
            return _BY_KERNEL
        shadow = self._shadows.get(optimizer)
        if shadow is None:
            shadow = self._shadows[optimizer] = Shadow(optimizer, sure)
        if not shadow.remember():  # no room for a copy: exact, at the price of waiting
            flag = non_finite_sum(held.norms(grads, 1))
            if circle is not None:
                self._agreement.on_device(circle, flag)
            return Verdict(refuse=bool(flag))
        if shadow.large and not self.backwards.begins:
            self.backwards.begins = [functools.partial(self._pass, Shadow.backward_starts)]
            self.backwards.ends = [functools.partial(self._pass, Shadow.backward_ended)]
        return self._by_flag(track, held, grads, circle, shadow)

    def _by_flag(
        self, track: Any, held: Any, grads: list[torch.Tensor], circle: Circle | None, shadow: Shadow
    ) -> Verdict:
        owed = self._owe(track.key)
        return Verdict(flag=self._check(track.key, held, grads, circle), shadow=shadow, owed=owed)

    def _owe(self, key: int) -> Owed:
        owed = Owed()
        self._owed.setdefault(key, deque(maxlen=64)).append(owed)
        return owed

    def _whole(self, optimizer: Any) -> bool:
        """Nothing of it is in 16 bits or in pieces."""
        held = self.stats.held(optimizer)
        return held is not None and not held.half and self.session.locally is None

    def _pass(self, tell: Callable[[Shadow], None]) -> None:
        if len(self._shadows) == 1:  # of several nobody knows which one a backward pass is for
            for shadow in self._shadows.values():
                tell(shadow)

    def _at_kernel(self, optimizer: Any, grads: list[torch.Tensor]) -> torch.Tensor:
        """The flag of a step whose kernel is being called with these gradients."""
        held = self.stats.held(optimizer)
        circle = self._circle(optimizer)
        if held is None or circle is not None or len(grads) != len(held.parameters):
            # More kernels follow, or parameters are in pieces, or others than before have a gradient.
            more = held is not None and len(grads) > len(held.parameters)
            held, grads = self.stats.gradients(optimizer, more=more)
        return self._check(self.session.optimizers.of(optimizer), held, grads, circle)

    def _broken(self, optimizer: Any, grads: list[torch.Tensor], circle: Circle | None) -> str:
        """Why a step whose numbers are too large, or not finite, must be refused; "" when it need not."""
        broken = not all(bool(torch.isfinite(grad).all()) for grad in grads)
        if circle is not None:
            broken = self._agreement.any(circle, broken)
        if broken:
            return "gradient"
        # Only their squares are too large: for the norm, and for an optimizer that squares them itself.
        return "update" if squares(optimizer) else ""

    # -- with others who have pieces of the same parameters ------------------------------------

    def _circle(self, optimizer: Any) -> Circle | None:
        if self.session.locally is None:
            return None
        count = sum(len(group["params"]) for group in optimizer.param_groups)
        known = self._circles.get(optimizer)
        if known is None or known[0] != count:
            held = [p for group in optimizer.param_groups for p in group["params"]]
            known = self._circles[optimizer] = (count, circle_of(held))
        return known[1]

    def _agreed(self, circle: Circle, parameters: list[torch.Tensor], large: bool) -> bool | None:
        """The norms of the step become those of the whole parameters. Whether they, or one rank's, are too large, told by
        what is the same on all ranks; None when there is no telling."""
        answer = self._agreement.norms(circle, parameters, self.stats.read(), large)
        if answer is None:
            return None
        self.stats.replace(answer.norms)
        return answer.alarmed or not answer.total < _LARGEST

    def _check(self, key: int, held: Any, grads: list[torch.Tensor], circle: Circle | None) -> torch.Tensor:
        if circle is None:
            return self.stats.check(key, held, grads)
        return self.stats.check(key, held, grads, functools.partial(self._agreement.on_device, circle))

    # -- after it -------------------------------------------------------------------------

    def _conclude(self, optimizer: Any, verdict: Verdict) -> None:
        if verdict.by_kernel:  # it has decided, and the answer is on its way
            return
        undone = verdict.refuse
        plain = not (verdict.refuse or verdict.flag is not None or verdict.before is not None)
        with self.session.looking_at("guard", pieces=not plain):
            if verdict.refuse:
                self._tell(optimizer, verdict.reason)
            else:
                undone = self._afterwards(optimizer, verdict)
        if undone:
            self._settle()

    def _afterwards(self, optimizer: Any, verdict: Verdict) -> bool:
        """Whether the step was undone, as far as is known already."""
        key = self.session.optimizers.of(optimizer)
        if verdict.flag is not None and verdict.shadow is not None and verdict.owed is not None:
            verdict.owed.add(verdict.shadow.undo_where(verdict.flag))
            return False
        if verdict.before is not None and self._undone(optimizer, verdict.before):
            self.optimizers.was_refused = True
            self._tell(optimizer, "update")
            return True
        self._succeeded(key)
        return False

    def _undone(self, optimizer: Any, before: Before) -> bool:
        broken, circle = before.broken(), self._circle(optimizer)
        if circle is not None:
            broken = self._agreement.any(circle, broken)
        if broken:
            before.put_back()
        return broken

    def _learnt(self, key: int, step: int, finite: bool) -> None:
        """What a device answered, a step or two later."""
        waiting = self._owed.get(key)
        owed = waiting.popleft() if waiting else None
        if finite or (optimizer := self.session.optimizers.object(key)) is None:
            self._row[key] = 0
            self._made[key] += 1
            return
        if owed is not None:
            owed.refuse()
        self._unsaid.append((optimizer, step))
        if not self._inside:
            self._say()

    def _say(self) -> None:
        """Once the step that is being made is over: until then its own weights may have to be undone."""
        unsaid, self._unsaid = self._unsaid, []
        for optimizer, step in unsaid:
            self._tell(optimizer, "gradient", step)

    def _tell(self, optimizer: Any, reason: str, step: int | None = None) -> None:
        key = self.session.optimizers.of(optimizer)
        self._row[key] = self._row.get(key, 0) + 1
        self._refused[key] += 1
        at = self.session.step if step is None else step
        refusal = Refusal(optimizer, key, at, reason, self.recorder.loss_of(at, self.stats.last_loss))
        for listener in self.listeners if reason != "memory" else ():  # there is no bad number to look for
            listener(refusal)
        self.recorder.mend_buffers(refusal.step)
        self.session.emit(
            StepRefused(
                step=refusal.step,
                at=self.optimizers.last_site,
                optimizer=key,
                reason=reason,
                loss=refusal.loss,
                worst=self.stats.last_worst if step is None else self._first_broken(optimizer),
                row=self._row[key],
                total=self._refused.total(),
                made=self._made.total(),
                rank=self._agreement.bad_rank if reason == "gradient" else None,
                batches=self.session.drawn(refusal.step),
            )
        )

    def _first_broken(self, optimizer: Any) -> int | None:
        """Of a step that a device has refused: the first parameter whose gradient is not finite, while that is still there."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None and not bool(torch.isfinite(local(parameter.grad)).all()):
                    return self.session.parameters.of(parameter)
        return None

    # -- what follows a step --------------------------------------------------------------

    def _holds_back(self, scheduler: int, optimizer: int) -> bool:
        """Whether a scheduler must not advance: every step since its last one was refused."""
        now = (self._made[optimizer], self._refused[optimizer])
        made, refused = self._seen.get(scheduler, (0, 0))
        self._seen[scheduler] = now
        return now[0] == made and now[1] > refused

    def _wrap_average(self, original: Any) -> Any:
        def update_parameters(average: Any, *args: Any, **kwargs: Any) -> Any:
            if self.optimizers.was_refused:
                return None
            return original(average, *args, **kwargs)

        return update_parameters

    def _wrap_clip(self, original: Any) -> Any:
        """One NaN gradient makes the norm NaN, and clipping would write that into every other gradient."""

        def clip(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
            with self.session.looking_at("guard", pieces=False):
                # A norm of 0 multiplies by 1. `where` keeps the bits of a finite one, and waits for nobody.
                total_norm = torch.where(torch.isfinite(total_norm), total_norm, 0.0)
            return original(parameters, max_norm, total_norm, *args, **kwargs)

        return clip


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
