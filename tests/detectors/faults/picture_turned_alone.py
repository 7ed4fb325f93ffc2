"""Pictures are mirrored at random, and their masks are not."""

from premortem.events import Event, PictureTurned


def run(*alone: bool) -> list[Event]:
    return [PictureTurned(step=20 + each, way="left and right", alone=one) for each, one in enumerate(alone)]


EVENTS = run(True, True, True, True)
BY_CHANCE_ALIKE = run(False, True, False, True, True)  # two draws agree in half of the cases
HEALTHY: list[list[Event]] = [run(False, False, False), run(True, True), run(*[False] * 20, True, True, True)]
