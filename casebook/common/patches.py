"""Unified diffs, applied strictly: what a hunk takes away must be there exactly once, or it is an error.

Line numbers are not looked at, so a case may be edited above a hunk; the text around it may not.
"""

from __future__ import annotations

from pathlib import Path


class PatchError(Exception):
    """The patch was made for another text."""


def apply(patch: Path, folder: Path) -> None:
    """Change the files under `folder` as the patch says."""
    for name, hunks in _files(patch):
        target = folder / name
        if not target.is_file():
            raise PatchError(f"{patch}: there is no file {name}")
        text = target.read_text(encoding="utf-8")
        for number, (before, after) in enumerate(hunks, start=1):
            times = text.count(before)
            if times != 1 or before == after:
                raise PatchError(f"{patch}: hunk {number} of {name} is there {times} times, not once")
            text = text.replace(before, after)
        target.write_text(text, encoding="utf-8")


def _files(patch: Path) -> list[tuple[str, list[tuple[str, str]]]]:
    files: list[tuple[str, list[tuple[list[str], list[str]]]]] = []
    for line in patch.read_text(encoding="utf-8").splitlines(keepends=True):
        if line.startswith("--- "):
            continue
        if line.startswith("+++ "):
            files.append((line[4:].split()[0].removeprefix("b/"), []))
        elif line.startswith("@@"):
            files[-1][1].append(([], []))
        elif line[0] in " -+" and files and files[-1][1]:
            before, after = files[-1][1][-1]
            if line[0] != "+":
                before.append(line[1:])
            if line[0] != "-":
                after.append(line[1:])
        else:
            raise PatchError(f"{patch}: cannot read the line {line!r}")
    if not files or not all(hunks for _, hunks in files):
        raise PatchError(f"{patch}: changes nothing")
    return [(name, [("".join(old), "".join(new)) for old, new in hunks]) for name, hunks in files]
