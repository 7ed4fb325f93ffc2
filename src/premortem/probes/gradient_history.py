"""Gradients between two steps: which backward passes they sum up, and what cleared or replaced them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.optim.optimizer import Optimizer

from premortem.events import Site, ZeroGrad
from premortem.probes.gradient_track import Track
from premortem.probes.session import Session, user_site

if TYPE_CHECKING:
    from premortem.probes.optimizers import Optimizers


class GradientHistory:
    """Hears of `zero_grad`, of backward passes and of clipping, and keeps the track of each optimizer."""

    def __init__(self, session: Session, optimizers: Optimizers) -> None:
        self.session = session
        self.optimizers = optimizers

    def install(self) -> None:
        for owner in (Optimizer, torch.nn.Module):
            self.session.around(
                owner,
                "zero_grad",
                before=self._zero_before,
                after=self._zero_after,
                quiet=self.session.rest.clears,
            )

    def _zero_before(self, owner: Any, *args: Any, **kwargs: Any) -> list[tuple[Track, list[Any]]]:
        self.session.rest.clears(owner)
        return [(track, track.marks()) for track in self.optimizers.live()]

    def _zero_after(self, note: Any, result: Any, owner: Any, *args: Any, **kwargs: Any) -> None:
        wasted, cleared, by_hand = [], [], False
        for track, before in note or ():
            after = track.marks()
            if any(b is not None and a != b for a, b in zip(after, before, strict=False)):
                track.cleared = True
                track.after_zero = after
                cleared.append(track.key)
                for hears in self.optimizers.on_clear:
                    hears(track.key)
                if track.backwards and track.pending:
                    wasted.append(track.key)
                    by_hand = by_hand or track.values_moved()
                track.pending = 0
        self.session.emit(
            ZeroGrad(
                step=self.session.step,
                at=user_site(),
                optimizer=self.session.optimizers.known(owner),
                wasted=tuple(wasted),
                cleared=tuple(cleared),
                by_hand=by_hand,
            )
        )

    def backward_starts(self) -> bool:
        """Before a backward pass; True when it will add to gradients a step has already used."""
        leftovers = False
        for track in self.optimizers.live():
            track.keep_up()
            now = track.marks()
            if track.steps and not track.cleared and track.backwards == 0:
                kept = [
                    n for n, old in zip(now, track.after_step, strict=False) if old is not None and n == old
                ]
                if 2 * len(kept) <= sum(old is not None for old in track.after_step):
                    track.cleared = True
                    track.pending = 0
                leftovers = leftovers or bool(kept)
            elif track.backwards and any(
                old is not None and n is None for n, old in zip(now, track.after_backward, strict=False)
            ):
                track.cleared = True
                track.pending = 0
            track.after_backward = now
        return leftovers

    def backward_ended(self, at: Site | None, value: float | None, scaled: bool = False) -> tuple[int, ...]:
        """Keys of the optimizers whose parameters got a gradient."""
        reached = []
        for track in self.optimizers.live():
            now = track.marks()
            if any(n is not None and n != old for n, old in zip(now, track.after_backward, strict=False)):
                track.backwards += 1
                track.values.append(value)
                if at is not None and at not in track.sites:
                    track.sites.append(at)
                track.pending += 1
                track.scaled = scaled
                track.after_zero = None
                track.glances = track.glance()
                track.nonzero = self.session.auditing and not track.all_zero()
                reached.append(track.key)
                if self.session.auditing:
                    for hears in self.optimizers.on_gradients:
                        hears(track)
            track.after_backward = now
        return tuple(reached)

    def replaced(self, unscaled: int | None = None) -> None:
        """Clipping or unscaling wrote the gradients: what follows is measured from here."""
        for track in self.optimizers.live():
            track.scaled = track.scaled and track.key != unscaled
            if track.after_zero is None:
                track.after_backward = track.marks()
