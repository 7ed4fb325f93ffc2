from premortem.detectors.record_of_another_run import RecordOfAnotherRun
from premortem.events import CheckpointSaved, FileLoaded, LogLine, RunEnded
from tests.detectors.faults.record_of_another_run import STEP
from tests.detectors.test_contract import observe

FILE = FileLoaded(path="last.pt", keys=("model", "best_val"), records=(("best_val", 5e-5),), tensors=4)


def run(*values, record, metric="val_mse"):
    lines = [
        LogLine(
            text=f"epoch {at} {metric} {value}",
            template=f"epoch # {metric} #",
            values=(("epoch", str(at), float(at)), (metric, str(value), value)),
        )
        for at, value in enumerate(values)
    ]
    return [
        FILE,
        STEP,
        *lines,
        CheckpointSaved(path="best.pt", bytes=9, records=(("best_val", record),)),
        RunEnded(),
    ]


def test_a_record_without_a_metric_is_that_of_what_is_printed_beside_its_word():
    (finding,) = observe(RecordOfAnotherRun(), run(0.4, 0.2, 0.1, record=5e-5))
    assert finding.message.startswith(
        "no evaluation came near the loaded record: `best_val` of `last.pt` is 5e-05"
    )


def test_a_save_with_another_record_is_one_of_something_better():
    assert observe(RecordOfAnotherRun(), run(0.4, 0.2, 0.1, record=0.1)) == []


def test_what_is_printed_of_another_split_is_no_measure():
    assert observe(RecordOfAnotherRun(), run(0.4, 0.2, 0.1, record=5e-5, metric="test_mse")) == []
