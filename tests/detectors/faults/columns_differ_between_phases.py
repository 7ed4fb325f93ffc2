from tests.detectors.flows import profiled, rows, run, sample

TRAIN = sample(rows(400))
EVENTS = run(TRAIN, sample(rows(200, 4, start=(0.0, 3.0, 9.0, 10.0))))
RESCALED = run(TRAIN, sample([(row[0] * 12, *row[1:]) for row in rows(200, 4)]))
EXCHANGED = run(TRAIN, sample([(row[0], row[2], row[1], row[3]) for row in rows(200, 4)]))
CONSTANT = run(TRAIN, sample([(*row[:2], 5.0, row[3]) for row in rows(200, 4)]))
SECOND = {"beside": "input"}
WANTED = {"beside": "target"}
OTHERS = ("batch[1][:, 0]", "batch[1][:, 1]", "batch[1][:, 2]", "batch[1][:, 3]")


def beside(train, val, known, **more):
    """Streams that come with the first inputs."""
    first = [("`x`", "training", TRAIN, {}), ("`vx`", "evaluation", sample(rows(200, 4)), {})]
    return [
        profiled(
            *first,
            ("`x`, batch[1]", "training", train, {**known, **more}),
            ("`vx`, batch[1]", "evaluation", val, {**known, **more}),
        )
    ]


WIDE = (1.0, 1.0, 1.0, 0.3)
ANGLES = sample(rows(400, 7, scale=WIDE), names=OTHERS)
IN_FEET = [(row[0], row[1] * 40, *row[2:]) for row in rows(200, 8, scale=WIDE)]
SECOND_INPUT = beside(ANGLES, sample(IN_FEET, names=OTHERS), SECOND)
# Only one of four targets: what is done to targets on purpose is done to all of them.
ONE_TARGET = beside(ANGLES, sample(IN_FEET, names=OTHERS), WANTED)
CHANGED_PLACES = beside(
    ANGLES, sample([(row[1], row[0], *row[2:]) for row in rows(200, 8, scale=WIDE)], names=OTHERS), WANTED
)
KELVIN = run(
    sample(rows(400), [21 + row[0] for row in rows(400)], classes=False),
    sample(rows(200, 4), [294 + row[0] for row in rows(200, 4)], classes=False),
)
# A square root of 294 lies near 21 too, and is not as wide.
KELVIN_OF_WIDE = run(
    sample(rows(400), [21 + 2.5 * row[0] for row in rows(400)], classes=False),
    sample(rows(200, 4), [294 + 2.5 * row[0] for row in rows(200, 4)], classes=False),
)
TEXT = {"kind": "tokens", "dtype": "int64"}
OF_TOKENS = ("lowest of the row", "highest of the row", "changes along the row")


def texts(number, changes):
    return [(0.0, 3.0, changes + 0.6 * row[0]) for row in rows(number, 3)]


ENDS = ("channel 0 of batch[1]", "deviation of channel 0 of batch[1]", "lowest of it", "highest of it")


def masks(number, white, seed):
    return sample(
        [(white * abs(row[0]) / 9, white * abs(row[1]) / 9, 0.0, float(white)) for row in rows(number, seed)],
        names=ENDS,
    )


MASKS = beside(masks(400, 1, 1), masks(200, 255, 2), WANTED, kind="channels")
GROWING = [(at / 100, *row[1:]) for at, row in enumerate(rows(500))]


def straight(number, seed, wide):
    """A straight line, over inputs so wide."""
    made = [tuple(wide * value for value in row) for row in rows(number, seed, start=(0.0,) * 4)]
    return sample(made, [3.0 * row[0] for row in made], classes=False)


HEALTHY = [
    run(straight(400, 1, 1.0), straight(200, 2, 9.0)),  # an extrapolation
    run(TRAIN, sample(rows(200, 4))),
    run(TRAIN, sample(rows(200, 4, start=(0.6, 3.0, -2.0, 10.0)))),
    run(sample(GROWING[:400]), sample(GROWING[400:])),
    # The evaluation undoes on purpose what was done to the targets of the training.
    run(
        sample(rows(400), [row[0] for row in rows(400)], classes=False),
        sample(rows(200, 4), [21 + 4 * row[0] for row in rows(200, 4)], classes=False),
    ),
    beside(
        sample(rows(400, 7, start=(0.0,) * 4), names=OTHERS),
        sample(rows(200, 8, start=(90.0,) * 4, scale=(9.0,) * 4), names=OTHERS),
        WANTED,
    ),
    run(
        sample(rows(400), [7 + row[0] for row in rows(400)], classes=False),
        sample(rows(200, 4), [2.718281828 ** (7 + row[0]) for row in rows(200, 4)], classes=False),
    ),
    beside(masks(400, 1, 1), masks(200, 1, 2), WANTED, kind="channels"),
    # Crops around what is looked for, and whole pictures: the share of the mask differs, its numbers do not.
    beside(
        masks(400, 1, 1),
        sample([(row[0] / 40, row[1] / 40, 0.0, 1.0) for row in rows(200, 2)], names=ENDS),
        WANTED,
        kind="channels",
    ),
    run(TRAIN, sample(rows(30, 4, start=(9.0, 3.0, -2.0, 10.0)))),  # too few to say
    # Words, and the tags that an evaluation gets with them: what is said of both has the same names.
    [
        profiled(
            ("`x`", "training", sample(texts(400, 8.6), names=OF_TOKENS), TEXT),
            ("`vx`", "evaluation", sample(texts(200, 8.6), names=OF_TOKENS), TEXT),
            ("`vx`, batch[1]", "evaluation", sample(texts(200, 2.5), names=OF_TOKENS), {**TEXT, **WANTED}),
        )
    ],
]
