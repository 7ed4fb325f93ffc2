"""The drill on the cases of the casebook, at the arguments in their `drill.txt`."""

from pathlib import Path

import pytest

from premortem.drill import mutants
from premortem.drill.director import DrillOptions, drill

CASEBOOK = Path(__file__).parent.parent.parent / "casebook"
CASES = sorted(path.parent.name for path in CASEBOOK.glob("*/drill.txt"))
# Labels of a regression; sums that may be meant; adaptive optimizers that do not mind the scale.
KNOWN_MISSES = {
    "labels-shuffled",
    "labels-constant",
    "accumulation-not-divided",
    "clipped-to-nothing",
    "rate-thousandfold",
    "loss-sign-flipped",
    "part-detached",
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
    assert drilled("ris", [mutants.by_name(name) for name in names], monkeypatch) == {
        "reseeded-every-step": "caught",
        "eval-mode-leak": "changes nothing here",
        "same-batch": "does not apply here",
    }


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_every_case(name, monkeypatch):
    outcomes = drilled(name, mutants.ALL, monkeypatch)
    assert {mutant for mutant, outcome in outcomes.items() if outcome == "missed"} <= KNOWN_MISSES
