"""Samples of a distribution that a model draws on its way: `sample()` cuts the graph, `rsample()` does not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import torch

from premortem.events import SampleDrawn, Site
from premortem.probes.modules import Models
from premortem.probes.session import Session, user_site

_LOOKS = 32  # at one line


class DrawnSamples:
    def __init__(self, session: Session, models: Models) -> None:
        self.session = session
        self.models = models
        self.judged = False  # some sample was asked for its probability: a policy
        self._looks: Counter[Site | None] = Counter()

    def install(self) -> None:
        normal = torch.distributions.Normal
        self.session.around(normal, "sample", before=self._sampled, quiet=None)
        self.session.around(normal, "log_prob", before=self._asked, quiet=None)

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
