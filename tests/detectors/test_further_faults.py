"""Other ways to make the mistakes of `faults/`, which the same detectors must see."""

import pytest

from premortem.detectors.better_loss_worse_score import BetterLossWorseScore
from premortem.detectors.compared_rows import EndOfEpisodeIgnored
from premortem.detectors.evaluated_on_training_rows import EvaluatedOnTrainingRows
from premortem.detectors.fixed_model_in_train_mode import FixedModelInTrainMode
from premortem.detectors.kept_the_worst import KeptTheWorst
from premortem.detectors.learning_rate_zero import LearningRateZero
from premortem.detectors.loaded_without_statistics import LoadedWithoutStatistics
from premortem.detectors.loss_arguments import LabelsOutsideTheLoss, SoftLabelsNoProbabilities
from premortem.detectors.normalised_over_one_value import NormalisedOverOneValue
from premortem.detectors.padding_mask_inverted import PaddingMaskInverted
from premortem.detectors.scheduler_stepped_per_epoch import SchedulerSteppedPerEpoch
from premortem.detectors.uninformative_labels import UninformativeLabels
from premortem.findings import Severity
from tests.detectors.faults import (
    better_loss_worse_score,
    end_of_episode_ignored,
    evaluated_on_training_rows,
    fixed_model_in_train_mode,
    kept_the_worst,
    labels_outside_the_loss,
    learning_rate_zero,
    loaded_without_statistics,
    normalised_over_one_value,
    padding_mask_inverted,
    scheduler_stepped_per_epoch,
    soft_labels_no_probabilities,
    uninformative_labels,
)


@pytest.mark.parametrize(
    ("cls", "events", "words"),
    [
        (FixedModelInTrainMode, fixed_model_in_train_mode.FROM_A_FILE, "`teacher` is in train mode"),
        (PaddingMaskInverted, padding_mask_inverted.FEATURES, "looks at padding alone"),
        (KeptTheWorst, kept_the_worst.OVER_A_BETTER_ONE, "5 times over a better one"),
        (KeptTheWorst, kept_the_worst.WITH_A_SCORE_OF_THE_TRAINING, "5 times over a better one"),
        (KeptTheWorst, kept_the_worst.RESTING, "best.pt"),
        (EvaluatedOnTrainingRows, evaluated_on_training_rows.SOME_TWICE, "200 of 200 rows of `vx`"),
        (LearningRateZero, learning_rate_zero.SHORT, "all 5 steps were made with learning rate 0"),
        (SchedulerSteppedPerEpoch, scheduler_stepped_per_epoch.RESTED, "it was called 12 times: 10%"),
        (LoadedWithoutStatistics, loaded_without_statistics.PREPARES_DATA, "run in eval mode"),
        (NormalisedOverOneValue, normalised_over_one_value.NORM, "`model.norm` (LayerNorm)"),
        (
            NormalisedOverOneValue,
            normalised_over_one_value.ONE_OUTPUT,
            "softmax over dimension 1 of (200, 1)",
        ),
        (LabelsOutsideTheLoss, labels_outside_the_loss.STANDARDISED, "it wants numbers from 0 to 1"),
        (BetterLossWorseScore, better_loss_worse_score.A_POLICY, "`reward` fell steadily"),
    ],
)
def test_it_is_said(cls, events, words):
    detector = cls()
    (finding,) = [each for event in events for each in detector.hear(event)]
    assert finding.severity is not Severity.INFO
    assert words in finding.message


@pytest.mark.parametrize(
    ("cls", "events", "severity"),
    [
        (SoftLabelsNoProbabilities, soft_labels_no_probabilities.EVENTS, Severity.ERROR),
        (SoftLabelsNoProbabilities, soft_labels_no_probabilities.COUNTS, Severity.INFO),
        (EndOfEpisodeIgnored, end_of_episode_ignored.EVENTS, Severity.ERROR),
        (EndOfEpisodeIgnored, end_of_episode_ignored.PERHAPS_A_LIMIT, Severity.WARNING),
        (UninformativeLabels, uninformative_labels.TORN_APART, Severity.ERROR),
        (UninformativeLabels, uninformative_labels.CLICKS, Severity.WARNING),
    ],
)
def test_how_sure_it_is(cls, events, severity):
    detector = cls()
    (finding,) = [each for event in events for each in detector.hear(event)]
    assert finding.severity is severity
