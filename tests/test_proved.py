"""One failure, told by the run and by its replay: the finding of both."""

from premortem import detectors
from premortem.derived.proved import explained, of_which, origin_of, with_proofs
from premortem.findings import Certainty, Finding, Severity, Where

CARDS = {cls.card.code: cls.card for cls in detectors.ALL}
CERTIFICATE = {
    "stage": "forward",
    "op": "acos",
    "detail": "acos of 1.0000001",
    "made": "nan",
    "overflow": False,
    "what": "",
    "file": "model.py",
    "line": 20,
    "module": "model.head",
    "parameter": "",
    "rows": [43],
    "samples": 64,
    "dtype": "float32",
    "operands": [{"name": "self", "dtype": "float32", "shape": [64], "low": -1.0, "high": 1.0000001}],
}


def record(**changes):
    return {
        "capsule": "/x/capsules/step-37",
        "step": 37,
        "reproduced": True,
        "certificate": {**CERTIFICATE, **changes},
    }


def finding(name="update-refused", step=37, **evidence):
    card = next(card for card in CARDS.values() if card.name == name)
    return Finding(
        code=card.code,
        name=name,
        family=card.family,
        severity=Severity.WARNING,
        certainty=Certainty.MEASURED,
        step=step,
        message="step 37 was refused: the gradient of model.w was not finite",
        where=Where("train.py", 50, None, "model.w"),
        evidence=evidence,
    )


def test_the_place_is_the_origin_and_the_message_names_the_operation():
    told = explained(finding(batch=26, capsule="/x/capsules/step-37"), record(), CARDS)
    assert (told.where.file, told.where.line, told.where.module) == ("model.py", 20, "model.head")
    assert told.where.parameter == "model.w"
    assert told.certainty is Certainty.PROVED
    assert told.message.startswith(
        "acos of 1.0000001 at model.py:20 made nan (in model.head, sample 43 of 64"
    )
    assert told.message.endswith("step 37 was refused on batch 26 of its epoch")
    assert "clamp(-1 + eps, 1 - eps)" in told.remedy
    assert told.evidence["op"] == "acos"
    assert told.evidence["replayed"] is True


def test_the_origin_decides_which_diagnosis_it_is():
    training = finding("non-finite-training", first_step=37, before=0.25)
    assert explained(training, record(), CARDS).code == training.code
    assert explained(training, record(overflow=True, op="exp"), CARDS).name == "overflow"
    data = explained(training, record(stage="data", op="", what="batch"), CARDS)
    assert (data.name, data.family) == ("non-finite-input", "numerics-nan")
    assert "the loss was 0.25 before" in data.message


def test_what_proves_nothing_changes_nothing():
    told = finding()
    assert explained(told, record(stage="weights"), CARDS) == told
    assert explained(told, {**record(), "reproduced": False}, CARDS) == told
    assert explained(told, {**record(), "certificate": None}, CARDS) == told
    other = finding("vanishing-gradients")
    assert explained(other, record(), CARDS) == other
    assert origin_of({"reproduced": True, "certificate": "?"}) is None


def test_a_finding_without_a_capsule_belongs_to_the_failure_before_it():
    steps, about = (3, 4, 5, 39, 60, 104, 105), [None, 5, 5, 40, 40, 40, None]
    assert [of_which(finding("loss-not-finite", step=step), [5, 40]) for step in steps] == about
    # A refused step is itself: of many that were refused, three capsules are kept.
    assert [of_which(finding("update-refused", step=step), [5, 40]) for step in (5, 60)] == [5, None]
    (told,) = with_proofs([finding(step=38)], [record()], CARDS)
    assert told.evidence["replayed"]
    (far,) = with_proofs([finding(step=200)], [record()], CARDS)
    assert "replayed" not in far.evidence
    (other,) = with_proofs([finding(capsule="/x/capsules/step-9")], [record()], CARDS)
    assert "replayed" not in other.evidence


def test_a_replay_that_begins_with_the_batch_keeps_the_line_that_made_it():
    seen = finding(capsule="/x/capsules/step-37", op="div", stage="forward", made="nan")
    told = explained(seen, record(stage="data", op="", what="input", line=65), CARDS)
    assert (told.where, told.message, told.evidence["op"]) == (seen.where, seen.message, "div")
    assert told.evidence["replayed"] is True


def test_the_same_operation_in_a_step_that_was_not_kept_is_at_the_line_that_was_proved():
    """Of many steps that fail, three capsules are kept."""
    first = finding(capsule="/x/capsules/step-37", op="acos", stage="forward")
    later = finding("non-finite-training", step=683, op="acos", stage="forward", first_step=683)
    _, told = with_proofs([first, later], [record()], CARDS)
    assert (told.where.file, told.where.line, told.certainty) == ("model.py", 20, Certainty.MEASURED)
    assert told.evidence["line_proved_in_step"] == 37
    (alone,) = with_proofs([first], [record(made="")], CARDS)
    assert "line_proved_in_step" not in alone.evidence  # it is that line's own proof
    for unlike in (
        {"op": "log", "stage": "forward"},
        {"op": "acos", "stage": "backward"},
        {"op": "acos", "stage": "forward", "made": "nan"},  # seen where it was made
    ):
        _, told = with_proofs([first, finding("non-finite-training", step=683, **unlike)], [record()], CARDS)
        assert told.where.line == 50
