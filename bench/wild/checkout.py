"""A public repository at one commit, in a scratch folder: cloned, or taken from a folder of mirrors. Never kept here."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

SOURCES = (".py", ".yaml", ".yml")  # what a script may import or read; anything else is named in `needs`
LARGEST = 400_000


def folder_of(repo: str, commit: str) -> str:
    return f"{repo.replace('/', '+')}/{commit[:12]}"


def checked_out(script: dict[str, Any], folder: Path, mirror: Path | None) -> Path:
    """The sources of that commit, and what the script needs besides. A mirror has `owner+name/repo` for each."""
    repo, commit = script["repo"], script["commit"]
    there = folder / folder_of(repo, commit)
    if mirror is None and (there / ".exported").exists():
        return there
    there.mkdir(parents=True, exist_ok=True)
    git = there.parent / "git"
    if mirror is not None:
        git = mirror / repo.replace("/", "+") / "repo"
        git = git if (git / "HEAD").exists() else git / ".git"
    elif not git.exists():
        url = f"https://github.com/{repo}"
        subprocess.run(["git", "clone", "--quiet", "--bare", url, str(git)], check=True)
    listed = _git(git, "ls-tree", "-r", "-l", "-z", commit).stdout.decode().split("\0")
    needs, under = tuple(script.get("needs", ())), script.get("under", "")
    for entry in filter(None, listed):
        facts, _tab, path = entry.partition("\t")
        _mode, kind, name, size = facts.split()
        if kind != "blob" or not size.isdigit() or (there / path).exists():
            continue  # a mirror may be without the largest files
        if path.startswith(needs) or (
            path.startswith(under) and path.endswith(SOURCES) and int(size) < LARGEST
        ):
            blob = _git(git, "cat-file", "blob", name, strict=False)
            if blob.returncode == 0:
                (there / path).parent.mkdir(parents=True, exist_ok=True)
                (there / path).write_bytes(blob.stdout)
    return there


def _git(folder: Path, *words: str, strict: bool = True) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", f"--git-dir={folder}", *words], check=strict, capture_output=True)
