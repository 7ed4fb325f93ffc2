"""A loop whose source says it: last batch."""

from dataclasses import replace
from typing import Any

from premortem.events import EvaluationEnded, Event, HabitSeen, LogLine, ScoreRecounted, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="last batch", name="correct")
FACTS: dict[str, Any] = {
    "grad": False,
    "noisy_train": 0,
    "training": False,
    "judged": True,
    "repeated": False,
}
ENDED = EvaluationEnded(
    step=32, model=1, forwards=8, samples=500, generator=False, weights=1, number=1, **FACTS
)
EVENTS: list[Event] = [SEEN, ENDED]


def printed(
    *texts: str, label: str = "acc", passes: int = 1, last: tuple[int, ...] = (17, 18, 20)
) -> list[Event]:
    """Evaluations of 96 samples in five batches, of which 60 are right, and so many of the last 24."""
    events: list[Event] = []
    for step, text in enumerate(texts):
        right = last[step % len(last)]
        counted = ScoreRecounted(step=step, loader=2, right=60, of=96, batches=5, last=(right, 24))
        line = LogLine(
            step=step,
            text="",
            template=f"epoch # val {label} #",
            values=(("epoch", str(step), step), (label, text, float(text))),
        )
        events += [*[counted] * passes, line]
    return events


PRINTED = printed("0.708", "0.750", "0.833")
BOTH = [SEEN, ENDED, *PRINTED, *printed("0.708", "0.750", "0.833", label="accuracy")]
HEALTHY: list[list[Event]] = [
    [replace(SEEN, kind="something else"), ENDED],
    [SEEN, replace(ENDED, forwards=1)],  # the whole set is one batch
    [ENDED],
    printed("0.625", "0.625", "0.625"),
    printed("62.50", "62.50", "62.50"),
    printed("0.625", "0.750", "0.833", "0.708", "0.750"),  # by chance
    printed("0.7", "0.8", "0.8"),  # too few digits
    printed("0.708", "0.750", "0.833", label="best_acc"),
    printed("0.708", "0.750", "0.833", passes=2),  # of which pass it is, is not known
    printed("0.708", "0.750", "0.833", label="train acc"),
    printed(*["0.833"] * 6, last=(20,)),  # of the training, perhaps, and it stands still
    printed(*["1.0000"] * 6, last=(24,)),
    printed("0.708", *["1.0000"] * 6, last=(17, *[24] * 6)),
]
