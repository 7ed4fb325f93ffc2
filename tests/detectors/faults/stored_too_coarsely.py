from tests.detectors.flows import rows, run, sample

OTHER = sample(rows(100, 3))
CLOCK = [(128.0 * round((1.7e9 + 60 * at) / 128), *row[1:]) for at, row in enumerate(rows(300))]
EVENTS = run(sample(CLOCK), OTHER)
HEALTHY = [
    run(sample(rows(300)), OTHER),
    run(sample([(60.0 * at, *row[1:]) for at, row in enumerate(rows(300))]), OTHER),
    run(sample(CLOCK), OTHER, dtype="float64"),
]
