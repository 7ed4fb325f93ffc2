"""Unified diffs: read and applied to texts, never to files. Pure."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
NOTHING = "/dev/null"


class DoesNotApply(ValueError):  # noqa: N818 - a state of the diff
    """The text is not the one that the diff was made for."""


@dataclass
class Hunk:
    start: int  # line of the old text, from 1
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass
class FileDiff:
    old: str
    new: str
    hunks: list[Hunk] = field(default_factory=list)

    @property
    def path(self) -> str:
        return self.old if self.new == NOTHING else self.new


def read(text: str) -> list[FileDiff]:
    """Raises DoesNotApply when it is no unified diff."""
    found: list[FileDiff] = []
    lines = text.splitlines(keepends=True)
    place = 0
    while place < len(lines):
        line = lines[place]
        following = lines[place + 1] if place + 1 < len(lines) else ""
        if line.startswith("--- ") and following.startswith("+++ "):
            found.append(FileDiff(_path(line), _path(following)))
            place += 2
        elif found and (match := _HUNK.match(line)):
            place = _hunk(lines, place + 1, match, found[-1])
        else:
            place += 1
    if not any(each.hunks for each in found):
        raise DoesNotApply("it is not a unified diff (`git diff` and `diff -u` make one)")
    return found


def _path(line: str) -> str:
    name = line[4:].partition("\t")[0].strip()
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunk(lines: list[str], place: int, match: re.Match[str], file: FileDiff) -> int:
    start, old, _, new = (int(each) if each is not None else 1 for each in match.groups())
    hunk = Hunk(start)
    while place < len(lines) and (len(hunk.before) < old or len(hunk.after) < new):
        kind, rest = lines[place][:1], lines[place][1:]
        if kind in {" ", "-", "\n"}:
            hunk.before.append(rest if kind != "\n" else "\n")
        if kind in {" ", "+", "\n"}:
            hunk.after.append(rest if kind != "\n" else "\n")
        if kind not in {" ", "-", "+", "\n", "\\"}:
            raise DoesNotApply(f"a hunk of {file.path} ends too early")
        place += 1
    file.hunks.append(hunk)
    return place


def applied(file: FileDiff, text: str) -> str:
    """The text after the diff. Lines may have moved; their contents must be the same."""
    lines = [_bare(each) for each in text.splitlines(keepends=True)]
    ending = text.endswith("\n") or not text
    moved = 0
    for hunk in file.hunks:
        before, after = [_bare(each) for each in hunk.before], [_bare(each) for each in hunk.after]
        wanted = max(0, hunk.start - 1 + moved) if before else hunk.start + moved
        found = _nearest(lines, before, wanted)
        if found is None:
            raise DoesNotApply(f"{file.path} is not the text that the diff was made for (line {hunk.start})")
        lines[found : found + len(before)] = after
        moved += len(after) - len(before) + found - wanted
    return "\n".join(lines) + ("\n" if ending and lines else "")


def _nearest(lines: list[str], block: list[str], wanted: int) -> int | None:
    if not block:
        return min(wanted, len(lines))
    places = [at for at in range(len(lines) - len(block) + 1) if lines[at : at + len(block)] == block]
    return min(places, key=lambda at: abs(at - wanted), default=None)


def _bare(line: str) -> str:
    return line.rstrip("\r\n")


def files_after(text: str, read_file: Callable[[str], str | None]) -> dict[str, str]:
    """Each file that the diff changes, by its path in the diff, as it is afterwards."""
    made = {}
    for file in read(text):
        before = "" if file.old == NOTHING else read_file(file.path)
        if before is None:
            raise DoesNotApply(f"there is no {file.path}")
        made[file.path] = applied(file, before)
    return made
