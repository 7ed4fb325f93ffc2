"""The sum of an evaluation goes on from epoch to epoch."""

from premortem.events import Event, Site, SumReported


def run(
    *sizes: float,
    growing: bool = False,
    evaluated: bool = True,
    labels: tuple[str, ...] = ("epoch", "val_iou"),
) -> list[Event]:
    at = Site("train.py", 70)
    return [
        SumReported(
            step=18 * each,
            at=at,
            name="score",
            size=size,
            growing=growing,
            evaluated=evaluated,
            labels=labels,
        )
        for each, size in enumerate(sizes, 1)
    ]


EVENTS = run(3.1, 6.9, 11.2, 15.7)
HEALTHY: list[list[Event]] = [
    run(3.1, 3.8, 3.7, 4.1),  # it is set back in a way that the source does not show
    run(3.1, 6.9),
    run(3.1, 6.9, 11.2, 15.7, labels=("epoch", "seconds")),
    run(3.1, 6.9, 11.2, 15.7, growing=True, evaluated=False, labels=("step", "loss")),
]
