"""`backward()`: what it was called on, what it reached, and whether old graphs stay alive."""

from __future__ import annotations

import functools
import weakref
from collections import deque
from typing import Any

import torch

from premortem.events import Backward, GraphWalked, Site
from premortem.probes.byhand import ByHand
from premortem.probes.graph import Tag, walk
from premortem.probes.modules import Models
from premortem.probes.optimizers import Optimizers
from premortem.probes.session import Session, tensors_in, user_site

_REMEMBERED = 4096


class Backwards:
    """Wraps `torch.autograd.backward`, which `Tensor.backward` calls."""

    def __init__(self, session: Session, optimizers: Optimizers, models: Models, byhand: ByHand) -> None:
        self.session = session
        self.optimizers = optimizers
        self.models = models
        self.byhand = byhand
        self.reached: set[int] = set()  # parameter keys the graphs led to since the last step (audit)
        self.looked = False
        self.losses: deque[torch.Tensor] = deque(maxlen=8)  # the scalars of this step, for the step's numbers
        self._tags: deque[weakref.ref[Tag]] = deque(maxlen=_REMEMBERED)

    def install(self) -> None:
        self.session.patch(torch.autograd, "backward", self._wrap)

    def _wrap(self, original: Any) -> Any:
        session = self.session

        @functools.wraps(original)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if torch.compiler.is_compiling() or not session.listening():
                return original(tensors, *args, **kwargs)
            leftovers, at = False, None
            with session.looking_at("backward"):
                at = user_site()
                leftovers = self._starts(tensors, at)
            try:
                result = original(tensors, *args, **kwargs)
            except Exception as error:
                with session.looking_at("backward"):
                    self._ended(tensors, at, leftovers, error=str(error))
                raise
            with session.looking_at("backward"):
                self._ended(tensors, at, leftovers)
            return result

        return backward

    def _starts(self, tensors: Any, at: Site | None) -> bool:
        self.byhand.backward_starts(at)
        roots = tensors_in(tensors)
        if self.session.auditing and roots:
            self._walk(roots[0], at)
        for root in roots[:1]:
            if root.grad_fn is not None:
                tag = Tag()
                root.grad_fn.metadata["premortem"] = tag
                self._tags.append(weakref.ref(tag))
        return self.optimizers.backward_starts()

    def _walk(self, loss: torch.Tensor, at: Site | None) -> None:
        found = walk(loss)
        keys = self.session.parameters
        names = self.models.names()
        reached = {key for leaf in found.leaves if (key := keys.known(leaf)) is not None}
        self.reached |= reached
        self.looked = True
        self.session.emit(
            GraphWalked(
                step=self.session.step,
                at=at,
                parameters=tuple(sorted(reached)),
                other_leaves=sum(1 for leaf in found.leaves if keys.known(leaf) not in names),
                ops=tuple(found.ops),
                broadcasts=tuple(found.broadcasts),
                negated=found.negated,
            )
        )

    def _ended(self, tensors: Any, at: Site | None, leftovers: bool, error: str = "") -> None:
        roots = tensors_in(tensors)
        root = roots[0].detach() if roots and roots[0].numel() == 1 else None
        value = float(root) if root is not None and root.device.type == "cpu" else None
        if root is not None:
            self.losses.append(root)
        self.optimizers.backward_ended(at, value)
        self.byhand.backward_ended()
        self.session.emit(
            Backward(
                step=self.session.step,
                at=at,
                value=value,
                inside_step=self.optimizers.inside is not None,
                grad_before=leftovers,
                alive=self._alive(),
                kept=self.models.kept(),
                error=error,
            )
        )

    def _alive(self) -> int:
        while self._tags and self._tags[0]() is None:
            self._tags.popleft()
        if len(self._tags) < 3:
            return 0
        return sum(1 for tag in self._tags if tag() is not None) - 1

    def step_ended(self) -> None:
        self.reached.clear()
        self.looked = False
        self.losses.clear()
