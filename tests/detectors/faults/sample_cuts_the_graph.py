"""A variational model that draws its code by `sample()`."""

from premortem.events import Event, SampleDrawn, Site


def run(steps: int) -> list[Event]:
    return [SampleDrawn(step=step, at=Site("model.py", 20), model="vae") for step in range(steps)]


EVENTS = run(20)
HEALTHY: list[list[Event]] = [run(5), [*run(1), *run(1) * 30]]
