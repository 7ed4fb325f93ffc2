"""How it is known that a finding is right: a replay, an experiment of `premortem why`, or what the run itself measured."""

from collections.abc import Mapping
from typing import Any

from premortem.findings import Certainty, Finding
from premortem.report import words
from premortem.report.trials import Trials


def proof(finding: Finding, run: str, tried: Trials | None) -> str:
    """One or two sentences; the command that would prove it where nothing has yet. `run` is what that command takes."""
    experiment = _experiment(finding, tried)
    if experiment:
        return experiment
    seen = finding.evidence
    if seen.get("replayed"):
        without = str(seen.get("without_it") or "")
        return " ".join(
            [
                "The failed step was run again from its capsule, and it broke at the same operation.",
                *(
                    [f"It does not break with one change. {words.sentence(words.capital(without))}"]
                    if without
                    else []
                ),
            ]
        )
    capsule = seen.get("capsule")
    again = (
        f"`premortem replay {capsule}` runs that step again, with one thing changed at a time."
        if capsule and "premortem replay" not in finding.remedy
        else ""
    )
    match finding.certainty:
        case Certainty.PROVED:
            return f"It was watched as it happened in this run. {again}".strip()
        case Certainty.MEASURED:
            return f"It was measured in this run. {again}".strip()
        case Certainty.SUSPECTED:
            return f"It is suspected from signs. {again or f'`premortem why {run}` tests it by experiment.'}"


def _experiment(finding: Finding, tried: Trials | None) -> str:
    cause = _cause(finding, tried)
    effect = cause.get("effect") if cause else None
    if cause is None or not isinstance(effect, Mapping):
        return ""
    before, after = words.value(effect.get("as_is")), words.value(effect.get("changed"))
    noise = f"; the noise is {words.value(effect['noise'])}" if effect.get("noise") is not None else ""
    return (
        f"`premortem why` ran the script with one thing changed, {cause.get('change') or 'as below'}: "
        f"{effect.get('metric') or 'the loss'} {before} → {after}{noise}."
    )


def patch(finding: Finding, tried: Trials | None) -> str:
    """The diff that `premortem why` has verified for this finding."""
    return tried.diff if tried is not None and _cause(finding, tried) is not None and tried.verified else ""


def _cause(finding: Finding, tried: Trials | None) -> Mapping[str, Any] | None:
    """What `why` has proved of the same diagnosis, or of the same line."""
    where = finding.where
    for cause in tried.causes if tried is not None else ():
        place = cause.get("where") or {}
        same_line = where.line and (place.get("file"), place.get("line")) == (where.file, where.line)
        if cause.get("code") == finding.code or same_line:
            return cause
    return None
