"""The commit that a folder is at, read without git."""

from pathlib import Path


def revision(folder: Path) -> str:
    """Empty where there is none."""
    for home in (folder, *folder.parents):
        git = home / ".git"
        try:
            if git.is_file():  # a work tree of another repository
                git = home / git.read_text(encoding="utf-8").partition("gitdir:")[2].strip()
            head = (git / "HEAD").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            continue
        if not head.startswith("ref:"):
            return head
        return _resolved(git, head.partition(":")[2].strip())
    return ""


def _resolved(git: Path, name: str) -> str:
    for room in (git, git.parent.parent):  # of a work tree, the second
        try:
            return (room / name).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            pass
        try:
            packed = (room / "packed-refs").read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        for line in packed.splitlines():
            commit, _space, known = line.partition(" ")
            if known == name:
                return commit
    return ""
