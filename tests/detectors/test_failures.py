from dataclasses import replace

from premortem.derived.failures import TrainingFailed
from premortem.events import NonFinite, Operand
from tests.detectors.derived_events import with_failures
from tests.detectors.faults.non_finite_training import EVENTS, HEALTHY, UNKNOWN
from tests.detectors.rehearsal import line

NAN = float("nan")
SEEN = NonFinite(
    step=40,
    at=line(41),
    stage="forward",
    value=NAN,
    op="log",
    detail="the logarithm of 0",
    made="-inf",
    operands=(Operand("self", "float32", (64, 3), 0.0, 3.2),),
    located=True,
    watched=True,
)


def failures(events):
    return [event for event in with_failures(events) if isinstance(event, TrainingFailed)]


def test_a_failure_is_told_once():
    (failure,) = failures(EVENTS)
    assert (failure.origin.op, failure.began) == ("log", failure.origin.step + 1)
    assert [failures(run) for run in HEALTHY[:4]] == [[], [], [], []]


def test_what_the_microscope_saw_later_takes_the_place_of_what_was_known():
    first, second = failures([*UNKNOWN, SEEN])
    assert (first.origin, second.origin.at) == (None, line(41))
    first, second = failures([*EVENTS, SEEN, SEEN])
    assert second.began == first.began, "it began when it was seen first"
    assert second.origin.watched


def test_broken_weights_explain_nothing():
    assert len(failures([*EVENTS, replace(SEEN, stage="weights")])) == 1


def test_a_failure_that_comes_and_goes_keeps_the_operation_that_was_seen():
    known = next(event for event in EVENTS if isinstance(event, NonFinite))
    unknown = [
        replace(known, stage="loss", op="", detail="") if event is known else event for event in EVENTS
    ]
    healthy = EVENTS[: EVENTS.index(known) // 2]
    (failure,) = failures([*healthy, SEEN, *unknown[len(healthy) :]])
    assert failure.origin == replace(SEEN, step=known.step, value=known.value), "and is dated by itself"
    (other,) = failures([*healthy, replace(SEEN, stage="backward"), *unknown[len(healthy) :]])
    assert other.origin.stage == "loss", "that was another failure"


def test_a_failure_that_comes_and_goes_began_when_its_operation_first_broke_a_step():
    known = next(event for event in EVENTS if isinstance(event, NonFinite))
    located = [replace(event, located=True) if event is known else event for event in EVENTS]
    half = located.index(replace(known, located=True)) // 2
    (failure,) = failures([*located[:half], replace(known, step=3, located=True), *located[half:]])
    assert (failure.began, failure.returned) == (4, True)
    (elsewhere,) = failures(
        [*located[:half], replace(known, step=3, at=line(9), located=True), *located[half:]]
    )
    assert (elsewhere.began, elsewhere.returned) == (known.step + 1, False), "that was another one"
