"""The run in one sentence, and how it ended."""

import os
import platform
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from premortem.amounts import count
from premortem.files import run_requests
from premortem.findings import Certainty, Finding, Severity, tally
from premortem.report import words
from premortem.report.find import written
from premortem.report.finding_view import FindingView, worst

QUIET = 60.0  # seconds without a word, after which a run whose process cannot be asked counts as over


class Verdict(NamedTuple):
    sentence: str
    tone: str  # "bad", "doubtful" or "good"
    ending: str
    found: str


def verdict(views: Sequence[FindingView], meta: Mapping[str, Any], steps: int, journal: Path) -> Verdict:
    severity = worst(views)
    tone = {Severity.ERROR: "bad", Severity.WARNING: "doubtful"}.get(severity, "good") if severity else "good"
    ended = ending(meta, journal)
    if tone == "good" and meta.get("reason") == "crashed":
        tone = "doubtful"
    return Verdict(_sentence(views, meta, steps, severity), tone, ended, found(views))


def _sentence(
    views: Sequence[FindingView], meta: Mapping[str, Any], steps: int, severity: Severity | None
) -> str:
    if severity in {Severity.ERROR, Severity.WARNING}:
        finding = next(each.finding for each in views if each.finding.severity is severity)
        certain = {
            Certainty.PROVED: "",
            Certainty.MEASURED: "",
            Certainty.SUSPECTED: "probably ",
        }[finding.certainty]
        if severity is Severity.ERROR:
            return f"This run is {certain}broken{_begun(finding)}: {words.headline(finding.message)}"
        return f"This run deserves a look: {words.headline(finding.message)}"
    if not steps:
        return _nothing_trained(meta)
    crashed = meta.get("reason") == "crashed"
    if crashed:
        what = f"`{meta.get('error')}`" if meta.get("error") else "an exception"
        return f"Nothing was wrong with the training in {count(steps, 'step')}; the script ended with {what}."
    return f"Nothing wrong was seen in {count(steps, 'step')}."


def _begun(finding: Finding) -> str:
    """Where it began, as far as that is known: a mistake of the loop was there before the step at which it showed."""
    known = finding.evidence.get("first_step")
    if known is None and finding.family.startswith(("numerics", "exploding")):
        known = finding.step
    return f" from step {known:,} on" if isinstance(known, int) and known else ""


def _nothing_trained(meta: Mapping[str, Any]) -> str:
    if meta.get("reason") == "crashed" and meta.get("error"):
        return f"No training step was made: the script ended with `{meta['error']}` before the first."
    if meta.get("reason") == "running":
        return "No training step was seen yet."
    return "No training step was seen."


def ending(meta: Mapping[str, Any], journal: Path) -> str:
    message = str(meta.get("message") or "")
    match meta.get("reason"):
        case "finished":
            return "It ran to its end."
        case "stopped":
            return (
                f"It was stopped: {message}." if message == run_requests.REASON else "premortem stopped it."
            )
        case "crashed":
            detail = f": {message}" if message else ""
            return words.sentence(f"It crashed with `{meta.get('error') or 'an exception'}`{detail}")
        case "exited":
            return f"It ended itself with exit code {meta.get('exit_code')}."
        case "interrupted":
            return f"It was interrupted{f' ({message})' if message else ''}."
        case "running":
            if alive(meta, journal):
                return "It is still running; this page shows it as it was when it was made."
            return "It ended without a word: killed, or the machine went down."
        case _:
            return "How it ended is not known."


def alive(meta: Mapping[str, Any], journal: Path) -> bool:
    try:
        if meta.get("host", platform.node()) != platform.node():  # written elsewhere: only its file shows it
            return time.time() - written(journal) < QUIET
        os.kill(int(meta["pid"]), 0)
    except PermissionError:
        return True
    except (OSError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return True


def found(views: Sequence[FindingView]) -> str:
    return tally(each.finding.severity for each in views) or "no findings"


def seconds(meta: Mapping[str, Any], newest: float | None) -> float:
    """How long the run took: one that was killed has not written that down, and lasted until its newest step."""
    if meta.get("ended"):
        return float(meta.get("seconds") or 0.0)
    return since(str(meta.get("started") or ""), newest) or float(meta.get("seconds") or 0.0)


def since(started: str, moment: float | None) -> float | None:
    try:
        return None if moment is None else max(0.0, moment - datetime.fromisoformat(started).timestamp())
    except ValueError:
        return None
