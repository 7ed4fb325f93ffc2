"""What a reader may know besides the file: where the dataset is, and which names are in it."""

from dataclasses import dataclass, field
from pathlib import Path


class MissingLibrary(Exception):  # noqa: N818 - it is no error, it is a fact
    """A format cannot be read here."""

    def __init__(self, library: str) -> None:
        super().__init__(library)
        self.library = library


class Damaged(Exception):  # noqa: N818 - likewise
    """What is wrong with the file. Nothing more is read of it; what was seen before counts."""


@dataclass(frozen=True)
class Around:
    """The dataset that a file belongs to."""

    root: Path
    names: dict[str, int] = field(default_factory=dict)  # file name, and name without suffix -> how often
    raw: str = ""  # the type of numbers without a header, as the script's code names it

    def place(self, value: str, beside: Path) -> str:
        """Where a file named in a table lies; `?` when several could be meant, nothing when none."""
        for start in (beside, self.root):
            if (start / value).is_file():
                return str(start / value)
        name = value.replace("\\", "/").rpartition("/")[2]
        return "?" if self.names.get(name) else ""
