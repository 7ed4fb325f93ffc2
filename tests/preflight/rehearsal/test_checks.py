"""Each check says its fault in facts that were made up, and nothing of a healthy rehearsal."""

import copy
import json
import math

import pytest

from premortem.files.plain import dumps
from premortem.findings import Certainty, Finding, Severity
from premortem.preflight.rehearsal.checks import ALL
from premortem.preflight.rehearsal.scene import Scene
from premortem.preflight.rehearsal.words import facts_of
from premortem.proof.compare import KEPT, LOST, Comparison, Piece
from premortem.proof.prove import Proof
from premortem.rehearsal.observations import (
    Chain,
    Force,
    Loader,
    Overfit,
    Rehearsed,
    Saved,
    Schedule,
    Split,
    Twice,
)


def healthy():
    facts = Rehearsed(
        asked=5,
        steps=5,
        ended="done",
        evaluations=1,
        losses=[2.3, 2.2, 2.1, 2.0, 1.9],
        backwards=[1, 1, 1, 1, 1],
        optimizers=1,
        chains=[Chain("AdamW", 8, 8, 8, 8, 8, 8)],
        saved=[Saved("last.pt", 1 << 20, 0.01, 5)],
        loaders=[Loader(100, 32, 2, persistent=True, training=True, drawn=5), Loader(10, 32, 2, seconds=0.1)],
        split=Split(0.1, 0.01, 0.03, 0.05, 0.01, 5, batch=0.1),
        epochs=10,
        schedules=[Schedule("CosineAnnealingLR", 1000, 5, 5)],
        overfit=Overfit(tried=True, first=2.0, best=1.0, steps=10, rates=[1.0], gradient=1.0),
        twice=Twice(tried=True, same=True),
        force=Force(looked=True, full=4),
    )
    return Scene(facts=facts)


def resumed(*pieces):
    return Proof(
        comparison=Comparison(list(pieces), steps=3, equal=0), saved="last.pt", step=5, entrance="--resume"
    )


def broken(code):
    scene = healthy()
    facts = scene.facts
    if code == "PM680":
        facts.steps, facts.ended, facts.code = 0, "exited", 2
        facts.tail = (
            "usage: train.py [-h] --data DATA\ntrain.py: error: the following arguments are required: --data"
        )
    elif code == "PM681":
        facts.ended, facts.error, facts.message = "crashed", "KeyError", "'mask'"
        facts.where = ("train.py", 12)
    elif code == "PM682":
        facts.overfit = Overfit(
            tried=True,
            first=2.0,
            best=2.01,
            steps=44,
            rates=[1.0, 0.1, 0.01, 10.0],
            gradient=1.0,
            enough=True,
        )
    elif code == "PM683":
        scene.proof = resumed(
            Piece("weights", KEPT), Piece("optimizer state (Adam)", LOST, "4 entries are lost")
        )
    elif code == "PM684":
        facts.loaders[0].workers = 0
        facts.split = Split(0.4, 0.3, 0.03, 0.05, 0.01, 5)
    elif code == "PM685":
        facts.force = Force(looked=True, full=4, autocast=["cuda float16"], autocast_at=("train.py", 20))
    elif code == "PM686":
        facts.force = Force(looked=True, full=4, convolutions=10, last_weights=10, last_inputs=1)
    elif code == "PM687":
        facts.force = Force(compiled=True, compiled_at=("train.py", 8))
    elif code == "PM688":
        facts.stated, facts.loaders = {"workers": 4}, [Loader(100, 32, 0, training=True)]
    elif code == "PM689":
        facts.force = Force(looked=True, cache="cache", cache_lost=True)
    elif code == "PM690":
        facts.stated = {"accumulation": 4}
    elif code == "PM691":
        facts.force = Force(
            looked=True, low=4, autocast=["cuda float16"], scaler=True, scaler_at=("train.py", 5)
        )
    elif code == "PM692":
        facts.schedules = [Schedule("OneCycleLR", 300, 5, 5, file="train.py", line=9)]
    elif code == "PM693":
        facts.compile_error, facts.compile_at = "Unsupported: a generator", ("model.py", 13)
        facts.force = Force(compiled=True)
    return scene


def look(scene):
    return [finding for check in ALL for finding in check().look(scene)]


def test_a_healthy_rehearsal_is_silent():
    assert look(healthy()) == []


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.card.code)
def test_each_check_names_its_fault_and_no_other_does(check):
    (finding,) = look(broken(check.card.code))
    assert finding.code == check.card.code
    assert finding.message
    assert finding.remedy


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.card.code)
def test_each_check_has_a_page(check):
    for heading in ("## Why it matters", "## Usual causes", "## What to do"):
        assert heading in check.__doc__


def test_what_a_detector_has_explained_is_not_said_again():
    error = Finding(
        code="PM405", name="wrong-sign", family="loss-definition", severity=Severity.ERROR,
        certainty=Certainty.MEASURED, step=3, message="x",
    )  # fmt: skip
    for code in ("PM681", "PM682", "PM690"):
        scene = broken(code)
        scene.findings = [error]
        assert look(scene) == []


def test_a_loss_that_falls_a_little_is_no_alarm():
    scene = broken("PM682")
    scene.facts.overfit.best = 1.999
    assert look(scene) == []


def test_random_numbers_that_are_not_restored_are_a_remark():
    scene = healthy()
    scene.proof = resumed(Piece("weights", KEPT), Piece("random state", LOST, "of torch"))
    (finding,) = look(scene)
    assert finding.severity is Severity.INFO


def test_a_crash_after_a_cut_is_nobodys_fault():
    scene = broken("PM681")
    scene.facts.cut = True
    assert look(scene) == []


def test_a_schedule_that_counts_epochs_is_weighed_against_epochs():
    scene = healthy()
    scene.facts.schedules = [Schedule("CosineAnnealingLR", 10, 1, 100, per_epoch=True)]
    assert look(scene) == []
    scene.facts.schedules[0].horizon = 5
    assert [finding.code for finding in look(scene)] == ["PM692"]


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("CosineAnnealingLR", 10, 5, 5),  # ten epochs, stepped in every batch
        Schedule("MultiStepLR", 8, 5, 5),
        Schedule("OneCycleLR", 1000, 0, 5, per_epoch=True),  # a thousand batches, stepped in every epoch
    ],
)
def test_a_schedule_in_the_other_unit_is_named(schedule):
    scene = healthy()
    scene.facts.schedules = [schedule]
    (finding,) = look(scene)
    assert finding.code == "PM692"


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("LinearLR", 10, 5, 5),  # a warm-up of ten batches
        Schedule("MultiStepLR", 600, 5, 5),
        Schedule("CosineAnnealingLR", 100, 5, 5),  # ten whole cycles
    ],
)
def test_schedules_that_are_meant_so(schedule):
    scene = healthy()
    scene.facts.schedules = [schedule]
    assert look(scene) == []


def test_numbers_that_are_none_survive_json():
    facts = healthy().facts
    facts.overfit.first = facts.twice.difference = float("nan")
    again = Rehearsed.from_json(json.loads(dumps(facts.to_json())))
    assert math.isnan(again.overfit.first)
    assert dict(facts_of(Scene(facts=again)))["steps"]


def test_two_switches_in_the_schedule_are_not_foretold():
    scene = broken("PM692")
    scene.facts.schedules[0].calls = 2  # in five steps: nobody can say how often it will be called
    assert look(scene) == []


def test_the_forecast_adds_up():
    scene = healthy()
    assert scene.epoch_seconds == pytest.approx(10.0)
    assert scene.evaluation_seconds == pytest.approx(1.0)
    assert scene.total_seconds == pytest.approx(10 * (10.0 + 1.0 + 0.01))


def test_the_facts_read_like_sentences():
    rows = dict(facts_of(healthy()))
    assert rows["custody: AdamW"] == (
        "8 parameters: 8 reached by the loss, 8 with a gradient, 8 owned, 8 moved, 8 evaluated"
    )
    assert rows["one batch again"] == "its loss falls: 2, at best 1 within 10 steps"
    assert rows["evaluated twice"] == "the same to the last bit"
    assert rows["the whole run"] == "about 110 s for 10 epochs, on this machine"


def test_facts_survive_the_way_through_json():
    facts = copy.deepcopy(healthy().facts)
    assert Rehearsed.from_json(facts.to_json()) == facts
