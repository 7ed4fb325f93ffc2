from tests.detectors.flows import rows, run, sample

PLAIN = rows(600)
OTHER = sample(rows(100, 3))


def every(number, value, column=0):
    return [
        (*row[:column], value, *row[column + 1 :]) if at % number == 0 else row
        for at, row in enumerate(PLAIN)
    ]


EVENTS = run(sample(every(25, -9999.0)), OTHER)
CAPPED = [(min(row[0], 2.0), *row[1:]) for row in PLAIN]
ZERO_INFLATED = [(0.0 if at % 3 else abs(row[0]), *row[1:]) for at, row in enumerate(PLAIN)]
HEAVY = [(row[0] ** 7, *row[1:]) for row in PLAIN]
HEALTHY = [
    run(sample(PLAIN), OTHER),
    run(sample(CAPPED), OTHER),
    run(sample(ZERO_INFLATED), OTHER),
    run(sample(HEAVY), OTHER),
    run(sample(every(600, -9999.0)), OTHER),  # once: an outlier
]
