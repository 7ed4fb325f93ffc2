from tests.detectors.ranked import run

EVENTS = run(second={"waiting": 0.025})
HEALTHY = [
    run(),
    run(second=lambda step: {"waiting": 0.025} if step == 64 else {}),
    run(second={"computing": 0.024}),
]
