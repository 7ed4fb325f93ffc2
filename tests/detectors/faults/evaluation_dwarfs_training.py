from tests.detectors.flows import profiled, rows, run, sample

FEW = rows(32) * 10
EVENTS = run(sample(FEW), sample(rows(400, 3)), total=1440)
MADE_UP = run(sample(FEW), sample(rows(400, 3)))  # a few points, and a dense grid
# Both are of few different rows, of which the training has many more.
ALIKE = rows(40)
HEALTHY = [
    run(sample(ALIKE * 30), sample((ALIKE * 10)[:300]), total=2000),
    run(sample(rows(400) * 4), sample(rows(100, 3))),
    run(sample(FEW), sample(rows(100, 3))),
    run(sample(rows(32)), sample(rows(400, 3))),  # the first pass is not over
    [
        profiled(
            ("labelled", "training", sample(FEW), {}),
            ("others", "training", sample(rows(300, 5)), {}),
            ("vx", "evaluation", sample(rows(400, 3)), {"length": 400}),
        )
    ],
]
