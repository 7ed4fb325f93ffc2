"""Checkpoints of the kind that does not start a second backward pass."""

from __future__ import annotations

from typing import ClassVar

from premortem.fit.speed.candidates.base import Candidate


class NonReentrant(Candidate):
    """`use_reentrant=False`: what torch recommends, stops the recomputation early, and compiles."""

    name: ClassVar[str] = "non-reentrant-checkpoint"

    def obstacle(self) -> str:
        if not self.scene.checkpoints:
            return "the model uses no checkpoints"
        return "" if self.scene.reentrant else "its checkpoints are of that kind already"

    def apply(self) -> None:
        self.scene.flip_reentrant = True

    def revert(self) -> None:
        self.scene.flip_reentrant = False

    def how(self) -> str:
        return "checkpoint(..., use_reentrant=False)"
