"""`--findings FILE.json`: what was found, in the form other tools rely on."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from premortem import __version__
from premortem.files import private
from premortem.files.plain import dumps
from premortem.findings import Finding


class FindingsFile:
    """FILE.json: always whole, because it is replaced, never rewritten in place."""

    def __init__(self, path: Path, on_problem: Callable[[str], None]) -> None:
        with suppress(OSError):  # when the current folder was deleted under us
            path = Path(os.path.realpath(path))  # the script may change its folder; a link stays a link
        self.path = path
        self._on_problem: Callable[[str], None] | None = on_problem

    def write(self, run: dict[str, Any], findings: Sequence[Finding]) -> None:
        if self._on_problem is None:
            return
        record = {"premortem": __version__, "run": run, "findings": [f.to_json() for f in findings]}
        try:
            self._replace(dumps(record, indent=2) + "\n")
        except OSError as error:
            tell, self._on_problem = self._on_problem, None
            tell(f"the findings cannot be written to {self.path} ({error.strerror}); the run goes on")

    def _replace(self, text: str) -> None:
        if self.path.exists() and not self.path.is_file():
            self.path.write_text(text)  # /dev/stderr, a pipe: replacing it would be the end of it
            return
        if not self.path.parent.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
        private.replace_text(self.path, text)
