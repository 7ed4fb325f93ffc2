"""The validation loss is 1.921642 in every epoch while the training loss falls."""

from premortem.events import Custody, Event, LogLine, RunEnded
from tests.detectors.faults.evaluated_copy_never_changes import MOVED


def line(epoch: int, text: str, labels: tuple[str, ...], *numbers: str) -> LogLine:
    values = tuple((label, number, float(number)) for label, number in zip(labels, numbers, strict=True))
    return LogLine(step=10 * epoch, text=text, template=text, values=values)


def epochs(template: str, labels: tuple[str, ...], *columns: list[str]) -> list[Event]:
    rows = zip(*columns, strict=True)
    return [line(number, template, labels, *row) for number, row in enumerate(rows, start=1)]


TRAINED: list[Event] = [Custody(step=1, optimizer=1, links=MOVED.links)]
FALLING = ["1.9000", "1.2000", "0.8000", "0.6000", "0.5000", "0.4500"]
LABELS = ("train_loss", "val_loss")
TEMPLATE = "train loss # val loss #"

EVENTS: list[Event] = [*TRAINED, *epochs(TEMPLATE, LABELS, FALLING, ["1.921642"] * 6), RunEnded(step=60)]

HEALTHY: list[list[Event]] = [
    [*TRAINED, *epochs(TEMPLATE, LABELS, FALLING, FALLING), RunEnded(step=60)],
    [
        *epochs(TEMPLATE, LABELS, FALLING, ["1.921642"] * 6),
        RunEnded(step=60),
    ],  # nothing moves: not the metric's fault
    [*TRAINED, *epochs("train loss # best val loss #", LABELS, FALLING, ["1.921642"] * 6), RunEnded(step=60)],
    [
        *TRAINED,
        *epochs("train loss # val acc #", ("train_loss", "val_acc"), FALLING, ["0.9513"] * 6),
        RunEnded(step=60),
    ],
    [*TRAINED, *epochs(TEMPLATE, LABELS, ["1.9001"] * 5 + ["1.9002"], ["1.921642"] * 6), RunEnded(step=60)],
    [
        *TRAINED,
        *epochs(
            "train loss # val mse # (naive val mse #)",
            ("train_loss", "val_mse", "val_mse"),
            FALLING,
            FALLING,
            ["1.921642"] * 6,
        ),
        RunEnded(step=60),
    ],
]
