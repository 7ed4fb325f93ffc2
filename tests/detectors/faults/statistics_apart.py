from tests.detectors.ranked import run

EVENTS = run(first={"buffers": 3}, second={"buffers": 4})
HEALTHY = [run(), run(first={"buffers": 3}, second={"buffers": 3})]
