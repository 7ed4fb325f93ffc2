"""Pictures that a reshape gave another shape."""

from premortem.events import Event, LayoutRead


def run(*read: tuple[float, float], seams: float = 1.1) -> list[Event]:
    facts = {"model": 1, "name": "net", "shape": (20, 3, 24, 24)}
    return [LayoutRead(step=step, across=a, down=d, seams=seams, **facts) for step, (a, d) in enumerate(read)]


EVENTS = run((0.6, 0.8), (0.62, 0.81), (0.6, 0.8))
HEALTHY: list[list[Event]] = [
    run((2.4, 1.8), (2.5, 1.9)),
    run((1.0, 1.01), (0.99, 1.0)),  # noise
    run((0.6, 1.4), (0.6, 1.4)),  # stripes
    run((1.3, 1.2), (0.6, 0.8), (0.6, 0.8)),
    run((0.6, 0.8)),
    run((0.02, 0.99), (0.02, 0.99)),  # stripes and a little noise
    run((0.1, 0.1), (0.1, 0.1), seams=12.0),  # a map of tiles, as wide as there are channels
    run((0.6, 0.8), (0.6, 0.8), seams=0.0),  # a texture in a frame
]
