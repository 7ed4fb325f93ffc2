import random

from premortem.events import RunEnded
from tests.detectors.flows import profiled, rows, run, sample

TRAIN = rows(400)
EVENTS = run(sample(TRAIN), sample(TRAIN[100:300]))
TRAINING_ACCURACY = [
    profiled(
        ("`x`", "training", sample(TRAIN), {}),
        ("`train_eval`", "evaluation", sample(TRAIN[:200]), {}),
    )
]
BESIDE_A_CLEAN_ONE = [
    profiled(
        ("`x`", "training", sample(TRAIN), {}),
        ("`a`", "evaluation", sample(TRAIN[:200]), {}),
        ("`b`", "evaluation", sample(rows(200, 5)), {}),
    )
]
# Of a pretraining, before the evaluation of the training that follows.
BEFORE_A_CLEAN_ONE = [
    profiled(("`x`", "training", sample(TRAIN), {}), ("`a`", "evaluation", sample(TRAIN[:200]), {})),
    *BESIDE_A_CLEAN_ONE,
    RunEnded(step=60, reason="finished"),
]


def categories(number, seed):
    """Rows of a few categories each, of which there are 36 in all."""
    draw = random.Random(seed)
    return [tuple(float(draw.randrange(n)) for n in (3, 2, 2, 3)) for _ in range(number)]


COARSE = categories(400, 1)
# A part of the rows come several times, and the evaluation has nothing but rows of the training.
SOME_TWICE = run(sample([*TRAIN, *TRAIN[:100]]), sample(TRAIN[150:350]))
HEALTHY = [
    run(sample(COARSE), sample(categories(100, 2))),
    run(sample(COARSE * 3), sample(categories(100, 2)), length=400),  # three passes
    BEFORE_A_CLEAN_ONE,
    run(sample(TRAIN), sample(rows(200, 9))),
    run(sample(TRAIN), sample([*TRAIN[:20], *rows(180, 9)])),
    TRAINING_ACCURACY,
    BESIDE_A_CLEAN_ONE,
]
