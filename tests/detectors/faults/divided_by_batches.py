"""A loop whose source says it: batches for samples."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, LogLine, ScoreRecounted, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="batches for samples", name="correct", other="loader")
EVENTS: list[Event] = [SEEN]


def printed(*rights: int) -> list[Event]:
    """What was right of 90 samples in five batches, divided by the batches."""
    events: list[Event] = []
    for step, right in enumerate(rights):
        text = f"{right / 5:.2f}"
        counted = ScoreRecounted(step=step, loader=2, right=right, of=90, batches=5, last=(9, 10))
        events += [
            counted,
            LogLine(step=step, text="", template="acc #", values=(("acc", text, float(text)),)),
        ]
    return events


BOTH = [SEEN, *printed(60, 71, 72)]
HEALTHY: list[list[Event]] = [
    [replace(SEEN, kind="something else")],
    [],
    printed(60, 60, 60),
    printed(90, 90, 90),
]
