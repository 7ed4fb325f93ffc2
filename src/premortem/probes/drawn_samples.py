"""Samples of a distribution that a model draws on its way: `sample()` cuts the graph, `rsample()` does not."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Any

import torch

from premortem.events import Forward, SampleDrawn, Site
from premortem.probes.modules import Models
from premortem.probes.session import Session, tensors_in, user_site

_LOOKS = 32  # at one line


class DrawnSamples:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.judged = False  # some sample was asked for its probability: a policy
        self._looks: Counter[Site | None] = Counter()
        self._drawn: list[weakref.ref[torch.Tensor]] = []  # by the root that runs, and given to no layer

    def install(self) -> None:
        normal = torch.distributions.Normal
        self.session.around(normal, "sample", before=self._sampled, after=self._made, quiet=None)
        self.session.around(normal, "log_prob", before=self._asked, quiet=None)
        self.models.layers.on_inputs.append(self._used)
        self.models.on_answer.append(self._answered)

    def _asked(self, *_args: Any, **_options: Any) -> None:
        self.judged = True

    def _sampled(self, distribution: Any, *_args: Any, **_options: Any) -> None:
        # A root is running, and its parameters are to be trained through what it draws.
        if (
            not self.models.depth
            or self.judged
            or not (distribution.loc.requires_grad or distribution.scale.requires_grad)
        ):
            return
        at = user_site()
        self._looks[at] += 1
        if self._looks[at] <= _LOOKS:
            name = self.models.current.name if self.models.current is not None else "the model"
            self.session.emit(SampleDrawn(step=self.session.step, at=at, model=name))

    def _made(self, note: Any, sample: torch.Tensor, *args: Any, **options: Any) -> None:
        if self.models.depth and self.models.layers.on and not self.judged:
            self._drawn.append(weakref.ref(sample))

    def _used(self, inputs: list[torch.Tensor]) -> None:
        self._drawn = [drawn for drawn in self._drawn if not any(drawn() is each for each in inputs)]

    def _answered(self, event: Forward, result: Any) -> None:
        """What is handed out, and goes into no layer, is an action: its probability may be written out by hand."""
        given = tensors_in(result, 2) if self._drawn else ()
        self.judged = self.judged or any(drawn() is each for drawn in self._drawn for each in given)
        self._drawn = []
