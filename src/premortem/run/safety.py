"""What keeps a watched run's work safe: capsules, checkpoints, the room on the disk, what people ask a run for."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from premortem.actions.checkpoint_safety import Safekeeping
from premortem.actions.requests import Requests
from premortem.replay.capsule_writer import Capsules

if TYPE_CHECKING:
    from premortem.journal.write import Journal
    from premortem.probes import Attachment
    from premortem.run.found_so_far import FoundSoFar


def capsules(
    attachment: Attachment,
    journal: Journal,
    argv: list[str],
    cwd: str,
    found: FoundSoFar,
    on_capsule: Callable[[Path], None],
) -> Capsules:
    """Of steps that fail."""
    folder = journal.path.parent / "capsules"
    return Capsules(
        attachment, folder, argv, cwd, lambda path, _step: found.promise(path), on_capsule, found.withdraw
    )


def safekeeping(
    attachment: Attachment, journal: Journal, found: FoundSoFar, *, say: Callable[[str], None], **options: Any
) -> Safekeeping:
    """Install it; what premortem itself has on a full disk gives way, and requests of people are answered."""
    safekeeping = Safekeeping(attachment, journal.path.parent, say=say, **options)
    safekeeping.saving.ours |= {
        "capsules": functools.partial(give_up_capsules, found),
        "the journal": functools.partial(give_up_journal, journal, say),
    }
    safekeeping.install()
    requests = Requests(journal.path.parent, safekeeping, journal.note, say)
    journal.looks.append(requests.look)
    optimizers = attachment.optimizers
    optimizers.after_step.append(requests.stepped)
    optimizers.at_leisure |= {requests.stepped, safekeeping.stepped}
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
