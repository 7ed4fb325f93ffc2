"""How a run was started, and on what: enough to start it again, and nothing that is secret."""

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from premortem import redaction
from premortem.files import variables
from premortem.files.machine import operating_system, program

_PACKAGES = ("numpy", "torchvision", "torchaudio", "transformers", "lightning", "accelerate", "safetensors")


def how_started(argv: list[str], cwd: str) -> dict[str, Any]:
    return {
        "argv": redaction.argv(argv),
        "cwd": cwd,
        "owner": _owner(cwd),
        "python": sys.executable,
        "environment": variables.recorded(os.environ),
        "git": git_revision(cwd),
    }


def _owner(folder: str) -> int | None:
    """Whose folder it is: a replay does not look for the script in one that has another owner by then."""
    try:
        return Path(folder).stat().st_uid
    except OSError:
        return None


def git_revision(cwd: str) -> dict[str, Any] | None:
    """The commit, and whether files differ from it. None outside of a repository or without git."""
    try:
        commit = _git(cwd, "rev-parse", "HEAD")
        changed = _git(cwd, "status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit, "changed": bool(changed)}


def _git(cwd: str, *words: str) -> str:
    done = subprocess.run(
        [program("git"), "-C", cwd, *words],
        capture_output=True,
        text=True,
        timeout=5,
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return done.stdout.strip()


def versions() -> dict[str, Any]:
    import torch

    found: dict[str, Any] = {
        "python": platform.python_version(),
        "platform": operating_system(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_initialized() else "cpu",
    }
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def script_of(argv: list[str], cwd: str) -> Path | None:
    """The script's file; None for a module."""
    return None if argv[0] == "-m" else Path(cwd) / argv[0]
