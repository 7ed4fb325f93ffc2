"""The fenced blocks of a page, with what the page's source says about running them.

A block's own line may name a file (```` ```python title="train.py" ````): it is written, or changed if it is a diff.
Comments right above a block are marks:

    <!-- not run: REASON -->     cannot be run here; its syntax and its options are checked all the same
    <!-- exits: 1 -->            the exit codes of its commands; one for all, or one for each
    <!-- needs: PACKAGE -->      run where this package is installed (`make doors` installs them)
    <!-- at a terminal: 80 -->   its commands are run at a terminal of so many columns
    <!-- files: FOLDER -->       at the top of a page: the folder of docs/examples that its commands are run in
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (
        *ROOT.glob("docs/**/*.md"),
        ROOT / "README.md",
        ROOT / "ARCHITECTURE.md",
        ROOT / "CONTRIBUTING.md",
        ROOT / "casebook" / "README.md",
    )
)
MARKS = ("not run", "exits", "needs", "at a terminal", "files")
_MARK = re.compile(rf"\s*<!-- ({'|'.join(MARKS)}): (.+) -->\s*")
_FENCE = re.compile(r'(?P<indent>\s*)```(?P<language>[^\s`]+)?(?: title="(?P<title>[^"]+)")?\s*')


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    title: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    def __str__(self):
        return f"{self.page}:{self.line}"

    @property
    def commands(self):
        """Each command of a session, with the lines that it is said to print."""
        found = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found and found[-1][0].endswith("\\") and not found[-1][1]:
                found[-1] = (f"{found[-1][0][:-1]}{line.strip()}", [])
            else:
                found[-1][1].append(line)
        return found


def of(page):
    """The blocks of a page, in their order."""
    blocks, marks, opened, inner = [], {}, None, []
    for number, line in enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1):
        if opened is not None:
            if line.strip() == "```":
                text = textwrap.dedent("\n".join(inner)) + "\n"
                blocks.append(Block(page, opened[1], *opened[0], text, marks))
                opened, marks, inner = None, {}, []
            else:
                inner.append(line)
        elif fence := _FENCE.fullmatch(line):
            opened = ((fence["language"] or "", fence["title"] or ""), number)
        elif mark := _MARK.fullmatch(line):
            marks = {**marks, mark[1]: mark[2]}
        elif line.strip() and not line.startswith("<!--"):
            marks = {}
    assert opened is None, f"{page}:{opened[1]} is never closed"
    return blocks


def files(page):
    """The folder whose files the page's commands find."""
    found = re.findall(r"^<!-- files: (.+) -->$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return ROOT / "docs" / "examples" / (found[0] if found else "plain")
