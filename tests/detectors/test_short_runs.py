"""What no later step can make right is reported within the first few: most public scripts are tried for a few dozen."""

import pytest

from premortem.detectors.adversarial_training import PlayersPullTogether
from premortem.detectors.clipped_hard_every_step import ClippedHardEveryStep
from premortem.detectors.reseeded_every_step import ReseededEveryStep
from premortem.detectors.resumed_state import ScheduleRestarts
from premortem.detectors.symmetric_initialisation import SymmetricInitialisation
from premortem.detectors.train_and_eval_inputs_differ import TrainAndEvalInputsDiffer
from premortem.detectors.update_order import BackwardNeverCalled
from premortem.detectors.updates_too_large import UpdatesTooLarge
from premortem.detectors.updates_too_small import UpdatesTooSmall
from premortem.detectors.weight_decay_collapse import WeightDecayCollapse
from tests.detectors.faults import (
    backward_never_called,
    clipped_hard_every_step,
    players_pull_together,
    reseeded_every_step,
    schedule_restarts,
    symmetric_initialisation,
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
        (ScheduleRestarts, schedule_restarts.NOT_SAVED, "and the one that was restored is"),
        (UpdatesTooLarge, updates_too_large.THROWN, "nothing of the initialisation is left"),
        (UpdatesTooSmall, updates_too_small.HOPELESS, "6 steps moved them by less than 0.0%"),
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
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "" if isinstance(value, list) else value,
)
def test_it_is_reported_once(detector, events, words):
    hears = detector()
    (finding,) = [finding for event in events for finding in hears.hear(event)]
    assert words in finding.message
