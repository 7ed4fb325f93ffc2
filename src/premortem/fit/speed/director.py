"""Launches the script in a process of its own, in which its loop is measured turn by turn."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from premortem import private, untrusted
from premortem.children import run_child
from premortem.errors import UsageError
from premortem.fit.speed.candidates import ALL
from premortem.fit.speed.report import Report
from premortem.plain import exact
from premortem.program import Program

SECONDS = 300.0
_GRACE = 300.0  # for imports, data and a compiler that is at work when the time is over


@dataclass(frozen=True, kw_only=True)
class SpeedOptions:
    target: str
    module: bool = False
    argv: list[str] = field(default_factory=list)
    only: tuple[str, ...] = ()  # names of candidates; none means all
    seconds: float = SECONDS
    steps: int | None = None  # of the whole run, against which a warm-up is weighed
    backend: str = "inductor"  # of torch.compile
    show_output: bool = False


def measure(options: SpeedOptions) -> Report:
    """What each speed-up does to the script's own step, here. Raises UsageError when there is nothing to run."""
    Program(target=options.target, module=options.module, argv=list(options.argv)).check()
    _check_names(options.only)
    with tempfile.TemporaryDirectory(prefix="premortem-speed-") as folder:
        scratch = Path(os.path.realpath(folder))
        result, paper = scratch / "report.json", scratch / "order.json"
        order = {
            "target": options.target,
            "module": options.module,
            "argv": list(options.argv),
            "only": list(options.only),
            "seconds": options.seconds,
            "steps": options.steps,
            "backend": options.backend,
            "scratch": str(scratch),
            "result": str(result),
        }
        private.write_text(paper, exact(order))
        problem, tail = _launch(paper, scratch, options)
        try:
            report = Report.from_json(untrusted.loads(untrusted.read_text(result)))
        except (OSError, ValueError, TypeError, AttributeError, LookupError):
            report = Report(problem=problem or "the script's process died without a word")
        if report.problem and tail:
            report.problem += f"\n{tail}"
        return report


def _check_names(only: tuple[str, ...]) -> None:
    known = sorted(kind.name for kind in ALL)
    for name in only:
        if name not in known:
            raise UsageError(f"there is no candidate `{name}`; there are {', '.join(known)}")


def _launch(paper: Path, scratch: Path, options: SpeedOptions) -> tuple[str, str]:
    """What went wrong with the launch itself, and the last lines that the script printed."""
    own = str(scratch / "tmp")
    left = run_child(
        "premortem.fit.speed.child",
        [str(paper)],
        scratch=scratch,
        seconds=options.seconds + _GRACE,
        # A cache that is warm from earlier would make compilers' first turns look cheaper than they are.
        environment={"TORCHINDUCTOR_CACHE_DIR": own, "TRITON_CACHE_DIR": own},
        show_output=options.show_output,
    )
    return left.problem(options.seconds + _GRACE), left.tail(6)
