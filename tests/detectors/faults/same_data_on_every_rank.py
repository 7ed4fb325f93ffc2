from tests.detectors.ranked import run

EVENTS = run(first=lambda step: {"batch": step}, second=lambda step: {"batch": step})
HEALTHY = [
    run(),
    run(first={"batch": 5}, second={"batch": 5}),  # one batch, repeated
    run(first=lambda step: {"batch": step, "group": ()}, second=lambda step: {"batch": step, "group": ()}),
]
