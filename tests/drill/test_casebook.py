"""The drill on the cases of the casebook, at the arguments in their `drill.txt`."""

from pathlib import Path

import pytest

from premortem import changes
from premortem.drill.director import DrillOptions, drill

CASEBOOK = Path(__file__).parent.parent.parent / "casebook"
CASES = sorted(path.parent.name for path in CASEBOOK.glob("*/drill.txt"))
# What the README of the casebook says why of.
KNOWN_MISSES = {
    "cmfd": {"labels-shuffled", "labels-constant"},
    "deblur": {"labels-constant"},
    "radiodiff": {"labels-shuffled", "labels-constant"},
    "ris": {"labels-shuffled", "labels-constant", "accumulation-not-divided"},
    "spike_deblur": {
        "labels-shuffled",
        "labels-constant",
        "rate-thousandfold",
        "eval-mode-leak",
        "evaluated-in-train-mode",
    },
}


def drilled(name, chosen, monkeypatch):
    case = CASEBOOK / name
    monkeypatch.chdir(case)
    arguments = (case / "drill.txt").read_text().split()
    done = drill(DrillOptions(argv=["train.py", *arguments], mutants=chosen, steps=0, jobs=2))
    assert done.problem == "", done.tail
    assert done.clean.repeats
    assert done.clean.false_alarms == []
    return {each.mutant: each.outcome for each in done.scores}


@pytest.mark.exhaustive
def test_a_case(monkeypatch):
    names = ("reseeded-every-step", "eval-mode-leak", "same-batch")
    assert drilled("ris", [changes.of("harm")[name] for name in names], monkeypatch) == {
        "reseeded-every-step": "caught",
        "eval-mode-leak": "changes nothing here",
        "same-batch": "does not apply here",
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_every_case(name, monkeypatch):
    outcomes = drilled(name, list(changes.of("harm").values()), monkeypatch)
    assert {mutant for mutant, outcome in outcomes.items() if outcome == "missed"} <= KNOWN_MISSES[name]
