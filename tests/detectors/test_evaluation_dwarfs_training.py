"""An evaluation without a loader, and one that comes with each step."""

import pytest

from premortem.detectors.evaluation_dwarfs_training import EvaluationDwarfsTraining
from tests.detectors.flows import profiled, rows, sample

FEW = sample(rows(4) * 14)


@pytest.mark.parametrize(
    ("phase", "times", "length", "found"),
    [
        ("evaluation", 14, None, 1),  # a tensor: as many as there are different rows
        ("step", 14, 400, 1),  # an epoch is one step, and the evaluation follows it
        ("step", 1, 400, 0),  # a part of a step that is always another one
        ("step", 14, None, 0),
    ],
)
def test_what_counts_as_an_evaluation(phase, times, length, found):
    many = sample(rows(400, 3) * times)
    event = profiled(("x", "training", FEW, {}), ("vx", phase, many, {"length": length}))
    assert len(list(EvaluationDwarfsTraining().hear(event))) == found
