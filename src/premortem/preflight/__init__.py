"""`premortem check`: what can be known before the first epoch.

    environment/   the machine and the folders, without running anything
    config/        the settings, as the script will read them
    data/          the samples themselves
    rehearsal/     a few real steps of the user's own script, a save and a resume, in a scratch folder

Each is a part: `survey(project, tell)` gives its `Part`, and `ALL` are the checks that can say something in it.
"""

from premortem.preflight.config import ALL as CONFIG
from premortem.preflight.data import ALL as DATA
from premortem.preflight.environment import ALL as ENVIRONMENT
from premortem.preflight.rehearsal import ALL as REHEARSAL
from premortem.preflight.unit import Check

ALL: tuple[type[Check], ...] = (*ENVIRONMENT, *CONFIG, *DATA, *REHEARSAL)

__all__ = ["ALL", "Check"]
