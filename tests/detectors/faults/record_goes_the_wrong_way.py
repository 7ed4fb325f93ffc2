from premortem.events import Event, HabitSeen, Site

AT = Site("train.py", 53, "fit")
RISING = [0.2, 0.4, 0.5, 0.55, 0.6, 0.58, 0.7, 0.72]
SCORES = [value - 1 for value in RISING]
OVERFIT = [1.0, 1.1, 1.3, 1.4, 1.6, 1.7, 1.9, 2.1]


def run(values: list[float], *, low: bool, name: str = "val_acc", record: str = "best_acc") -> list[Event]:
    """What the loop holds at the beginning of each evaluation but the first."""
    choose = min if low else max
    kind = "record low" if low else "record high"
    rounds = [(now, choose(values[: place + 1])) for place, now in enumerate(values)]
    return [
        HabitSeen(step=10 * number, at=AT, kind=kind, name=name, other=record, values=pair)
        for number, pair in enumerate([(), *rounds])
    ]


EVENTS = run(RISING, low=True)
NEGATIVE = run(SCORES, low=True, name="val_score", record="best_score")
HEALTHY = [
    run(RISING, low=False),
    run(RISING, low=True, record="worst_acc"),
    run(RISING[:4], low=True),
    run(RISING[::-1], low=True),  # the first was the best
    run(OVERFIT, low=True, name="val_loss", record="best_loss"),
    run(OVERFIT, low=True, name="score", record="best_score"),  # a loss that is called a score
    run([-value for value in OVERFIT], low=False, name="val_loss", record="best_loss"),  # a likelihood
]
