"""A layer in float16 that is close to the limit; and the same numbers in a wider type."""

from premortem.events import Event
from tests.detectors.rehearsal import Rehearsal


def run(largest: float, half: bool) -> list[Event]:
    play = Rehearsal()
    play.layer("model.blocks.3", output_max=largest, half=half)
    return play.end()


EVENTS = run(30000.0, half=True)
HEALTHY: list[list[Event]] = [run(30000.0, half=False), run(900.0, half=True)]
