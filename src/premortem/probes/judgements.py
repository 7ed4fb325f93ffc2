"""Which way a loss pulls the verdict of a model on what another model made: D(G(z)), in the steps of either."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import GradientEdge

from premortem.events import Pull
from premortem.probes.graph import note
from premortem.probes.session import Session

_JUDGED = "premortem: a verdict"
_MOST = 4  # of one loss


class Judgements:
    """The gradient of a loss with respect to a verdict: the loss's own arithmetic is gone through once more, the models are not."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._hooked = False  # hooks on tensors are the script's own code: they would run once more
        self._judges: set[int] = set()  # models that were given what another one made

    def install(self) -> None:
        self.session.around(torch.Tensor, "register_hook", before=self._hooks, quiet=self._hooks)

    def _hooks(self, *_args: Any, **_options: Any) -> None:
        self._hooked = True

    def made(self, outputs: list[torch.Tensor], model: int, source: int | None) -> None:
        """A model was called, perhaps with what another one made."""
        maker = source if source not in {None, model} else 0
        for output in outputs:
            if output.grad_fn is not None:
                note(output.grad_fn, _JUDGED, (maker, model, output.output_nr))

    def pulls(self, loss: torch.Tensor, nodes: list[Any]) -> tuple[Pull, ...]:
        marked = [(node, *mark) for node in nodes if (mark := node.metadata.get(_JUDGED)) is not None]
        judges = {judge for _, maker, judge, _ in marked if maker} | self._judges
        judged = [each for each in marked if each[2] in judges]
        if not judged or self._hooked or loss.numel() != 1 or len(judged) > _MOST:
            return ()
        self._judges = judges
        found = []
        for node, maker, judge, place in judged:
            edge = GradientEdge(node, place)
            (slope,) = torch.autograd.grad(loss, [edge], retain_graph=True, allow_unused=True)
            if slope is not None:
                found.append(Pull(maker, judge, float(slope.sum()), float(slope.abs().sum())))
        return tuple(found)
