"""Pictures are mirrored at random, and their masks are not."""

from premortem.events import Event, PictureTurned


def run(*alone: bool) -> list[Event]:
    return [PictureTurned(step=20 + each, way="left and right", alone=one) for each, one in enumerate(alone)]


EVENTS = run(True, True, True, True)
HEALTHY: list[list[Event]] = [run(False, False, False), run(False, True, True, True, True), run(True, True)]
