"""The user's script in a process of its own: started, waited for, ended with all that it started.

Whoever runs a script apart (replay, speed, proof, rehearsal) starts it here, so that the same holds for all of them:
nothing to read on stdin, what it prints goes to a file, and no worker of its loaders is left behind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from premortem import private, redaction

_PACKAGE = str(Path(__file__).parents[1])


@dataclass(frozen=True, kw_only=True)
class Left:
    """What a child's process left behind."""

    code: int  # 0 when it was ended because its time was over
    late: bool = False
    printed: str = ""
    seconds: float = 0.0

    def tail(self, lines: int) -> str:
        """The last lines that it printed."""
        return "\n".join(self.printed.splitlines()[-lines:])

    def problem(self, seconds: float) -> str:
        """What went wrong with the process itself; empty when nothing did."""
        if self.late:
            return f"the script took longer than {seconds:g} s (see --seconds)"
        return f"the script's process died (exit code {self.code})" if self.code else ""


class Started:
    """A child that runs. Whoever has started it ends it."""

    def __init__(
        self,
        module: str,
        words: Sequence[str],
        *,
        scratch: Path,
        cwd: Path | str | None = None,
        environment: Mapping[str, str] | None = None,
        show_output: bool = False,
        output: str = "printed.txt",
    ) -> None:
        self._printed = scratch / output
        self._began = time.monotonic()
        with private.opened(self._printed, "wb") as sink:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *words],
                cwd=cwd,
                env=surroundings(scratch, environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=None if show_output else sink,
                stderr=None if show_output else subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    @property
    def died(self) -> bool:
        """Not by itself, or with an error."""
        return bool(self._process.poll())

    def wait(self, seconds: float) -> None:
        """Until it has ended, and not longer than that."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=seconds)

    def end(self) -> Left:
        late = self.runs
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # the workers of its loaders too
        self._process.wait()
        text = redaction.redacted(self._printed.read_text(encoding="utf-8", errors="replace"))
        code = 0 if late else self._process.returncode
        return Left(code=code, late=late, printed=text, seconds=time.monotonic() - self._began)


def run_child(
    module: str,
    words: Sequence[str],
    *,
    scratch: Path,
    seconds: float,
    cwd: Path | str | None = None,
    environment: Mapping[str, str] | None = None,
    show_output: bool = False,
) -> Left:
    """`python -m MODULE WORDS`, with `environment` over this process's own."""
    child = Started(module, words, scratch=scratch, cwd=cwd, environment=environment, show_output=show_output)
    try:
        child.wait(seconds)
    finally:
        left = child.end()
    return left


def surroundings(scratch: Path, more: Mapping[str, str]) -> dict[str, str]:
    """The environment of a child: premortem can be imported, and nothing is sent or kept anywhere."""
    own = scratch / "tmp"
    own.mkdir(exist_ok=True)
    inherited = os.environ.get("PYTHONPATH", "")
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [_PACKAGE, inherited])),
        "PYTHONDONTWRITEBYTECODE": "1",
        "WANDB_MODE": "disabled",
        "PREMORTEM_CAPSULE_MIB": "0",
        # Compilers and workers exchange files with other processes, which no sandbox of ours covers.
        "TMPDIR": str(own),
        **more,
    }
