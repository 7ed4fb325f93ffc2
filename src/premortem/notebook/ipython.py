"""What a person sees of premortem in IPython.

In a notebook: one card beneath the cell, that grows while the cell runs. In a terminal's IPython, where a card would be
no more than the name of its class: lines, as for a script. Both begin with the modules that have changed on the disk
since they were imported, and end with a verdict.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from typing import Any

from premortem.events import RunEnded
from premortem.findings import Finding
from premortem.notebook.html_card import card
from premortem.sinks.base import Outcome
from premortem.terminal.console import Console


def face() -> Lines | CellCard | None:
    """None outside of IPython, where every process begins with fresh modules and ends with a summary of its own."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None:
        return None
    return Lines() if getattr(shell, "kernel", None) is None else CellCard()


class Lines:
    """For a terminal."""

    def __init__(self) -> None:
        self._console = Console()

    def began(self) -> None:
        for finding in stale():
            self._console.finding(finding)

    def found(self, finding: Finding, findings: Sequence[Finding], steps: int) -> None:
        self._console.finding(finding)

    def ended(self, findings: Sequence[Finding], steps: int, ended: RunEnded) -> None:
        self._console.summary(findings, steps, None, stopped=False)

    def problem(self, sentence: str) -> None:
        self._console.problem(sentence)


class CellCard:
    """For a notebook. Shown with the first finding, or at the end; what comes later appears in the same place."""

    def __init__(self) -> None:
        self._handle: Any = None

    def began(self) -> None:
        old = stale()
        if old:
            CellCard()._show(old, "premortem, before this cell ran")  # noqa: SLF001 - a card of its own

    def found(self, finding: Finding, findings: Sequence[Finding], steps: int) -> None:
        self._show(
            findings, f"premortem, at step {steps:,}: {Outcome(steps=steps, findings=findings).verdict}"
        )

    def ended(self, findings: Sequence[Finding], steps: int, ended: RunEnded) -> None:
        then = f", then {ended.error}" if ended.error else ""
        count = f"{steps:,} step{'' if steps == 1 else 's'}"
        self._show(
            findings, f"premortem watched {count}{then}: {Outcome(steps=steps, findings=findings).verdict}"
        )

    def problem(self, sentence: str) -> None:
        self._show([], f"premortem: {sentence}")

    def _show(self, findings: Sequence[Finding], headline: str) -> None:
        from IPython.display import display

        bundle = {"text/html": card(findings, headline), "text/plain": _plain(findings, headline)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def stale() -> list[Finding]:
    from premortem.preflight.memory import stale_findings

    try:
        return stale_findings()
    except Exception:  # noqa: BLE001 - a courtesy before the training must not keep it from running
        return []


def _plain(findings: Sequence[Finding], headline: str) -> str:
    """For whoever reads the notebook as text."""
    page = io.StringIO()
    console = Console(stream=page, plain=True)
    for finding in findings:
        console.finding(finding)
    return f"{headline}\n{page.getvalue()}".rstrip()
