"""From what was heard to what is said, without running anything."""

from dataclasses import replace

import pytest

from premortem.drill.order import Dated, Heard
from premortem.drill.scoring import ABSENT, CAUGHT, FAILED, IDLE, MISSED, Clean, score, survived

SAME = {"1": 11, "2": 22}
OTHER = {"1": 11, "2": 23}
ALARM = Dated(code="PM122", name="gradients-never-cleared", family="update-order", severity="error", step=4)
LATER = replace(ALARM, code="PM213", family="lr", step=2)
QUIET = replace(ALARM, code="PM449", family="exploding", severity="info")


def heard(**facts):
    return Heard(**{"ended": "finished", "prints": SAME, **facts})


def clean(**facts):
    return Clean(alone=heard(), watched=heard(**facts))


def judged(run, around=None):
    return score("zero-grad-dropped", frozenset({"update-order"}), "clears nothing", around or clean(), run)


def test_caught_is_an_alarm_that_the_clean_run_did_not_have():
    found = judged(heard(touched=3, prints=OTHER, findings=[LATER, ALARM, QUIET]))
    assert (found.outcome, found.right_family, found.caught_by) == (CAUGHT, True, ALARM)
    assert found.others == [LATER]
    same = judged(heard(touched=3, prints=OTHER, findings=[ALARM]), clean(findings=[ALARM]))
    assert same.outcome == MISSED


def test_an_alarm_of_another_family_is_caught_but_not_right():
    found = judged(heard(touched=3, prints=OTHER, findings=[LATER]))
    assert (found.outcome, found.right_family) == (CAUGHT, False)


@pytest.mark.parametrize(
    ("run", "outcome"),
    [
        (heard(touched=3, prints=OTHER), MISSED),
        (heard(touched=3, prints=OTHER, findings=[QUIET]), MISSED),
        (heard(touched=0, findings=[ALARM]), ABSENT),
        (heard(touched=3, findings=[ALARM]), IDLE),
        (heard(touched=3, damaged=["best.pt"]), MISSED),
        (heard(touched=3, prints=OTHER, ended=""), FAILED),
        (heard(touched=3, prints=OTHER, late=True), FAILED),
    ],
)
def test_what_took_no_effect_is_no_miss(run, outcome):
    assert judged(run).outcome == outcome


def test_where_runs_differ_by_themselves_a_fingerprint_proves_nothing():
    restless = clean(prints=OTHER)
    assert not restless.repeats
    assert judged(heard(touched=3), restless).outcome == MISSED


def test_a_killed_run_is_judged_by_its_files():
    torn, whole = heard(touched=1, damaged=["best.pt"]), heard(touched=1)
    names = ("killed-while-saving", "saves nothing")
    assert survived(*names, torn, whole).outcome == CAUGHT
    assert survived(*names, torn, torn).outcome == MISSED
    assert survived(*names, whole, whole).outcome == IDLE
    assert survived(*names, torn, heard()).outcome == ABSENT


def test_overhead_is_of_a_step():
    pair = Clean(alone=heard(step_seconds=0.02), watched=heard(step_seconds=0.03, findings=[QUIET]))
    assert pair.overhead == pytest.approx(1.5)
    assert pair.false_alarms == []
