"""May the command of a capsule be started? Yes, when this user wrote the capsule on this machine; else they are asked.

A signature says who wrote a capsule, not what lies on the disk now. The command is looked up in the recorded folder, so that
folder must still be the one of the run: not a link to another place, and not of an owner who came later.
"""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from premortem.amounts import few
from premortem.errors import UsageError
from premortem.files import trust
from premortem.replay.capsule import Paper

# Of the recorded environment only these are set again, and only to words of this kind.
_AGAIN = (
    "OMP_NUM_THREADS MKL_NUM_THREADS PYTHONHASHSEED CUBLAS_WORKSPACE_CONFIG NVIDIA_TF32_OVERRIDE"
).split()
_WORD = re.compile(r"[\w:,.-]{1,64}")
_MOST = 16  # commands that are shown; ranks mostly share one


def check(papers: Sequence[Paper], cwd: Path | None) -> None:
    """Raises UsageError that shows what would be started. `cwd` is the folder that the user named instead of the recorded one.

    Nothing that an untrusted capsule names is touched: not even to see whether it is there."""
    for paper in papers:
        doubt = paper.doubt or ("" if cwd is not None else _moved(paper.manifest["started"]))
        if doubt:
            raise UsageError(_asked(papers, paper, doubt, cwd))


def recorded_environment(manifest: Mapping[str, Any]) -> dict[str, str]:
    """What a replay sets again."""
    recorded = manifest["started"].get("environment")
    if not isinstance(recorded, dict):
        return {}
    return {
        name: recorded[name]
        for name in _AGAIN
        if isinstance(recorded.get(name), str) and _WORD.fullmatch(recorded[name])
    }


def _moved(started: Mapping[str, Any]) -> str:
    """Why the recorded folder is not that of the run any more; "" when it is, or is gone."""
    cwd = str(started.get("cwd") or "")
    if not cwd:
        return ""
    try:
        owner = Path(cwd).stat().st_uid
    except OSError:
        return ""
    if os.path.realpath(cwd) != cwd:
        return f"its folder has become a link to {trust.shown([os.path.realpath(cwd)])}"
    if hasattr(os, "geteuid") and owner not in {started.get("owner"), os.geteuid(), 0}:
        return f"its folder belongs to another user now (number {owner})"
    return ""


def _asked(papers: Sequence[Paper], doubted: Paper, doubt: str, cwd: Path | None) -> str:
    commands = dict.fromkeys(trust.shown(["python", *each.manifest["started"]["argv"]]) for each in papers)
    several = [f"`{command}`" for command in commands]
    listed = few(several, _MOST, " and ") + (", of other ranks" if len(several) > _MOST else "")
    folder = trust.shown([str(cwd if cwd is not None else doubted.manifest["started"].get("cwd"))])
    variables = trust.shown(
        f"{name}={value}" for name, value in recorded_environment(doubted.manifest).items()
    )
    return (
        f"the capsule {doubted.folder} may not be yours: {doubt}. A replay would start {listed} in {folder}"
        f"{f' with {variables}' if variables else ''}. If you trust its author, add --trust"
    )
