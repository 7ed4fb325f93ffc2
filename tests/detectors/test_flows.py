"""More of what the detectors of what flows in must say, and in which words."""

import pytest

from premortem.detectors.column_gives_target_away import ColumnGivesTargetAway
from premortem.detectors.column_is_one_number import ColumnIsOneNumber
from premortem.detectors.columns_differ_between_phases import ColumnsDifferBetweenPhases
from premortem.detectors.cut_by_the_environment import CutByTheEnvironment
from premortem.detectors.evaluation_dwarfs_training import EvaluationDwarfsTraining
from premortem.detectors.inputs_nearly_constant import InputsNearlyConstant
from premortem.detectors.one_batch_per_epoch import OneBatchPerEpoch
from premortem.detectors.split_is_a_link import SplitIsALink
from premortem.detectors.targets_do_not_lie_on_inputs import TargetsDoNotLieOnInputs
from premortem.detectors.uninformative_labels import UninformativeLabels
from premortem.events import FileFacts, FilesRead
from premortem.findings import Severity
from tests.detectors.faults import column_gives_target_away as giveaway
from tests.detectors.faults import column_is_one_number as constant
from tests.detectors.faults import columns_differ_between_phases as shifted
from tests.detectors.faults import cut_by_the_environment as cut
from tests.detectors.faults import evaluation_dwarfs_training as dwarfs
from tests.detectors.faults import inputs_nearly_constant as flat
from tests.detectors.faults import one_batch_per_epoch as one_batch
from tests.detectors.faults import split_is_a_link as linked
from tests.detectors.faults import targets_do_not_lie_on_inputs as laid
from tests.detectors.faults import uninformative_labels as labels


def said(cls, events):
    detector = cls()
    return [finding for event in events for finding in detector.hear(event)]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (shifted.EVENTS, "`input[:, 2]` is -1."),
        (shifted.RESCALED, "times as wide in evaluation"),
        (shifted.EXCHANGED, "`input[:, 1]` and `input[:, 2]` have changed places"),
        (shifted.CONSTANT, "`input[:, 2]` is 5 in every row of evaluation"),
        (shifted.SECOND_INPUT, "`batch[1][:, 1]` is "),
        (shifted.ONE_TARGET, "`batch[1][:, 1]` is "),
        (shifted.CHANGED_PLACES, "`batch[1][:, 0]` and `batch[1][:, 1]` have changed places"),
        (shifted.KELVIN, "`target` is 20.97"),
        (shifted.KELVIN_OF_WIDE, "`target` is "),
        (shifted.MASKS, "`highest of it` is 1 "),
    ],
    ids=[
        "shifted",
        "rescaled",
        "exchanged",
        "constant",
        "second",
        "target",
        "places",
        "kelvin",
        "wide",
        "masks",
    ],
)
def test_a_column_that_differs_is_named_with_its_numbers(events, words):
    (finding,) = said(ColumnsDifferBetweenPhases, events)
    assert words in finding.message


@pytest.mark.parametrize(
    ("cls", "events", "words"),
    [
        (UninformativeLabels, labels.JUDGED_BY_OTHERS, "the labels of the evaluation say nothing"),
        (InputsNearlyConstant, flat.EVALUATION, "nearly every token of the evaluation is the same one"),
        (SplitIsALink, linked.SHARDS, "8 of the files that were read are one file"),
        (SplitIsALink, linked.BOTH_LINKED, "`/d/valid.csv` is a link to"),
    ],
)
def test_what_is_wrong_on_the_other_side_is_said_of_that_side(cls, events, words):
    (finding,) = said(cls, events)
    assert words in finding.message


@pytest.mark.parametrize("events", giveaway.SPEAKING)
def test_a_column_that_is_the_target_in_disguise_is_named(events):
    (finding,) = said(ColumnGivesTargetAway, events)
    assert "`input[:, 3]`" in finding.message


@pytest.mark.parametrize(
    ("files", "severity"),
    [
        ((FileFacts("/d/train.csv", rows=400),), Severity.WARNING),
        ((FileFacts("/d/train.parquet", size=90_000),), Severity.WARNING),
        ((FileFacts("/d/config.json", size=300),), Severity.INFO),
        ((), Severity.INFO),
    ],
)
@pytest.mark.parametrize(
    ("cls", "events"),
    [
        (ColumnGivesTargetAway, giveaway.EVENTS),
        (EvaluationDwarfsTraining, dwarfs.MADE_UP),
        (OneBatchPerEpoch, one_batch.EVENTS),
    ],
)
def test_what_is_odd_in_stored_data_is_a_remark_where_a_script_makes_its_data_up(
    files, severity, cls, events
):
    (finding,) = said(cls, [FilesRead(step=1, files=files), *events])
    assert finding.severity is severity


def test_a_few_rows_of_a_larger_set_are_no_made_up_ones():
    (finding,) = said(EvaluationDwarfsTraining, dwarfs.EVENTS)
    assert finding.severity is Severity.WARNING


def test_masks_that_were_cut_apart_from_their_pictures():
    (finding,) = said(TargetsDoNotLieOnInputs, laid.APART)
    assert finding.severity is Severity.WARNING
    assert finding.evidence["fitting"] == 19


def test_masks_that_are_turned_now_and_then_were_not_flipped_with_their_images():
    (finding,) = said(TargetsDoNotLieOnInputs, laid.HALF)
    assert "13 of 27 targets" in finding.message
    assert "not applied to their masks" in finding.cause


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (cut.SWITCH, "DEBUG=1 is set in the environment, and the run trains on 32 of 1440 rows"),
        (cut.SHARE, "72 of 1440 rows"),
        (cut.BATCHES, "2 of 45 batches in each pass"),
    ],
)
def test_it_is_said_how_a_variable_changed_the_run(events, words):
    (finding,) = said(CutByTheEnvironment, events)
    assert words in finding.message


@pytest.mark.parametrize(("events", "value"), [(constant.SQUASHED, "0"), (constant.ROUNDED, "-0.8248")])
def test_a_constant_that_was_standardised_is_a_remark(events, value):
    (finding,) = said(ColumnIsOneNumber, events)
    assert f"`input[:, 1]` is {value} in all 300 rows" in finding.message
    assert finding.severity is Severity.INFO
