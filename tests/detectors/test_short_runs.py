"""What no later step can make right is reported within the first few: most public scripts are tried for a few dozen."""

import pytest

from premortem.detectors.adversarial_training import PlayersPullTogether
from premortem.detectors.batch_rows import PictureTurnedAlone
from premortem.detectors.clipped_hard_every_step import ClippedHardEveryStep
from premortem.detectors.compared_rows import TargetTooFarAhead
from premortem.detectors.detached_from_loss import DetachedFromLoss
from premortem.detectors.evaluated_in_train_mode import EvaluatedInTrainMode
from premortem.detectors.fixed_model_in_train_mode import FixedModelInTrainMode
from premortem.detectors.kept_the_worst import KeptTheWorst
from premortem.detectors.loop_habits import DividedByBatches, OnlyTheLastBatch
from premortem.detectors.metric_not_finite import MetricNotFinite
from premortem.detectors.noise_times_a_logarithm import NoiseTimesALogarithm
from premortem.detectors.record_not_restored import RecordNotRestored
from premortem.detectors.reseeded_every_step import ReseededEveryStep
from premortem.detectors.resumed_state import ScheduleRestarts
from premortem.detectors.same_order_every_epoch import SameOrderEveryEpoch
from premortem.detectors.symmetric_initialisation import SymmetricInitialisation
from premortem.detectors.train_and_eval_inputs_differ import TrainAndEvalInputsDiffer
from premortem.detectors.update_order import BackwardNeverCalled
from premortem.detectors.updates_too_large import UpdatesTooLarge
from premortem.detectors.updates_too_small import UpdatesTooSmall
from premortem.detectors.weight_decay_collapse import WeightDecayCollapse
from tests.detectors.faults import (
    backward_never_called,
    clipped_hard_every_step,
    detached_from_loss,
    divided_by_batches,
    evaluated_in_train_mode,
    fixed_model_in_train_mode,
    kept_the_worst,
    metric_not_finite,
    noise_times_a_logarithm,
    only_the_last_batch,
    picture_turned_alone,
    players_pull_together,
    record_not_restored,
    reseeded_every_step,
    same_order_every_epoch,
    schedule_restarts,
    symmetric_initialisation,
    target_too_far_ahead,
    train_and_eval_inputs_differ,
    updates_too_large,
    updates_too_small,
    weight_decay_collapse,
)


@pytest.mark.parametrize(
    ("detector", "events", "words"),
    [
        (BackwardNeverCalled, backward_never_called.OF_ONE, "Adam has made 3 steps"),
        (
            TrainAndEvalInputsDiffer,
            train_and_eval_inputs_differ.RESTORED,
            "is evaluated on inputs with mean 7",
        ),
        (ScheduleRestarts, schedule_restarts.BY_CHANCE, "and the one that was restored is"),
        (ScheduleRestarts, schedule_restarts.HELD_AND_MOVED, "and the one that was restored is"),
        (RecordNotRestored, record_not_restored.IN_ITS_OWN_PROCESS, "is written with 0.75, which is worse"),
        (RecordNotRestored, record_not_restored.BY_ITS_NAME, "is written with 0.88, which is worse"),
        (OnlyTheLastBatch, only_the_last_batch.PRINTED, "right for the last batch (20 of 24)"),
        (SameOrderEveryEpoch, same_order_every_epoch.TWO_MODELS, "3 epochs in a row"),
        (MetricNotFinite, metric_not_finite.UNNAMED, "`f1` of the evaluation after step 12 was nan"),
        (MetricNotFinite, metric_not_finite.COMPARED, "`score` was nan after each of the last 2 evaluations"),
        (DetachedFromLoss, detached_from_loss.INSIDE, "`argmax` cuts the graph"),
        (PictureTurnedAlone, picture_turned_alone.BY_CHANCE_ALIKE, "3 of 5 times picture and mask"),
        (ScheduleRestarts, schedule_restarts.NOT_SAVED, "and the one that was restored is"),
        (UpdatesTooLarge, updates_too_large.THROWN, "nothing of the initialisation is left"),
        (
            UpdatesTooSmall,
            updates_too_small.HOPELESS,
            "6 steps moved them by less than 6.0e-09 of their size",
        ),
        (ClippedHardEveryStep, clipped_hard_every_step.BELOW_EPS, "below the eps"),
        (ClippedHardEveryStep, clipped_hard_every_step.BELOW_EPS_SOON, "below the eps"),
        (ClippedHardEveryStep, clipped_hard_every_step.HOPELESS, "8 of 8 gradients were clipped"),
        (
            WeightDecayCollapse,
            weight_decay_collapse.SHRINKING,
            "the first 4 steps moved all 2 weight matrices",
        ),
        (SymmetricInitialisation, symmetric_initialisation.ZEROS, "2 of 2 weight matrices are zero"),
        (ReseededEveryStep, reseeded_every_step.DRAWN_AGAIN, "the steps drew the same numbers again"),
        (PlayersPullTogether, players_pull_together.OF_THE_JUDGE, "`G`'s samples larger"),
        (PlayersPullTogether, players_pull_together.AT_ITS_TARGET, "`G`'s samples smaller"),
        (PlayersPullTogether, players_pull_together.MAXIMISED, "`G`'s samples larger"),
        (PlayersPullTogether, players_pull_together.AT_ONCE, "`G`'s samples smaller"),
        (KeptTheWorst, kept_the_worst.WITH_A_LAST_EXAM, "was last written when `val_loss` was 2"),
        (EvaluatedInTrainMode, evaluated_in_train_mode.PRINTED_ALONE, "`model` is evaluated in train mode"),
        (FixedModelInTrainMode, fixed_model_in_train_mode.AS_A_PART, "`model.teacher` is frozen"),
        *(
            (TargetTooFarAhead, chosen, "no loss with the next one")
            for chosen in target_too_far_ahead.A_CHOICE
        ),
        (NoiseTimesALogarithm, noise_times_a_logarithm.VARIANCE, "a variance"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "" if isinstance(value, list) else value,
)
def test_it_is_reported_once(detector, events, words):
    hears = detector()
    (finding,) = [finding for event in events for finding in hears.hear(event)]
    assert words in finding.message


@pytest.mark.parametrize(
    ("detector", "events", "severities"),
    [
        (OnlyTheLastBatch, only_the_last_batch.BOTH, ["warning", "error", "error"]),
        (OnlyTheLastBatch, only_the_last_batch.BOTH[2:] + only_the_last_batch.EVENTS, ["error", "error"]),
        (DividedByBatches, divided_by_batches.BOTH, ["warning", "error"]),
    ],
)
def test_what_is_printed_weighs_more_than_the_source(detector, events, severities):
    hears = detector()
    assert [finding.severity for event in events for finding in hears.hear(event)] == severities
