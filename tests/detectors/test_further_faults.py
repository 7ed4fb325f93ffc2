"""Other ways to make the mistakes of `faults/`, which the same detectors must see."""

import pytest

from premortem.detectors.better_loss_worse_score import BetterLossWorseScore
from premortem.detectors.fixed_model_in_train_mode import FixedModelInTrainMode
from premortem.detectors.kept_the_worst import KeptTheWorst
from premortem.detectors.learning_rate_zero import LearningRateZero
from premortem.detectors.padding_mask_inverted import PaddingMaskInverted
from premortem.findings import Severity
from tests.detectors.faults import (
    better_loss_worse_score,
    fixed_model_in_train_mode,
    kept_the_worst,
    learning_rate_zero,
    padding_mask_inverted,
)


@pytest.mark.parametrize(
    ("cls", "events", "words"),
    [
        (FixedModelInTrainMode, fixed_model_in_train_mode.FROM_A_FILE, "`teacher` is in train mode"),
        (PaddingMaskInverted, padding_mask_inverted.FEATURES, "looks at padding alone"),
        (KeptTheWorst, kept_the_worst.OVER_A_BETTER_ONE, "5 times over a better one"),
        (KeptTheWorst, kept_the_worst.RESTING, "best.pt"),
        (LearningRateZero, learning_rate_zero.SHORT, "all 5 steps were made with learning rate 0"),
        (BetterLossWorseScore, better_loss_worse_score.A_POLICY, "`reward` fell steadily"),
    ],
)
def test_it_is_said(cls, events, words):
    detector = cls()
    (finding,) = [each for event in events for each in detector.hear(event)]
    assert finding.severity is not Severity.INFO
    assert words in finding.message
