"""A healthy script with one of drill's mistakes in it, as a script of its own.

    premortem why bench/why_mutant.py MUTANT SCRIPT ARGS…

The mistake is made while the script runs, so that no word of the source gives it away.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from premortem import changes
from premortem.changes.reach import Reach
from premortem.probes.session import _SESSIONS  # premortem's own use of torch goes past the mistake

PER_STEP = {"ris": 2}  # backward passes, where they are more than one


def main() -> None:
    mutant, script, *words = sys.argv[1:]
    run = changes.RunDescription(backwards_per_step=PER_STEP.get(Path(script).parent.name, 1))
    reach = Reach(ours=lambda: any(session.looking for session in _SESSIONS))
    changes.of("harm")[mutant](reach, run).put_on()
    sys.argv = [script, *words]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
