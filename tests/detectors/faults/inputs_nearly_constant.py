from tests.detectors.flows import profiled, rows, run, sample

SLIVER = {"scale": (0.0005,) * 4, "start": (-1.92,) * 4}
EVENTS = run(sample(rows(300, **SLIVER)), sample(rows(100, 3, **SLIVER)))
ZEROS = run(sample([(0.0,) * 4] * 1 + rows(0)), sample(rows(100, 3)))
WORDS = ("lowest of the row", "highest of the row", "changes along the row")
TEXT = sample([(0.0, 40.0 + at % 9, 5.0 + at % 4) for at in range(300)], names=WORDS)
UNKNOWN = sample([(0.0, 1.0, 1.0 - at / 1e6) for at in range(200)], names=WORDS)
EVALUATION = [
    profiled(
        ("`x`", "training", TEXT, {"kind": "tokens", "dtype": "int64"}),
        ("`vx`", "evaluation", UNKNOWN, {"kind": "tokens", "dtype": "int64"}),
    )
]
HEALTHY = [
    run(sample(rows(300)), sample(rows(100, 3))),
    run(sample(rows(300, scale=(10.0, 1.0, 1.0, 1.0), start=(1013.0, 0.0, 0.0, 0.0))), sample(rows(100, 3))),
    run(sample(rows(300, scale=(0.001,) * 4, start=(0.0,) * 4)), sample(rows(100, 3))),
    ZEROS,
    # A differential equation: points in the middle have gradients of their own, and all that has none is the moment 0.
    [
        profiled(
            (
                "the input of `net`",
                "training",
                sample([(0.0,)] * 300, names=("input[:, 0]",)),
                {"is_part": True},
            )
        )
    ],
    # A bandit without a context.
    [profiled(("the input of `net`", "training", sample([(1.0,) * 4] * 300), {"is_made": True}))],
]
