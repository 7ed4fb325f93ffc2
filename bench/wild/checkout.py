"""A public repository at one commit, in a scratch folder: cloned, or taken from a folder of mirrors. Never kept here."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path


def is_closed(repo: str) -> bool:
    """Half of the repositories, decided once and for all by their names: tuning never looks at these."""
    return hashlib.sha256(repo.lower().encode()).digest()[0] % 2 == 1


def checked_out(repo: str, commit: str, folder: Path, mirror: Path | None) -> Path:
    """The files of that commit. A mirror has one bare repository for each: `owner+name/repo`."""
    there = folder / repo.replace("/", "+") / commit[:12]
    if (there / ".whole").exists():
        return there
    there.mkdir(parents=True, exist_ok=True)
    git = there.parent / "git"
    if mirror is not None:
        git = mirror / repo.replace("/", "+") / "repo"
    elif not git.exists():
        url = f"https://github.com/{repo}"
        subprocess.run(["git", "clone", "--quiet", "--bare", url, str(git)], check=True)
    listed = _git(git, "ls-tree", "-r", "-z", commit).stdout.decode().split("\0")
    for entry in filter(None, listed):
        facts, _tab, path = entry.partition("\t")
        _mode, kind, name = facts.split()
        blob = _git(git, "cat-file", "blob", name, strict=False) if kind == "blob" else None
        if blob is not None and blob.returncode == 0:  # a mirror may be without the largest files
            (there / path).parent.mkdir(parents=True, exist_ok=True)
            (there / path).write_bytes(blob.stdout)
    (there / ".whole").touch()
    return there


def _git(folder: Path, *words: str, strict: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", f"--git-dir={folder}", *words], check=strict, capture_output=True)
