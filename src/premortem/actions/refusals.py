"""Steps that were refused: how many, in a row and in all, who hears of them, and what waits for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from premortem.actions.judgement import Judgement
from premortem.events import StepRefused
from premortem.tensors.sharding import local

if TYPE_CHECKING:
    from premortem.probes import Attachment


class Refusal(NamedTuple):
    """A step that was not made. Weights and optimizer state are as before; the gradients are still in place."""

    optimizer: torch.optim.Optimizer
    key: int
    step: int
    # "gradient": it was not finite. "update": the optimizer made, or would have made, such numbers of sound ones.
    # "memory": the backward pass that makes it did not come to its end.
    reason: str
    loss: float | None


class Refusals:
    def __init__(self, attachment: Attachment, judgement: Judgement) -> None:
        self.session = attachment.session
        self.optimizers = attachment.optimizers
        self.stats = attachment.stats
        self.recorder = attachment.recorder
        self.listeners: list[Callable[[Refusal], None]] = []
        self.inside = False  # a step is being made
        self.unsaid: list[tuple[Any, int]] = []  # refusals that a device has reported in the middle of a step
        self._judgement = judgement
        self._row: dict[int, int] = {}  # optimizer -> refused in a row
        self._made: Counter[int] = Counter()
        self._refused: Counter[int] = Counter()
        self._seen: dict[int, tuple[int, int]] = {}  # scheduler -> made and refused when it last advanced

    def succeeded(self, key: int) -> None:
        self._row[key] = 0
        self._made[key] += 1

    def learnt(self, key: int, step: int, finite: bool) -> None:
        """What a device answered, a step or two later."""
        owed = self._judgement.settled(key)
        if finite or (optimizer := self.session.optimizers.object(key)) is None:
            self.succeeded(key)
            return
        if owed is not None:
            owed.refuse()
        self.unsaid.append((optimizer, step))
        if not self.inside:
            self.say()

    def say(self) -> None:
        """Once the step that is being made is over: until then its own weights may have to be undone."""
        unsaid, self.unsaid = self.unsaid, []
        for optimizer, step in unsaid:
            self.tell(optimizer, "gradient", step)

    def tell(self, optimizer: Any, reason: str, step: int | None = None) -> None:
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
                rank=self._judgement.agreement.bad_rank if reason == "gradient" else None,
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

    def holds_back(self, scheduler: int, optimizer: int) -> bool:
        """Whether a scheduler must not advance: every step since its last one was refused."""
        now = (self._made.get(optimizer, 0), self._refused.get(optimizer, 0))
        made, refused = self._seen.get(scheduler, (0, 0))
        self._seen[scheduler] = now
        return now[0] == made and now[1] > refused
