"""One cause, one finding: a report of lint and a finding of the run that are about the same mistake."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from premortem.cards import Card
from premortem.convictions.table import CHARGES
from premortem.events import Suspicion
from premortem.findings import Certainty, Finding, Severity, Where


def proved(finding: Finding, suspicions: Sequence[Suspicion]) -> Finding:
    """A finding of the run, at the place that lint reports for it: read and seen, so it is proved."""
    if "read" in finding.evidence:
        return finding
    fitting = [
        one
        for one in suspicions
        if finding.name in CHARGES[one.card.code].reported_as and _near(finding, one)
    ]
    if not fitting:
        return finding
    seen = finding.where
    nearest = min(fitting, key=lambda one: abs(one.line - (seen.line or 0)))
    # Where the operation itself was seen at work, its line is the one to blame; who hides it comes second.
    origin = finding.certainty is Certainty.PROVED and bool(finding.evidence.get("op"))
    place = seen if origin else Where(nearest.file, nearest.line, seen.module, seen.parameter)
    found = replace(
        finding,
        severity=raised(finding.severity, nearest),
        certainty=Certainty.PROVED,
        where=place,
    ).with_evidence(read=nearest.card.code, **({} if origin else _elsewhere(seen, nearest)))
    return found if origin else found.with_patch(nearest.patch)


def _elsewhere(seen: Where, suspicion: Suspicion) -> dict[str, str]:
    """Where the run saw it, if that is another line."""
    if not seen.file or not seen.line or seen.line == suspicion.line:
        return {}
    return {"seen_at": f"{PurePath(seen.file).name}:{seen.line}"}


def raised(severity: Severity, suspicion: Suspicion) -> Severity:
    """What was read and seen is certain: an error, except where the run is not broken by it."""
    harmless = CHARGES[suspicion.card.code].harmless or severity is Severity.INFO
    return severity if harmless else Severity.ERROR


def is_same(known: Finding, finding: Finding) -> bool:
    """Whether a diagnosis that is proved by reading says all that this one says."""
    same_file = finding.where.file is None or finding.where.file == known.where.file
    return (
        known is not finding
        and "read" in known.evidence
        and known.name == finding.name
        and finding.certainty is not Certainty.PROVED
        and same_file
    )


def joined(parts: Sequence[Sequence[Finding]], cards: Mapping[str, Card]) -> list[list[Finding]]:
    """Reports of lint and findings of a run of the same script, part by part: what both say is one finding, proved, at
    lint's place. Where lint's report is the cause of the finding, folding keeps the report."""
    reports = [one for part in parts for one in part if one.code in CHARGES]
    used: set[int] = set()

    def with_report(finding: Finding) -> Finding:
        for report in reports:
            if finding.name in cards[report.code].explains:
                continue
            if finding.name in CHARGES[report.code].reported_as and _same_file(finding.where, report.where):
                used.add(id(report))
                place = replace(finding, certainty=Certainty.PROVED, where=report.where)
                return place.with_evidence(read=report.code).with_patch(report.patch)
        return finding

    paired = [[(one, with_report(one)) for one in part] for part in parts]
    return [[finding for one, finding in part if id(one) not in used] for part in paired]


def _near(finding: Finding, suspicion: Suspicion) -> bool:
    return finding.where.file is None or _same(finding.where.file, suspicion.file)


def _same_file(one: Where, other: Where) -> bool:
    return one.file is None or (other.file is not None and _same(one.file, other.file))


def _same(one: str, other: str) -> bool:
    """Of two spellings of a path, one may be relative."""
    a, b = PurePath(one).parts, PurePath(other).parts
    shorter = min(len(a), len(b))
    return a[-shorter:] == b[-shorter:]
