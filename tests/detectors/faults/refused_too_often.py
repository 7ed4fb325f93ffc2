"""Nothing but bad steps, and a few bad ones among many good ones."""

from premortem.events import Event
from tests.detectors.faults.update_refused import refused
from tests.detectors.rehearsal import Rehearsal


def run(rows: list[int]) -> list[Event]:
    play = Rehearsal()
    for total, row in enumerate(rows, start=1):
        play.batch()
        play.add(refused(play, row=row, total=total))
    return play.end()


EVENTS = run(list(range(1, 31)))
HEALTHY: list[list[Event]] = [run([1, 1, 2, 1, 3, 1]), run(list(range(1, 15)))]
