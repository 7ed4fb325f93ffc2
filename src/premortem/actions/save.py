"""One save, on its way from a door to its place."""

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from premortem.vault.atomic import reason
from premortem.vault.save_verdict import UNKNOWN, Looked


@dataclass
class Save:
    """One save, on its way."""

    thing: Any
    path: Path  # the real one
    given: str  # as the script wrote it
    write: Callable[[Path], Any]  # the library's own way; what it returns is returned
    check: Callable[[Path], str]  # what is wrong with what was written; "" when nothing is
    measure: Callable[[], int | None]  # how many bytes it will have; None when it is not known
    printed: tuple[str, ...] = ()  # of files like these in it, which have no checksums, prints are taken
    looked: Looked = UNKNOWN

    def write_in_place(self) -> Any:
        """Under the name that the script gave: torch writes it into the file, and a link's is not its target's."""
        return self.write(Path(self.given))

    def unsigned(self) -> list[Path]:
        """The files of which prints are taken."""
        if self.path.is_dir():
            return [each for pattern in self.printed for each in self.path.glob(pattern)]
        return [self.path] if self.printed else []


def remove_draft(draft: Path) -> None:
    if draft.is_dir():
        shutil.rmtree(draft, ignore_errors=True)
    else:
        draft.unlink(missing_ok=True)


def one_line(error: BaseException) -> str:
    return reason(error) if isinstance(error, OSError) else (str(error).splitlines() or [""])[0][:200]


def real(path: Any) -> Path:
    return Path(os.path.realpath(os.fspath(path)))
