"""torch.compile: from then on the op-level audits stay out, so that nothing is traced twice."""

from typing import Any

import torch

from premortem.probes.microscope_schedule import MicroscopeSchedule
from premortem.probes.op_audit import OpAudit
from premortem.probes.session import Session


class Compiling:
    def __init__(self, session: Session, op_audit: OpAudit, microscope_schedule: MicroscopeSchedule) -> None:
        self.session = session
        self.op_audit = op_audit
        self.microscope_schedule = microscope_schedule

    def install(self) -> None:
        self.session.around(torch, "compile", before=self._seen)
        self.session.around(torch.nn.Module, "compile", before=self._seen)

    def _seen(self, *args: Any, **kwargs: Any) -> None:
        self.session.compiling_used = True
        self.op_audit.focus()
        self.microscope_schedule.consider()
