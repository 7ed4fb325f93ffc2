"""A resumed run writes a record that is worse than the one it goes on from."""

from dataclasses import replace

from premortem.events import CheckpointSaved, Event, FileLoaded, OptimizerBuilt
from tests.detectors.resumed import RESUMED

NAME = "best_val"


def saved(value: float, name: str = NAME) -> CheckpointSaved:
    return CheckpointSaved(path="/runs/best.pt", bytes=10, records=((name, value),))


def run(
    before: list[float], held: float, after: list[float], name: str = NAME, **facts: object
) -> list[Event]:
    loaded = FileLoaded(path=RESUMED.path, keys=("model", name), records=((name, held),))
    return [
        *(saved(value, name) for value in before),
        loaded,
        replace(RESUMED, **facts),
        *(saved(value, name) for value in after),
    ]


EVENTS = run([0.9, 0.8, 0.7], 0.7, [0.75])
IN_ITS_OWN_PROCESS = run([], 0.7, [0.75, 0.73, 0.72])
JUST_BEST = run([0.9, 0.8, 0.7], 0.7, [0.75], name="best")
BY_ITS_NAME = run([], 0.93, [0.88], name="best_acc")
ELSEWHERE = FileLoaded(path="/runs/student.pt", keys=("model", NAME), records=((NAME, 0.9),))
HEALTHY: list[list[Event]] = [
    run([0.9, 0.8, 0.7], 0.7, [0.7, 0.65]),
    run([], 0.7, [0.7, 0.65, 0.6]),
    run([], 0.93, [0.93, 0.94], name="best_acc"),
    run([0.9, 0.8, 0.7], 0.7, [0.7, 0.65], name="best"),
    run([], 0.7, [0.75], name="best"),
    run([], 0.7, [0.75]),  # which way is better is not known
    run([0.9, 0.8, 0.7], 0.7, [0.75], reached=(("epoch", 0),)),  # a new training from old weights
    run([0.9, 0.8, 0.7], 0.7, [0.75], restored=False),
    run([0.9, 0.8, 0.7], 0.7, [0.75], name="val_loss"),  # no record
    run([0.9, 0.8, 0.7, 0.9], 0.9, [0.95]),
    # What goes up and down is no record, whatever reference it is.
    *(
        run([0.46, 0.45, 0.44], 0.449, [0.461], name=name)
        for name in ("last_val_loss", "prev_val_loss", "best_threshold", "baseline", "min_val", "best_epoch")
    ),
    run([0.8, 0.9, 0.7], 0.7, [0.75], name="best_val_loss"),
    # It was restored, and begins again with the next fold, whether that shows or not.
    run([], 0.7, [0.7, 2.1, 1.8], name="best_val_loss"),
    [*run([], 0.7, []), OptimizerBuilt(optimizer=2, kind="Adam", groups=()), saved(2.1), saved(1.8)],
    run([], 0.7, [0.75], name="best_val_loss", reached=()),  # nothing says that it goes on
    [ELSEWHERE, *run([], 0.7, [0.9, 0.85])],  # a record of each of two models
]
