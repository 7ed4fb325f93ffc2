"""A counter of bad epochs that a record does not set back: its value and the record's, at each evaluation."""

from dataclasses import replace

from premortem.events import Event, HabitSeen, Site

SEEN = HabitSeen(step=3, at=Site("train.py", 40), kind="patience", name="bad")


def run(*values: tuple[float, float], kind: str = "patience") -> list[Event]:
    """The counter and the record."""
    return [SEEN, *(replace(SEEN, kind=kind, step=10 * at, values=each) for at, each in enumerate(values))]


EVENTS = run((0, 0.9), (1, 0.9), (1, 0.8), (2, 0.8))
HEALTHY: list[list[Event]] = [
    run((0, 0.9), (1, 0.9), (0, 0.8), (1, 0.8)),  # set back, whoever does it
    run((0, 0.9), (0, 0.8), (0, 0.7), (1, 0.7), (2, 0.7)),  # no record after a bad epoch
    run((0, 0.9), (1, 0.9), (1, 0.8), (2, 0.8), kind="something else"),
    [SEEN],
]
