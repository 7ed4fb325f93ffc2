"""The data that the run reads, looked at beside it by the checks of `premortem check`, in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import IO, Any, NamedTuple

from premortem.cards import Card
from premortem.derived.folding import fold
from premortem.files import trust
from premortem.files.untrusted import loads
from premortem.findings import Finding, Severity
from premortem.run.found_so_far import working_folder
from premortem.run.options import RunOptions

SECONDS = 60  # of processor time
# Seconds that the end of a run waits for it: a moment that a person does not notice, in which a small world is nearly ready on a machine that has
# a core to spare. Of a longer run a hundredth, which is not noticed either. What is not ready then is a matter for `premortem check`.
MOMENT, SHARE, MOST = 0.3, 0.01, 2.0
# Without the working folder among the places of modules: a `json.py` of the user's must not be run.
_CALL = (
    "import sys; sys.path[:] = filter(None, sys.path); from premortem.preflight import beside; beside.main()"
)
_SILENT = ("pyarrow", "h5py", "polars")  # libraries that open files by themselves, unheard
_MOST_ANSWER = 1 << 24  # bytes; a longer one is not ours
_MOST_FILES = 2000  # names that are handed over; a folder of pictures is known by any of them


class Said(NamedTuple):
    findings: tuple[Finding, ...]
    cards: tuple[Card, ...]


class DataReading:
    """Started once, at the first step; `take` has what was found when it is done."""

    def __init__(self, options: RunOptions, fault: Callable[[str, BaseException], None]) -> None:
        self._options = options
        self._fault = fault
        self._folder = working_folder()
        self._started = time.time()
        self._began = 0.0
        self._process: subprocess.Popen[bytes] | None = None
        self._answer: IO[bytes] | None = None
        self.over = False

    @property
    def begun(self) -> bool:
        return self._process is not None or self.over

    def begin(self, files: Sequence[str]) -> None:
        """Nothing to read is nothing to start."""
        if self.begun:
            return
        if not files and not any(name in sys.modules for name in _SILENT):
            self.over = True
            return
        self._began = time.monotonic()
        options = self._options
        asked = {
            "run": os.getpid(),
            "folder": self._folder,
            "target": options.target,
            "module": options.module,
            "argv": options.argv,
            "files": list(files)[:_MOST_FILES],
            "began": self._started,
            "seconds": SECONDS,
        }
        try:
            question = tempfile.TemporaryFile()  # noqa: SIM115 - closed below, once it is handed over
            question.write(json.dumps(asked).encode())
            question.seek(0)
            self._answer = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process has ended
            with question:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _CALL],
                    stdin=question,
                    stdout=self._answer,
                    stderr=subprocess.DEVNULL,
                    cwd=self._folder,
                    env={**os.environ, **trust.handed_on(), "CUDA_VISIBLE_DEVICES": ""},
                    start_new_session=True,  # Ctrl-C is for the run, which ends it
                )
        except OSError as error:
            self._fault("data reading", error)
            self.over = True

    def take(self, *, last: bool = False) -> Said | None:
        """What was found, once; None before that, and afterwards. At the end of the run it is waited for, a moment."""
        process = self._process
        if process is None or self.over:
            return None
        if last:
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(MOMENT, min(MOST, SHARE * (time.monotonic() - self._began))))
        if process.poll() is None:
            if last:
                self.close()
            return None
        # Where it did not come to its own end, its limit has ended it, or whoever needed the memory; what it had found by then counts.
        said = self._said()
        said = said if process.returncode == 0 or (said is not None and said.findings) else None
        self.close()
        return said

    def close(self) -> None:
        self.over = True
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._answer is not None:
            self._answer.close()

    def _text(self) -> bytes:
        if self._answer is None:
            return b""
        self._answer.seek(0)
        return self._answer.read(_MOST_ANSWER)

    def _said(self) -> Said | None:
        found: list[Finding] = []
        cards: dict[str, Card] = {}
        try:
            for line in self._text().splitlines(keepends=True):
                if not line.endswith(b"\n"):
                    break  # it was ended while it wrote
                record: dict[str, Any] = loads(line)
                f = Finding.from_json(record["finding"])
                found.append(f)
                cards[f.code] = Card(f.code, f.name, f.family, f.severity, explains=tuple(record["explains"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._fault("data reading", error)
            return None
        # The run hears them one by one, and would show a consequence that comes before its cause.
        kept = tuple(map(warned, fold(found, cards)))
        return Said(kept, tuple(cards[f.code] for f in kept))


def warned(finding: Finding) -> Finding:
    """A run that makes steps has samples: what its files say beside it warns, and stops nothing."""
    return replace(finding, severity=Severity.WARNING) if finding.severity is Severity.ERROR else finding
