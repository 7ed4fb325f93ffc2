from dataclasses import replace

from premortem.events import CheckpointSaved, EvaluationEnded, Event, LogLine, RunEnded, Site

AT = Site("train.py", 40, "main")
FALLING = [2.0, 1.5, 1.2, 1.0, 0.9, 0.8, 0.85, 0.7]
RISES_LATER = [1.0, 0.8, 0.7, 0.6, 0.5, 1.1, 1.2, 1.3]


def run(
    values: list[float],
    kept: list[bool],
    *,
    label: str = "val_loss",
    path: str = "/runs/best.pt",
    current: bool | None = None,
) -> list[Event]:
    events: list[Event] = []
    for number, (value, saved) in enumerate(zip(values, kept, strict=True)):
        if saved:
            events.append(CheckpointSaved(step=number * 10, at=AT, path=path, bytes=100, current=current))
        line = LogLine(
            step=number * 10,
            at=AT,
            text=f"epoch {number} {label} {value}",
            template=f"epoch # {label} #",
            values=(("epoch", str(number), float(number)), (label, str(value), value)),
        )
        events += [
            line,
            EvaluationEnded(
                step=number * 10,
                model=1,
                forwards=1,
                samples=32,
                grad=False,
                noisy_train=0,
                training=False,
                judged=True,
                repeated=False,
                generator=False,
                weights=number,
                number=number,
            ),
        ]
    return [*events, RunEnded(step=200)]


def records(values: list[float], sign: int) -> list[bool]:
    return [all(sign * value > sign * v for v in values[:i]) for i, value in enumerate(values)]


EVENTS = run(RISES_LATER, records(RISES_LATER, 1))
ONLY_THE_FIRST = run(FALLING, records(FALLING, 1))
EXAM = LogLine(
    step=200,
    at=AT,
    text="test loss 0.1",
    template="test loss #",
    values=(("test loss", "0.1", 0.1),),
)
WITH_A_LAST_EXAM = [*ONLY_THE_FIRST[:-1], EXAM, ONLY_THE_FIRST[-1]]
OVERFITS = [1.0, 0.8, 0.7, 0.75, 0.8, 0.9, 1.0, 1.1]
OVER_A_BETTER_ONE = run(OVERFITS, [True] * 8)


def resting(events: list[Event]) -> list[Event]:
    """Of the evaluations after the second hardly any is heard, as in a run that rests."""
    heard = [i for i, each in enumerate(events) if isinstance(each, EvaluationEnded)]
    return [each for i, each in enumerate(events) if i not in heard[2:-1:2] + heard[3::2]]


RESTING = resting(EVENTS)


def beside(events: list[Event], label: str, values: list[float]) -> list[Event]:
    """With one more number on each line."""
    more = iter(values)
    return [
        replace(each, template=f"{each.template} {label} #", values=(*each.values, (label, str(v), v)))
        if isinstance(each, LogLine) and (v := next(more)) is not None
        else each
        for each in events
    ]


RISING = [0.5, 0.6, 0.65, 0.7, 0.72, 0.73, 0.74, 0.75]
WITH_A_SCORE_OF_THE_TRAINING = beside(beside(OVER_A_BETTER_ONE, "val_f1", OVERFITS[::-1]), "f1", RISING)
HEALTHY: list[list[Event]] = [
    run([0.8, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], [True] * 8, label="val_acc"),  # the last of equal ones
    beside(OVER_A_BETTER_ONE, "f1", RISING),
    resting(run(RISES_LATER, records(RISES_LATER, -1))),
    resting(run(FALLING, records(FALLING, -1))),
    run(FALLING, records(FALLING, -1)),
    run(RISES_LATER, records(RISES_LATER, -1)),
    run(FALLING, [True] * 8),  # each one
    run(OVERFITS, [True] * 8, path="/runs/last.pt"),
    run(OVERFITS, [True] * 8, current=False),  # the best weights, kept aside
    run(FALLING, records(FALLING, 1), label="acc"),  # a score
    run(FALLING, [True] + [False] * 7, path="/runs/init.pt"),
    run(FALLING[:4], records(FALLING[:4], 1)),
]
