"""The files that a run reads, looked at beside it with the checks of `premortem check`.

    the run's first step   ─►  a process of the lowest priority, which is given the names of the files that were opened so far
    what it says, a file   ─►  taken at the end of a step, or at the end of the run, which waits for it a little

In this process, and not in a thread of the run: reading tables is work for the interpreter, which trains.
"""

import json
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem.startup import behind
from premortem.startup.children import family


def main() -> None:
    asked: dict[str, Any] = json.load(sys.stdin)
    outer = family()
    if outer is not None:
        outer.stand_down()  # the run has started this process, but it is no part of it
    behind.step_back()
    behind.end_with(int(asked["run"]))
    _limit(int(asked["seconds"]))
    from premortem.preflight.data import surveying
    from premortem.preflight.data.checks import ALL
    from premortem.preflight.project import Project

    project = Project(
        folder=Path(asked["folder"]), target=asked["target"], module=asked["module"], argv=asked["argv"]
    )
    part = surveying.survey_opened(project, asked["files"], float(asked["began"]), lambda _: None)
    cards = {check.card.code: check.card for check in ALL}
    json.dump(
        {
            "findings": [finding.to_json() for finding in part.findings],
            "explains": {f.code: list(cards[f.code].explains) for f in part.findings},
        },
        sys.stdout,
    )


def _limit(seconds: int) -> None:
    """Of processor time: a world that takes longer is a matter for `premortem check`."""
    with suppress(ImportError, ValueError, OSError):  # Windows has none
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
