"""In a long run steps and evaluations are counted, and not all reported: detectors lose no round by that, and join none."""

import pytest

from premortem.detectors.fewer_samples_than_expected import FewerSamplesThanExpected
from premortem.detectors.metric_frozen import MetricFrozen
from premortem.detectors.shared.epochs import Epochs
from premortem.events import LogLine
from tests.detectors.faults import fewer_samples_than_expected as passes
from tests.detectors.faults import metric_frozen as frozen
from tests.detectors.faults.metric_not_finite import ended
from tests.detectors.test_contract import observe


def test_a_loop_that_is_left_early_is_seen_where_its_steps_are_only_counted():
    (finding,) = observe(FewerSamplesThanExpected(), passes.COUNTED)
    assert finding.evidence["used"] == 4


def evaluated(step, weights):
    evaluation = ended(step, trained=True)
    evaluation.weights = weights
    return evaluation


def cause(*evaluations):
    *events, over = frozen.EVENTS
    (finding,) = observe(MetricFrozen(), [*events, *evaluations, over])
    return finding.cause


def test_one_evaluation_does_not_say_that_weights_never_change():
    assert "never changed" not in cause(evaluated(10, 7))
    assert "never changed" in cause(evaluated(10, 7), evaluated(40, 7))


def test_evaluations_that_were_not_reported_are_epochs_too():
    epochs = Epochs()
    for step in (50, 100, 150, 400, 430):
        epochs.observe(ended(step, trained=True))
    assert [*epochs.ends()] == [50, 100, 150, 200, 250, 300, 350, 400, 430]
    assert epochs.between(100, 400) == 6


def test_one_at_another_distance_is_one():
    epochs = Epochs()
    for step in (50, 100, 175):
        epochs.observe(ended(step, trained=True))
    assert [*epochs.ends()] == [50, 100, 175]


@pytest.mark.parametrize("steps", [(10, 11, 2_000_000), (10, 11, 12, 2_000_000, 4_000_000)])
def test_a_model_that_was_called_twice_in_a_row_is_not_evaluated_all_the_time(steps):
    epochs = Epochs()
    for step in steps:
        epochs.observe(ended(step, trained=True))
    assert [*epochs.ends()] == [*steps]


def test_epochs_of_one_length_are_kept_as_one():
    epochs = Epochs()
    for step in (3, 6, 9, *range(300, 300_000, 300), 300_001):
        epochs.observe(ended(step, trained=True))
    assert epochs.between(0, 300_000) == 99_900
    assert epochs.between(10, 20) == 3
    assert epochs.between(299_700, 300_001) == 1
    assert len(epochs.ends()._runs) == 2


def test_lines_that_count_epochs_are_better_evidence():
    epochs = Epochs()
    for step in (50, 100, 400):
        epochs.observe(ended(step, trained=True))
    for number in (1, 2):
        values = (("epoch", str(number), float(number)),)
        epochs.observe(LogLine(step=200 * number, text="", template="epoch #", values=values))
    assert [*epochs.ends()] == [200, 400]
