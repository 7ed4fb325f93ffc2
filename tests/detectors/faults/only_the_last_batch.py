"""A loop whose source says it: last batch."""

from dataclasses import replace
from typing import Any

from premortem.events import EvaluationEnded, Event, HabitSeen, Site

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
HEALTHY: list[list[Event]] = [
    [replace(SEEN, kind="something else"), ENDED],
    [SEEN, replace(ENDED, forwards=1)],  # the whole set is one batch
    [ENDED],
]
