"""`premortem check`: what can be known before the first epoch.

    environment/   the machine and the folders, without running anything
    config/        the settings, as the script will read them
    data/          the samples themselves
    rehearsal/     a few real steps of the user's own script, a save and a resume, in a scratch folder

Each is a part: `survey(project, tell)` gives its `Part`, and `ALL` are the checks that can say something in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from premortem.preflight.unit import Check

    ALL: tuple[type[Check], ...]


def __getattr__(name: str) -> Any:
    """`ALL`, when it is asked for: beside a run one part is needed, and the others would be half of that process's time."""
    if name != "ALL":
        raise AttributeError(name)
    from premortem.preflight import config, data, environment, rehearsal

    return globals().setdefault("ALL", (*environment.ALL, *config.ALL, *data.ALL, *rehearsal.ALL))
