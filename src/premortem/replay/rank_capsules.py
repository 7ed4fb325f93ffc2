"""Which capsules belong to a step: one where one process is the whole run, else one of every rank.

RUN/capsules/step-5              of one process
RUN/rank-0/capsules/step-5       of the first rank
RUN/rank-1/capsules/step-5       ...
RUN/rank-1/run-2/capsules/...    after torchrun has started the ranks anew
"""

import os
import re
from pathlib import Path
from typing import Any

from premortem.errors import UsageError
from premortem.replay.capsule import MANIFEST, CapsuleError, NotReplayable, Paper, read
from premortem.replay.rank_results import named

_RANK = re.compile(r"rank-\d+")
_MOST = 1 << 16  # ranks of one step
_PLACES = ("step-*", "capsules/step-*", "rank-*/capsules/step-*", "rank-*/run-*/capsules/step-*")


def found(given: Path) -> Path:
    """The capsule that is meant: a run means its first one, because later failures are mostly the echo of it."""
    place = Path(os.path.realpath(given))
    if (place / MANIFEST).is_file() or not place.is_dir():
        return place
    capsules = [path for pattern in _PLACES for path in place.glob(pattern) if (path / MANIFEST).is_file()]
    if not capsules:
        raise CapsuleError(
            f"`{given}` is not a capsule and holds none; a capsule is a folder capsules/step-N of a run"
        )
    return min(capsules, key=lambda path: (_step(path), str(path)))


def newest(runs: Path) -> Path:
    """The last failure of the run that failed last."""
    capsules = [path.parent for pattern in _PLACES for path in runs.glob(f"*/{pattern}/{MANIFEST}")]
    if not capsules:
        raise UsageError(
            f"there is no failed step in {runs}; name its folder: premortem replay RUN/capsules/step-N"
        )
    last = max(capsules, key=lambda path: (path / MANIFEST).stat().st_mtime)
    return Path(os.path.realpath(last))


def _step(path: Path) -> float:
    number = path.name.removeprefix("step-")
    return int(number) if number.isdigit() else float("inf")


def siblings(capsule: Path) -> list[Paper]:
    """The capsules of all ranks that made this step, by rank. Their tensors are not read yet.

    Raises CapsuleError and NotReplayable."""
    paper = read(capsule)
    manifest = paper.manifest
    if not manifest.get("ranks"):
        return [paper]
    count, mine, ranks = _ranks(paper)
    if not ranks.get("told"):
        raise NotReplayable(
            f"this is what rank {mine} of {count} had, and the script has started its ranks by itself, without the variables "
            "of torchrun (RANK, WORLD_SIZE). A replay starts the ranks as torchrun does, and does not know how to start these"
        )
    paths = [capsule if rank == mine else beside(capsule, rank) for rank in range(count)]
    missing = [rank for rank, path in enumerate(paths) if not (path / MANIFEST).is_file()]
    if missing:
        raise NotReplayable(
            f"{count} ranks made this step together, and there is no capsule of {named(missing)}: "
            f"{paths[missing[0]]} is not there. If a part of the run was on another machine, copy its rank-N folders "
            "into this run's folder. Where only some ranks saw a failure, the others have written none, and the step "
            "cannot be run again"
        )
    papers = [paper if rank == mine else read(path) for rank, path in enumerate(paths)]
    for rank, each in enumerate(papers):
        _check(rank, each.manifest, manifest)
    return papers


def _ranks(paper: Paper) -> tuple[int, int, dict[str, Any]]:
    """How many there were, and which of them this is."""
    ranks = paper.manifest["ranks"]
    count, mine = (ranks.get(key) if isinstance(ranks, dict) else None for key in ("ranks", "rank"))
    if not isinstance(count, int) or not isinstance(mine, int) or not 0 <= mine < count <= _MOST:
        raise CapsuleError(f"{paper.folder / MANIFEST} is damaged; it does not say of which rank it is")
    return count, mine, ranks


def beside(capsule: Path, rank: int) -> Path:
    """Where that rank has written its capsule of the same step."""
    parts = list(capsule.parts)
    places = [i for i, part in enumerate(parts) if _RANK.fullmatch(part)]
    if places:
        parts[places[-1]] = f"rank-{rank}"
    return Path(*parts) if places else capsule.parent / f"rank-{rank}" / capsule.name


def _script(manifest: dict[str, Any]) -> list[str]:
    argv: list[str] = manifest["started"]["argv"]
    return argv[: 2 if argv[0] == "-m" else 1]


def _check(rank: int, theirs: dict[str, Any], mine: dict[str, Any]) -> None:
    place = theirs.get("ranks") or {}
    for what, one, other in (
        ("another rank", (place.get("rank"), place.get("ranks")), (rank, mine["ranks"]["ranks"])),
        ("another step", (theirs["number"], theirs.get("steps")), (mine["number"], mine.get("steps"))),
        # Arguments may be a rank's own.
        ("another script", _script(theirs), _script(mine)),
    ):
        if one != other:
            raise NotReplayable(
                f"the capsule in the folder of rank {rank} is of {what} ({one} instead of {other}); the capsules of one "
                "step of one run are needed"
            )
