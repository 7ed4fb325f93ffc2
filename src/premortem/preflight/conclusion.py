"""What can only be judged when all parts have spoken: the time and the disk that the whole run needs, and the data
that the script was seen to read.

The rehearsal puts what it has measured into its record; whatever is missing there is not judged.

    eta_seconds         of the whole run
    checkpoint_bytes    of one checkpoint
    checkpoint_count    that the whole run will keep
    checkpoint_folder   where they go
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from premortem.preflight import data
from premortem.preflight.environment import TIME
from premortem.preflight.environment.budget import Budget
from premortem.preflight.environment.checks.disk_smaller_than_checkpoints import DiskSmallerThanCheckpoints
from premortem.preflight.environment.machine_facts import Facts, Saving
from premortem.preflight.environment.outputs import free
from premortem.preflight.project import Part, Project, Tell
from premortem.rehearsal.observations import Rehearsed


def conclude(project: Project, machine: Part, samples: Part, rehearsed: Part, tell: Tell) -> None:
    """Adds time and disk to the rehearsal's findings, where the numbers were measured, and the rest to the data's."""
    if "facts" in rehearsed.record:
        seen = Rehearsed.from_json(rehearsed.record["facts"])
        samples.absorb(data.survey_seen(project, seen, samples, tell))
    eta = rehearsed.record.get("eta_seconds")
    if isinstance(eta, (int, float)) and eta > 0:
        rehearsed.judge(TIME, _budget(project, machine.record, float(eta)))
    saving = _saving(project, rehearsed.record)
    if saving is not None and not machine.record.get("savings"):
        rehearsed.judge((DiskSmallerThanCheckpoints,), Facts(savings=[saving]))


def _budget(project: Project, machine: Mapping[str, Any], eta: float) -> Budget:
    booking, use = machine.get("booking") or {}, machine.get("use") or {}
    return Budget(
        eta=eta,
        deadline=project.deadline,
        quota=project.quota,
        booked=booking.get("devices", 1),
        used=use.get("devices", 0),
    )


def _saving(project: Project, record: Mapping[str, Any]) -> Saving | None:
    size, count, folder = (record.get(f"checkpoint_{word}") for word in ("bytes", "count", "folder"))
    if not isinstance(size, int) or not isinstance(count, int) or not isinstance(folder, (str, Path)):
        return None
    room = free(project.folder / folder)
    return None if room is None else Saving(pattern=f"{folder}/*", free=room, size=size, count=count)
