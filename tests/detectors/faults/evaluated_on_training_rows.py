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
HEALTHY = [
    BEFORE_A_CLEAN_ONE,
    run(sample(TRAIN), sample(rows(200, 9))),
    run(sample(TRAIN), sample([*TRAIN[:20], *rows(180, 9)])),
    TRAINING_ACCURACY,
    BESIDE_A_CLEAN_ONE,
]
