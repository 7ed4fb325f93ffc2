"""What keeps a watched run's work safe: its checkpoints, the room on the disk, what people ask a run for."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from premortem.actions.checkpoint_safety import Safekeeping
from premortem.actions.requests import Requests

if TYPE_CHECKING:
    from premortem.journal.write import Journal
    from premortem.probes import Attachment
    from premortem.run.found_so_far import FoundSoFar
    from premortem.vault.deadline import Deadline
    from premortem.vault.mirror import Mirror


def keep_safe(
    attachment: Attachment,
    journal: Journal,
    found: FoundSoFar,
    *,
    mirror: Mirror | None,
    deadline: Deadline | None,
    changes: bool,
    settle: Callable[[], None],
    say: Callable[[str], None],
    have_done: Callable[[Callable[[], None]], bool],
) -> Safekeeping:
    folder = journal.path.parent
    safekeeping = Safekeeping(
        attachment,
        folder,
        mirror=mirror,
        deadline=deadline,
        changes=changes,
        settle=settle,
        say=say,
        have_done=have_done,
    )
    safekeeping.saving.ours |= {
        "capsules": functools.partial(give_up_capsules, found),
        "the journal": functools.partial(give_up_journal, journal, say),
    }
    safekeeping.install()
    requests = Requests(folder, safekeeping, journal.note, say)
    journal.looks.append(requests.look)
    attachment.optimizers.after_step.append(requests.stepped)
    attachment.optimizers.at_leisure |= {requests.stepped, safekeeping.stepped}
    return safekeeping


def give_up_capsules(found: FoundSoFar, near: Path) -> bool:
    """The disk is full, and a checkpoint of the script's is worth more than a step that can be run again."""
    given_up = [path for path in found.capsules if on_the_disk_of(path, near)]
    for path in given_up:
        shutil.rmtree(path, ignore_errors=True)
    found.capsules = [path for path in found.capsules if path not in given_up]
    return bool(given_up)


def give_up_journal(journal: Journal, say: Callable[[str], None], near: Path) -> bool:
    if not journal.path.exists() or not on_the_disk_of(journal.path, near):
        return False
    kept = journal.give_way()
    say(f"the disk is full, and the journal gave way; {f'it is in {kept}' if kept else 'it is lost'}")
    return True


def on_the_disk_of(path: Path, near: Path) -> bool:
    try:
        return path.stat().st_dev == near.parent.stat().st_dev
    except OSError:
        return False
