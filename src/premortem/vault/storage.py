"""Whether a folder is lost when the machine goes away; reported only on positive evidence."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from premortem.vault.deadline import on_colab, on_kaggle


class Storage(NamedTuple):
    kind: str  # as a sentence goes on: "a Colab session"
    certain: bool  # it is wiped when the session ends; not only when the machine is thrown away


class Mount(NamedTuple):
    device: str
    where: str
    kind: str


def judge(path: Path, environ: Mapping[str, str] = os.environ) -> Storage | None:
    """None: nothing speaks against it."""
    place = os.path.realpath(path)
    mount = mount_of(place)
    if on_kaggle(environ):
        if not _below(place, "/kaggle/working"):
            return Storage("a Kaggle session, outside /kaggle/working", True)
        if environ["KAGGLE_KERNEL_RUN_TYPE"].lower() == "interactive":
            return Storage(
                "an interactive Kaggle session, whose files last only if a version is saved", False
            )
        return None
    if on_colab(environ):
        return (
            None if mount.kind.startswith("fuse") else Storage("a Colab session, outside Google Drive", True)
        )
    scratch = environ.get("SLURM_TMPDIR")
    if scratch and _below(place, os.path.realpath(scratch)):
        return Storage("the scratch folder of a SLURM job", True)
    if _instance_store(mount):
        return Storage("an instance store, which is wiped when the machine is stopped", True)
    if _below(place, os.path.realpath(tempfile.gettempdir())):
        return None  # saving to a temporary folder is meant
    if mount.kind in {"tmpfs", "ramfs"}:
        return Storage("memory, not a disk: it is gone after a restart", False)
    if mount.kind == "overlay" and _in_container():
        return Storage("the inside of a container: it goes when the container is removed", False)
    return None


def nothing_lasts(environ: Mapping[str, str] = os.environ) -> Storage | None:
    """Before anything is saved: a session in which no folder outlives it."""
    if on_colab(environ) and not any(mount.kind.startswith("fuse") for mount in mounts()):
        return Storage("a Colab session, and Google Drive is not mounted", True)
    return None


def mounts() -> list[Mount]:
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [Mount(*line.split()[:3]) for line in lines if len(line.split()) > 2]


def mount_of(place: str) -> Mount:
    """The innermost one; of two at the same place, the later one covers the earlier."""
    found = Mount("", "", "")
    for mount in mounts():
        if _below(place, mount.where) and len(mount.where) >= len(found.where):
            found = mount
    return found


def _below(place: str, folder: str) -> bool:
    return (place + "/").startswith(folder.rstrip("/") + "/")


def _instance_store(mount: Mount) -> bool:
    """Azure puts a warning there; Amazon's disks say what they are."""
    if not mount.where:
        return False
    if mount.where != "/" and Path(mount.where, "DATALOSS_WARNING_README.txt").exists():
        return True
    if not mount.device.startswith("/dev/"):
        return False
    disk = Path(mount.device).name
    model = ""
    for name in (disk, disk.rpartition("p")[0]):
        try:
            model = model or Path("/sys/block", name, "device/model").read_text(encoding="ascii").strip()
        except OSError:
            continue
    return "Instance Storage" in model


def _in_container() -> bool:
    return Path("/.dockerenv").exists() or Path("/run/.containerenv").exists()
