"""A step as a transaction: an update that is not finite is never applied.

    optimizer.step()
        what would the update be?    one fused look at the gradients (the numbers of the step, which are taken anyway)
        finite                       the step happens, untouched
        not finite                   it does not: weights, moments and step counters keep every bit

On the CPU the look costs nothing more, and a refused step is simply not made. On a GPU the host must not wait for the
answer: the kernels of fused optimizers are given it, on the device (kernels.py); the others are undone on the device.
Optimizers whose arithmetic can break on sound gradients (eps 0, 16-bit weights, strangers') are undone as well.
A scaler that has its own answer is left alone.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils import clip_grad
from torch.optim.swa_utils import AveragedModel

from premortem.actions.judgement import BY_KERNEL, SOUND, Judgement, Verdict
from premortem.actions.kernels import Kernels
from premortem.actions.refusals import Refusals
from premortem.actions.undo import Before
from premortem.points import passes_on, unseen

if TYPE_CHECKING:
    from premortem.probes import Attachment


_WITHOUT = (None,)  # arguments that name no closure, as Accelerate gives them


class Guard:
    """Stands around `step` of every optimizer class that the run uses."""

    def __init__(self, attachment: Attachment, settle: Callable[[], None]) -> None:
        self.session = attachment.session
        self.optimizers = attachment.optimizers
        self.stats = attachment.stats
        self.schedulers = attachment.schedulers
        self.judgement = Judgement(attachment)
        self.refusals = Refusals(attachment, self.judgement)
        self.doomed, self.listeners = self.judgement.doomed, self.refusals.listeners
        self.kernels = Kernels(attachment.session)
        self._settle = settle  # called when a refusal has been reported: a policy may end the run here
        self._classes: set[type] = set()

    def install(self) -> None:
        self.stats.be_checked()
        self.stats.learnt.append(self.refusals.learnt)
        self.optimizers.met.append(self._meet)
        self.optimizers.on_clear.append(self.doomed.discard)
        for track in self.optimizers.live():
            self._meet(track.optimizer())
        self.schedulers.veto = self.refusals.holds_back
        self.session.layer(AveragedModel, "update_parameters", self._wrap_average)
        if hasattr(clip_grad, "_clip_grads_with_norm_"):
            self.session.layer(
                clip_grad, "_clip_grads_with_norm_", self._wrap_clip, quiet=self._wrap_clip_quietly, asks=True
            )

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
            if self.refusals.inside:  # a wrapper (Lookahead, SAM) steps its inner optimizer: one transaction
                return original(optimizer, *args, **kwargs)
            try:
                return self._transact(original, optimizer, args, kwargs)
            finally:
                self.refusals.inside = False
                if self.refusals.unsaid:
                    with self.session.looking_at("guard"):
                        self.refusals.say()

        return step

    def _wrap_rested(self, original: Any) -> Any:
        """In a rested step: gradients on the CPU that are finite need no more than that, and what a device decides about
        is left to the optimizer's own kernel, or remembered and put back by one launch each."""
        transact, session, refusals = self._wrap_step(original), self.session, self.refusals
        sound = self.judgement.sound

        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if refusals.inside or session.looking or not session.on or get_ident() != session.thread:
                return original(optimizer, *args, **kwargs)
            plain = not kwargs and (not args or args == _WITHOUT)
            key = sound(optimizer) if plain else None
            verdict = None
            if key is None:
                verdict = self._quickly(optimizer) if plain else None
                if verdict is None:
                    return transact(optimizer, *args, **kwargs)
            refusals.inside = True
            if verdict is BY_KERNEL:
                self.kernels.expect(functools.partial(self.judgement.at_kernel, optimizer))
            try:
                result = original(optimizer, *args)
            finally:
                refusals.inside = False
                if verdict is BY_KERNEL:
                    self.kernels.release()
            if key is not None:
                refusals.succeeded(key)
            elif verdict is not None:
                self._finish_quickly(optimizer, verdict)
            return result

        return step

    def _quickly(self, optimizer: Any) -> Verdict | None:
        try:
            settled = self.stats.settled()
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("guard", error)
            settled = False
        if not settled:
            with self.session.looking_at("guard", pieces=False):
                self.stats.hear()
        return None if self.refusals.unsaid else self.judgement.quickly(optimizer)

    def _finish_quickly(self, optimizer: Any, verdict: Verdict) -> None:
        """After such a step."""
        shadow, owed = verdict.shadow, verdict.owed
        if shadow is None or owed is None:
            return
        try:
            if shadow.puts_back(optimizer):
                owed.add(shadow.gained)
                return
        except Exception as error:  # noqa: BLE001 - a bug of ours is written down, never raised
            self.session.fault("guard", error)
            return
        with self.session.looking_at("guard", pieces=False):
            owed.add(shadow.undo_where())

    @passes_on
    def _transact(self, original: Any, optimizer: Any, args: Any, kwargs: Any) -> Any:
        closure = args[0] if args else kwargs.get("closure")
        verdict = SOUND
        with self.session.looking_at(
            "guard", pieces=closure is not None or not self.judgement.by_numbers(optimizer)
        ):
            if self.stats.expecting:
                self.stats.hear()  # of a step before that was refused, while the weights are still as they were
            verdict = self._foresee(optimizer, closure)
        self.refusals.inside = True
        if verdict.refuse:
            self.optimizers.refuse(optimizer, args, kwargs)
            self._conclude(optimizer, verdict)
            return None
        if closure is not None and self.optimizers.calls_once(optimizer):
            return self._with_closure(original, optimizer, closure)
        if verdict.by_kernel:
            self.kernels.expect(functools.partial(self.judgement.at_kernel, optimizer))
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
            return self.judgement.judge(optimizer)
        # One that is called once, before anything else, makes the gradients, which are judged then.
        return SOUND if self.optimizers.calls_once(optimizer) else Verdict(before=Before(optimizer))

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
                verdict = self.judgement.judge(optimizer)
            self.optimizers.gradients_made(optimizer)
            with self.session.looking_at("guard"):
                if verdict.refuse:  # without gradients there is nothing to step on
                    self.optimizers.was_refused = True
                    hidden.extend((p, p.grad) for group in optimizer.param_groups for p in group["params"])
                    for parameter, _ in hidden:
                        parameter.grad = None
            if verdict.by_kernel:
                self.kernels.expect(functools.partial(self.judgement.at_kernel, optimizer))
            return result

        try:
            result = original(optimizer, watched)
        finally:
            self.kernels.release()
            for parameter, gradient in hidden:
                parameter.grad = gradient
        self._conclude(optimizer, verdict)
        return result

    # -- after it -------------------------------------------------------------------------

    def _conclude(self, optimizer: Any, verdict: Verdict) -> None:
        if verdict.by_kernel:  # it has decided, and the answer is on its way
            return
        undone = verdict.refuse
        plain = not (verdict.refuse or verdict.shadow is not None or verdict.before is not None)
        with self.session.looking_at("guard", pieces=not plain):
            if verdict.refuse:
                self.refusals.tell(optimizer, verdict.reason)
            else:
                undone = self._afterwards(optimizer, verdict)
        if undone:
            self._settle()

    def _afterwards(self, optimizer: Any, verdict: Verdict) -> bool:
        """Whether the step was undone, as far as is known already."""
        key = self.session.optimizers.of(optimizer)
        if verdict.shadow is not None and verdict.owed is not None:
            verdict.owed.add(verdict.shadow.undo_where())
            return False
        if verdict.before is not None and self.judgement.undone(optimizer, verdict.before):
            self.optimizers.was_refused = True
            self.refusals.tell(optimizer, "update")
            return True
        self.refusals.succeeded(key)
        return False

    # -- what follows a step --------------------------------------------------------------

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
                # A norm of 0 multiplies by 1. `where` keeps the bits of a finite one, and waits for nothing.
                total_norm = torch.where(torch.isfinite(total_norm), total_norm, 0.0)
            return original(parameters, max_norm, total_norm, *args, **kwargs)

        return clip

    def _wrap_clip_quietly(self, original: Any) -> Any:
        """In a rested step: on the CPU the norm is there, and nearly always finite."""
        session, checked = self.session, self._wrap_clip(original)

        def clip(parameters: Any, max_norm: Any, total_norm: Any, *args: Any, **kwargs: Any) -> Any:
            alone = session.looking or not session.on or get_ident() != session.thread
            if alone or (
                type(total_norm) is torch.Tensor and total_norm.is_cpu and math.isfinite(total_norm.item())
            ):
                return original(parameters, max_norm, total_norm, *args, **kwargs)
            return checked(parameters, max_norm, total_norm, *args, **kwargs)

        return clip
