from tests.detectors.flows import rows, run, sample

TRAIN = sample(rows(400))
EVENTS = run(TRAIN, sample(rows(200, 4, start=(0.0, 3.0, 9.0, 10.0))))
RESCALED = run(TRAIN, sample([(row[0] * 12, *row[1:]) for row in rows(200, 4)]))
EXCHANGED = run(TRAIN, sample([(row[0], row[2], row[1], row[3]) for row in rows(200, 4)]))
CONSTANT = run(TRAIN, sample([(*row[:2], 5.0, row[3]) for row in rows(200, 4)]))
GROWING = [(at / 100, *row[1:]) for at, row in enumerate(rows(500))]
HEALTHY = [
    run(TRAIN, sample(rows(200, 4))),
    run(TRAIN, sample(rows(200, 4, start=(0.6, 3.0, -2.0, 10.0)))),
    run(sample(GROWING[:400]), sample(GROWING[400:])),
    run(TRAIN, sample(rows(30, 4, start=(9.0, 3.0, -2.0, 10.0)))),  # too few to say
]
