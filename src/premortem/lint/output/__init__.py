"""How reports are shown: one file for each format, and one line here.

Each takes all reports, in order, and how many files were read, and gives the whole output. A format is imported
when it is asked for: start-up is a promise.
"""

from collections.abc import Callable, Sequence
from importlib import import_module

from premortem.lint.diagnostics import Diagnostic

Render = Callable[[Sequence[Diagnostic], int], str]

FORMATS = ("text", "json", "sarif", "github")
STATISTICS = {"text": "table", "json": "records"}


def renderer(name: str) -> Render:
    """The renderer of one of FORMATS."""
    render: Render = import_module(f"premortem.lint.output.{name}").render
    return render


def statistics_renderer(name: str) -> Render:
    """The same for `--statistics`, which only STATISTICS have."""
    render: Render = getattr(import_module("premortem.lint.output.statistics"), STATISTICS[name])
    return render
