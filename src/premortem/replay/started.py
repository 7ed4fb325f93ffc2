"""How a run was started, and on what: enough to start it again, and nothing that is secret."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

# Variables that change what torch computes. Nothing else of the environment is written.
_ALLOWED = re.compile(
    r"(CUDA_VISIBLE_DEVICES|CUDA_LAUNCH_BLOCKING|CUBLAS_WORKSPACE_CONFIG|OMP_NUM_THREADS|MKL_NUM_THREADS"
    r"|NVIDIA_TF32_OVERRIDE|PYTHONHASHSEED|PYTORCH_[A-Z0-9_]+)"
)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASS|CREDENTIAL|AUTH|COOKIE", re.IGNORECASE)
_HIDDEN = "<left out>"
_PACKAGES = ("numpy", "torchvision", "torchaudio", "transformers", "lightning", "accelerate", "safetensors")


def how_started(argv: list[str], cwd: str) -> dict[str, Any]:
    return {
        "argv": without_secrets(argv),
        "cwd": cwd,
        "owner": _owner(cwd),
        "python": sys.executable,
        "environment": environment(os.environ),
        "git": git_revision(cwd),
    }


def _owner(folder: str) -> int | None:
    """Whose folder it is: a replay does not look for the script in one that has another owner by then."""
    try:
        return Path(folder).stat().st_uid
    except OSError:
        return None


def environment(variables: Any) -> dict[str, str]:
    return {
        name: value
        for name, value in sorted(variables.items())
        if _ALLOWED.fullmatch(name) and not _SECRET.search(name)
    }


def without_secrets(argv: list[str]) -> list[str]:
    """`--api-key xyz` and `--token=xyz` lose their values; a replay gives the script the placeholder."""
    shown: list[str] = []
    hide = False
    for word in argv:
        name, equals, _value = word.partition("=")
        if hide and not word.startswith("-"):
            shown.append(_HIDDEN)
        elif word.startswith("-") and equals and _SECRET.search(_words(name)):
            shown.append(f"{name}={_HIDDEN}")
        else:
            shown.append(word)
        hide = word.startswith("-") and not equals and bool(_SECRET.search(_words(name)))
    return shown


def _words(option: str) -> str:
    """`--keyframes` or `--tokenizer` are no secrets: only whole words of an option's name count."""
    parts = re.split(r"[-_.]", option)
    return " ".join(p for p in parts if p.lower() in _SECRET_WORDS)


_SECRET_WORDS = frozenset(
    "key apikey token secret password passwd pass passphrase credential credentials auth cookie".split()
)


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
        ["git", "-C", cwd, *words],  # noqa: S607 - whichever git the user has
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
        "platform": platform.platform(),
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
