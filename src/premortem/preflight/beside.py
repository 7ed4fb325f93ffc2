"""The files that a run reads, looked at beside it with the checks of `premortem check`.

    the run's first step   ─►  a process of the lowest priority, which is given the names of the files that were opened so far
    what it says, a file   ─►  taken at the end of a step, or at the end of the run, which waits for it a little

Each finding is a line of that file as soon as it is made: where the limit of time ends the process, those before it are not lost.

In this process, and not in a thread of the run: reading tables is work for the interpreter, which trains.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.findings import Finding
from premortem.startup import behind


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    behind.take_place(int(asked["run"]))
    _limit(int(asked["seconds"]))
    from premortem.preflight.data import surveying
    from premortem.preflight.data.checks import ALL
    from premortem.preflight.project import Project

    project = Project(
        folder=Path(asked["folder"]), target=asked["target"], module=asked["module"], argv=asked["argv"]
    )
    cards = {check.card.code: check.card for check in ALL}

    def heard(finding: Finding) -> None:
        record = {"finding": finding.to_json(), "explains": list(cards[finding.code].explains)}
        sys.stdout.write(f"{json.dumps(record)}\n")
        sys.stdout.flush()

    surveying.survey_opened(project, asked["files"], float(asked["began"]), lambda _: None, heard)


def _limit(seconds: int) -> None:
    """Of processor time: a world that takes longer is a matter for `premortem check`."""
    with suppress(ImportError, ValueError, OSError):  # Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
