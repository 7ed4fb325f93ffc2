"""A teacher whose classes are in another order than the labels."""

from dataclasses import replace

from premortem.events import Event, RowsCompared, Site
from tests.detectors.rehearsal import again

ORDER = {0: 3, 1: 0, 2: 1, 3: 2, 4: 5, 5: 4, 6: 7, 7: 6}
WRONG = (*((answer, target, 9) for answer, target in ORDER.items()), (0, 1, 2), (2, 3, 2))
SEEN = RowsCompared(
    step=2, at=Site("train.py", 30), fn="cross_entropy", rows=76, guided=WRONG, guide="teacher"
)
RIGHT = replace(SEEN, guided=(*((k, k, 9) for k in range(8)), (0, 1, 2), (2, 3, 2)))
OWN = replace(SEEN, guided=(), answered=WRONG, model="net")
GUESSES = replace(SEEN, guided=tuple((a, t, 2) for a in range(4) for t in range(4)))
ONE_ANSWER = replace(SEEN, guided=tuple((1, t, 10) for t in range(4)))

EVENTS: list[Event] = again(SEEN, 4)
HEALTHY: list[list[Event]] = [
    again(RIGHT, 6),
    again(SEEN, 1),  # too few rows
    again(GUESSES, 6),
    again(ONE_ANSWER, 6),
]
