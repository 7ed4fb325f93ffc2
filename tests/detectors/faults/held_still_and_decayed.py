from premortem.events import Event, HeldStillMoved


def run(times: int = 4, *, inward: float = -1.0, decay: float = 0.1, chosen: bool = True) -> list[Event]:
    facts = {"parameter": 1, "name": "model.weight", "entries": 640, "moved": 640}
    return [HeldStillMoved(step=n, inward=inward, decay=decay, chosen=chosen, **facts) for n in range(times)]


EVENTS = run()
HEALTHY = [run(2), run(inward=0.1), run(decay=0.0), [*run(1, inward=0.2), *run(8)], run(8, chosen=False)]
