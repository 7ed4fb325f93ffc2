from tests.detectors.ranked import run

EVENTS = run(second={"length": 90})
HEALTHY = [
    run(),
    run(first={"length": None}, second={"length": None}),
    run(first={"apart_on_purpose": True}, second={"length": 90, "apart_on_purpose": True}),
]
