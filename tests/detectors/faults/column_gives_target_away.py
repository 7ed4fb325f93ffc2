import random

from tests.detectors.flows import rows, run, sample

DRAW = random.Random(3)
LABELS = [DRAW.randrange(3) for _ in range(400)]
PLAIN = rows(400)
PRICES = [2.5 * row[0] + DRAW.gauss(0, 1) for row in PLAIN]
OTHER = sample(rows(100, 8))
RENAMED = [(*row[:3], 7.0 - 2 * label) for row, label in zip(PLAIN, LABELS, strict=True)]
EVENTS = run(sample(RENAMED, LABELS), OTHER)
MARKED = [(*row[:3], -1.0 if label == 2 else row[3]) for row, label in zip(PLAIN, LABELS, strict=True)]
LINE = [(*row[:3], 0.9 * price + 4) for row, price in zip(PLAIN, PRICES, strict=True)]
EQUAL = [(*row[:3], price) for row, price in zip(PLAIN, PRICES, strict=True)]
SPEAKING = [
    run(sample(MARKED, LABELS), OTHER),
    run(sample(LINE, PRICES, classes=False), OTHER),
    run(sample(EQUAL, PRICES, classes=False), OTHER),
]
HEALTHY = [
    run(sample(PLAIN, LABELS), OTHER),
    run(sample(PLAIN, [row[0] > 0 for row in PLAIN]), OTHER),  # a task made up that way
    run(sample(PLAIN, PRICES, classes=False), OTHER),
]
