"""One root cause, one finding."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from premortem import catalog, detectors
from premortem.cards import Card
from premortem.derived.folding import fold
from premortem.findings import Certainty, Finding, Severity, Where

CARDS = {
    "A": Card(code="A", name="cause", family="lr", severity=Severity.ERROR, explains=("symptom", "echo")),
    "B": Card(code="B", name="symptom", family="lr", severity=Severity.ERROR, explains_later=("cause",)),
    "C": Card(code="C", name="echo", family="lr", severity=Severity.WARNING),
    "D": Card(
        code="D", name="accident", family="lr", severity=Severity.ERROR, explains=("echo",), sudden=True
    ),
    "E": Card(code="E", name="spot", family="lr", severity=Severity.ERROR, explains_here=("echo",)),
}
REAL = {entry.card.code: entry.card for entry in catalog.entries()}


def finding(
    code: str,
    severity: Severity | None = None,
    step: int = 1,
    where: Where = Where(),  # noqa: B008 - frozen
    cards: Mapping[str, Card] = CARDS,
) -> Finding:
    card = cards[code]
    return Finding(
        where=where,
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


def test_a_symptom_is_under_whatever_else_was_found() -> None:
    shown = {**CARDS, "S": Card(code="S", name="shown", family="lr", severity=Severity.WARNING, symptom=True)}
    alone = finding("S", cards=shown)
    assert fold([alone], shown) == [alone]
    for other in ("C", "E"):
        (kept,) = fold([alone, finding(other)], shown)
        assert (kept.name, kept.evidence["also"]) == (shown[other].name, ["shown"])
    habit = finding("C", Severity.INFO)
    assert [f.name for f in fold([alone, habit], shown)] == ["shown", "echo"]


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


def test_what_was_folded_before_is_not_forgotten() -> None:
    (once,) = fold([finding("A"), finding("C")], CARDS)  # by a rank for itself
    (kept,) = fold([once, finding("B")], CARDS)
    assert kept.evidence == {"also": ["echo", "symptom"]}


def test_a_cause_keeps_its_own_step() -> None:
    (kept,) = fold([finding("C", step=2), finding("A", step=90)], CARDS)
    assert (kept.name, kept.step) == ("cause", 90)


def test_what_was_seen_long_before_an_accident_is_not_its_consequence() -> None:
    assert names(finding("C", step=40), finding("D", step=41)) == ["accident"]
    assert names(finding("C", step=4), finding("D", step=41)) == ["accident", "echo"]
    line = Where("train.py", 7)
    assert names(finding("C", step=4, where=line), finding("D", step=41, where=line)) == ["accident"]


def test_what_is_explained_at_its_place_is_not_explained_elsewhere() -> None:
    here, there = Where("train.py", 7), Where("train.py", 9)
    assert names(finding("E", where=here), finding("C", where=here)) == ["spot"]
    assert names(finding("E", where=here), finding("C", where=there)) == ["spot", "echo"]
    assert names(finding("E", where=here), finding("C")) == ["spot"]
    inner, other = Where("a.py", 1, "net.head"), Where("a.py", 2, "network")
    assert names(finding("E", where=Where("b.py", 5, "net")), finding("C", where=inner)) == ["spot"]
    assert names(finding("E", where=Where("b.py", 5, "net")), finding("C", where=other)) == ["spot", "echo"]


def test_the_catalog_explains_without_cycles() -> None:
    known = {card.name for card in REAL.values()}
    graph: dict[str, set[str]] = {name: set() for name in known}
    for card in REAL.values():
        graph[card.name] |= {*card.explains, *card.explains_here}
        assert {*card.explains, *card.explains_here, *card.explains_later} <= known, card.name
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


def test_three_findings_about_one_nan_leave_one() -> None:
    by_name = {cls.card.name: cls.card.code for cls in detectors.ALL}
    for trio in (
        ("overflow", "exploding-gradients", "updates-too-large"),
        ("non-finite-training", "checkpoint-non-finite", "overflow"),
    ):
        for order in itertools.permutations(trio):
            assert len(fold([finding(by_name[name], cards=REAL) for name in order], REAL)) == 1, order


def explained(findings: Sequence[Finding], kept: Sequence[Finding], cards: Mapping[str, Card]) -> set[int]:
    """Which findings the catalog leads to from those that are kept, by the names alone."""
    roots = {(f.code, f.where, f.step) for f in kept}
    led = {i for i, f in enumerate(findings) if (f.code, f.where, f.step) in roots}
    while True:
        names = {
            name
            for i in led
            for card in [cards[findings[i].code]]
            for name in (*card.explains, *card.explains_here, *card.explains_later)
        }
        more = led | {i for i, f in enumerate(findings) if f.name in names}
        if more == led:
            return led
        led = more


# Those that take part in folding at all, so that a random handful has something to fold.
LINKED = sorted(
    code for code, card in REAL.items() if card.explains or card.explains_here or card.explains_later
)
PLACES = [
    Where(),
    Where("train.py", 7),
    Where("train.py", 9),
    Where("net.py", 3, "net.head", "net.head.bias"),
]
FOUND = st.builds(
    finding,
    st.sampled_from(LINKED),
    st.sampled_from([None, *Severity]),
    st.integers(0, 60),
    st.sampled_from(PLACES),
    st.just(REAL),
)


@given(st.lists(FOUND, max_size=14))
def test_no_finding_is_lost(findings: list[Finding]) -> None:
    kept = fold(findings, REAL)
    assert bool(kept) == bool(findings)
    assert explained(findings, kept, REAL) == set(range(len(findings)))
    loudest = min((list(Severity).index(f.severity) for f in findings), default=None)
    assert loudest == min((list(Severity).index(f.severity) for f in kept), default=None)


@given(st.lists(FOUND, max_size=8, unique_by=lambda f: f.code))
def test_folding_again_changes_nothing(findings: list[Finding]) -> None:
    kept = fold(findings, REAL)
    assert [f.code for f in fold(kept, REAL)] == [f.code for f in kept]
