"""How diagnostics are shown: one file for each format, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from premortem.lint.diagnostics import Diagnostic
from premortem.lint.output import json, text

# Each takes all diagnostics, in order, and gives the whole output.
FORMATS: dict[str, Callable[[Sequence[Diagnostic]], str]] = {
    "text": text.render,
    "json": json.render,
}
