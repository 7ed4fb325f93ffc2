"""The best model is chosen by its result on the training data: both results and the record, at each evaluation."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="chosen", name="train_acc", other="val_acc")


def run(*values: tuple[float, float, float], other: str = "val_acc") -> list[Event]:
    return [SEEN, *(replace(SEEN, other=other, step=10 * at, values=each) for at, each in enumerate(values))]


EVENTS = run((0.6, 0.5, 0.6), (0.8, 0.7, 0.8), (0.9, 0.6, 0.9))
HEALTHY: list[list[Event]] = [
    run((0.6, 0.5, 0.6), (0.8, 0.7, 0.8), (0.9, 0.75, 0.9)),  # both would choose alike
    run((0.6, 0.5, 0.6), (0.8, 0.7, 0.8), (0.7, 0.6, 0.8)),  # it was not kept
    run(
        (0.6, 0.5, 0.6), (0.8, 0.7, 0.8), (0.9, 0.6, 0.9), other="val_number"
    ),  # which way is better is not known
    [SEEN],
]
