"""An evaluation without a loader, and one that comes with each step."""

import pytest

from premortem.detectors.evaluation_dwarfs_training import EvaluationDwarfsTraining
from premortem.findings import Severity
from tests.detectors.faults import evaluation_dwarfs_training as dwarfs
from tests.detectors.flows import profiled, rows, sample
from tests.detectors.test_contract import observe

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


def test_a_script_that_trains_several_models_chooses_how_many_rows_each_gets():
    (finding,) = observe(EvaluationDwarfsTraining(), dwarfs.MANY_MODELS)
    assert finding.severity is Severity.INFO
