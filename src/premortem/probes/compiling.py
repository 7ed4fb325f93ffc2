"""torch.compile: from then on the op-level audits stay out, so that nothing is traced twice."""

from __future__ import annotations

from typing import Any

import torch

from premortem.probes.lens import Lens
from premortem.probes.lookout import Lookout
from premortem.probes.session import Session


class Compiling:
    def __init__(self, session: Session, lens: Lens, lookout: Lookout) -> None:
        self.session = session
        self.lens = lens
        self.lookout = lookout

    def install(self) -> None:
        self.session.around(torch, "compile", before=self._seen)
        self.session.around(torch.nn.Module, "compile", before=self._seen)

    def _seen(self, *args: Any, **kwargs: Any) -> None:
        self.session.compiling_used = True
        self.lens.focus()
        self.lookout.consider()
