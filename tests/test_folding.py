"""One root cause, one finding."""

from __future__ import annotations

from premortem.cards import Card
from premortem.findings import Certainty, Finding, Severity
from premortem.folding import fold

CARDS = {
    "A": Card(code="A", name="cause", family="lr", severity=Severity.ERROR, explains=("symptom", "echo")),
    "B": Card(code="B", name="symptom", family="lr", severity=Severity.ERROR, explains=("cause",)),
    "C": Card(code="C", name="echo", family="lr", severity=Severity.WARNING),
}


def finding(code: str, severity: Severity | None = None, step: int = 1) -> Finding:
    card = CARDS[code]
    return Finding(
        code=code,
        name=card.name,
        family=card.family,
        severity=severity or card.severity,
        certainty=Certainty.MEASURED,
        step=step,
        message="",
    )


def names(*findings: Finding) -> list[str]:
    return [f.name for f in fold(findings, CARDS)]


def test_a_consequence_is_folded_whichever_came_first() -> None:
    assert names(finding("A"), finding("C")) == names(finding("C"), finding("A")) == ["cause"]


def test_two_that_explain_each_other_leave_the_first() -> None:
    assert names(finding("A"), finding("B")) == ["cause"]
    assert names(finding("B"), finding("A")) == ["symptom"]


def test_a_likely_cause_of_a_certain_failure_is_the_error() -> None:
    (kept,) = fold([finding("A", Severity.WARNING), finding("B")], CARDS)
    assert (kept.name, kept.severity) == ("cause", Severity.ERROR)


def test_a_habit_swallows_nothing_louder() -> None:
    assert names(finding("A", Severity.INFO), finding("C")) == ["echo", "cause"]


def test_errors_come_first_then_the_order_in_which_they_were_seen() -> None:
    found = names(finding("C"), finding("B", Severity.INFO), finding("C", step=2))
    assert found == ["echo", "echo", "symptom"]


def test_the_cause_says_what_it_swallowed() -> None:
    (kept,) = fold([finding("A"), finding("C"), finding("C", step=9)], CARDS)
    assert kept.evidence == {"also": ["echo"]}
