"""How a run was started, and on what: enough to start it again, and nothing that is secret."""

import os
import platform
import sys
from pathlib import Path
from typing import Any

from premortem import redaction
from premortem.files import variables
from premortem.files.machine import answer_of, installed, operating_system
from premortem.files.repository import revision

_PACKAGES = ("numpy", "torchvision", "torchaudio", "transformers", "lightning", "accelerate", "safetensors")
_PATIENCE = 5.0  # seconds for git: a repository on a slow disk is not worth more


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
    words = ["git", "-C", cwd, "status", "--porcelain", "--branch", "--untracked-files=no"]
    said = answer_of(words, _PATIENCE, well=True).splitlines()  # the branch, then the files
    commit = revision(Path(cwd)) if said else ""
    return {"commit": commit, "changed": len(said) > 1} if commit else None


def versions() -> dict[str, Any]:
    import torch

    return {
        "python": platform.python_version(),
        "platform": operating_system(),
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "threads": torch.get_num_threads(),
        "device": torch.cuda.get_device_name() if torch.cuda.is_initialized() else "cpu",
        **installed(_PACKAGES),
    }


def script_of(argv: list[str], cwd: str) -> Path | None:
    """The script's file; None for a module."""
    return None if argv[0] == "-m" else Path(cwd) / argv[0]
