from tests.detectors.flows import rows, run, sample

FEW = rows(32) * 10
EVENTS = run(sample(FEW), sample(rows(400, 3)), total=1440)
HEALTHY = [
    run(sample(rows(400) * 4), sample(rows(100, 3))),
    run(sample(FEW), sample(rows(100, 3))),
    run(sample(rows(32)), sample(rows(400, 3))),  # the first pass is not over
]
