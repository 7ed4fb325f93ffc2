"""Is a job of a mirror's spool nothing but a job? A spool may have come from elsewhere, and what it names is sent away.

{"url": "s3://bucket/run", "name": "RUN/best.pt-1f0c9a/00000120-18c.pt", "single": true, "group": "best.pt-1f0c9a",
 "files": {"best.pt": {"held": "0", "bytes": 4096}}, "about": {"step": 120, "source": "/project/best.pt"}, "put": 1.7e9}
"""

import stat
from dataclasses import fields
from pathlib import Path
from typing import Any

from premortem.vault.manifest import Manifest

_ABOUT = {each.name for each in fields(Manifest)} - {"kind", "files"}


class NotAJob(ValueError):  # noqa: N818 - reads as what it says
    """It would send, overwrite or remove what is not its own."""


def sound(folder: Path, job: Any) -> dict[str, Any]:
    """The job, when it names plain files of its own folder and names below the mirror's address. Raises NotAJob."""
    if not isinstance(job, dict) or not isinstance(job.get("files"), dict) or not job["files"]:
        raise NotAJob(f"{folder} does not say what is to be sent")
    if not isinstance(job.get("single"), bool) or (job["single"] and len(job["files"]) != 1):
        raise NotAJob(f"{folder} does not say whether it is a file or a folder")
    if not isinstance(job.get("group"), str) or not isinstance(job.get("url"), str):
        raise NotAJob(f"{folder} does not say where it is to be sent")
    if not isinstance(job.get("about"), dict) or not set(job["about"]) <= _ABOUT:
        raise NotAJob(f"{folder} describes something other than a checkpoint")
    for name in (job.get("name"), *job["files"]):
        if not _below(name):
            raise NotAJob(f"{folder} would be sent as {name!a}, which leads out of the mirror")
    if any(each.is_symlink() for each in (folder, folder / "data")):
        raise NotAJob(f"{folder} is a link, and not the job itself")
    for file in job["files"].values():
        _held(folder, file)
    return job


def _held(folder: Path, file: Any) -> None:
    number = file.get("held") if isinstance(file, dict) else None
    if not isinstance(number, str) or not (number.isascii() and number.isdecimal()):
        raise NotAJob(f"{folder} would send {number!a}, which is not a file of its own")
    if not isinstance(file.get("bytes"), int):
        raise NotAJob(f"{folder} does not say how much there is to send")
    try:
        plain = stat.S_ISREG((folder / "data" / number).lstat().st_mode)
    except FileNotFoundError:
        return  # it is missed where it is read
    if not plain:
        raise NotAJob(f"{folder} would send {number}, which is not a plain file")


def _below(name: Any) -> bool:
    if not isinstance(name, str) or "\\" in name or "\0" in name:
        return False
    return all(part not in {"", ".", ".."} for part in name.split("/"))
