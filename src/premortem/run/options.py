"""What `premortem run` is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.program.running import Program
from premortem.settings import Shared

if TYPE_CHECKING:
    from premortem.run.quarantine import Quarantine
    from premortem.sinks.base import Sink
    from premortem.vault.deadline import Deadline


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    given: list[str] = field(default_factory=list)  # premortem's own options, as they were typed
    findings: Path | None = None
    policy: str = "protect"
    quiet: bool = False
    status: bool = True  # a line about the run, on a terminal
    folder: Path | None = None
    autopsy: bool = True
    quarantine: Quarantine | None = None  # samples to leave out
    mirror: str | None = None  # a URL that can be connected to
    publish: str | None = None  # likewise, for the journal
    deadline: Deadline | None = None
    sinks: list[Sink] = field(default_factory=list)
    settings: Shared = field(default_factory=Shared)
    reads: bool = True  # the script's own files, beside the run

    @classmethod
    def of(cls, program: Program, **more: Any) -> RunOptions:
        return cls(target=program.target, module=program.module, argv=program.argv, **more)
