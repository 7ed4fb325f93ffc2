from tests.detectors.flows import rows, run, sample

SLIVER = {"scale": (0.0005,) * 4, "start": (-1.92,) * 4}
EVENTS = run(sample(rows(300, **SLIVER)), sample(rows(100, 3, **SLIVER)))
ZEROS = run(sample([(0.0,) * 4] * 1 + rows(0)), sample(rows(100, 3)))
HEALTHY = [
    run(sample(rows(300)), sample(rows(100, 3))),
    run(sample(rows(300, scale=(10.0, 1.0, 1.0, 1.0), start=(1013.0, 0.0, 0.0, 0.0))), sample(rows(100, 3))),
    run(sample(rows(300, scale=(0.001,) * 4, start=(0.0,) * 4)), sample(rows(100, 3))),
    ZEROS,
]
