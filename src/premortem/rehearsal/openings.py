"""Which files the script's own process reads, and which of them one sample is made of. No torch."""

import os
from collections import Counter
from typing import Any

from premortem.files import opened
from premortem.rehearsal.observations import Reads
from premortem.scriptrun.sandbox import Sandbox

_OF_A_SAMPLE = 64


class Openings(opened.Openings):
    """Of a script that is played in a sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__()
        self._sandbox = sandbox

    def folders(self) -> dict[str, int]:
        """How many files were read in each."""
        return dict(Counter(os.path.dirname(file) for file in self.files if self._is_the_users(file)))  # noqa: PTH120

    def _is_the_users(self, file: str) -> bool:
        """Neither of the system nor made by the script itself a moment ago."""
        return self.is_data(file) and not self._sandbox.wrote(file)

    def reads(self, dataset: Any) -> Reads | None:
        """What one sample of it is made of. Asked twice: a dataset that draws lots reads other files each time."""
        kind = type(dataset).__name__
        try:
            length = len(dataset)
            first, second = (self._of_a_sample(dataset) for _ in range(2))
        except Exception:  # noqa: BLE001 - an iterable one, or one that wants to be asked in another way
            return None
        return Reads(kind, length, first if first == second else [])

    def _of_a_sample(self, dataset: Any) -> list[str]:
        kept, self._files = self.files, {}
        try:
            dataset[0]
            found = [file for file in self.files if self._is_the_users(file)]
        finally:
            self._files = kept | self.files
        return sorted(found)[:_OF_A_SAMPLE]
