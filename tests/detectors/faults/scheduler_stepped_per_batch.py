import math

from premortem.events import FilesRead, Variable
from tests.detectors.rehearsal import Rehearsal


def staircase(position):
    return 0.001 * 0.1 ** (position // 3)


def cosine(position):
    return 0.0005 * (1 + math.cos(math.pi * position / 60))


def run(kind, rate, *, per_batch, horizon=None, setting=None, **facts):
    play = Rehearsal()
    if setting is not None:
        said = Variable(setting, "12", "/home/user/run.yaml", 9)
        play.add(FilesRead(step=0, at=None, files=(), settings=(said,)))
    play.optimizer(1, 2)
    play.schedule(kind, horizon, **facts)
    calls = 0
    for _ in play.epochs(6, batches=10):
        for batch in range(10):
            play.batch(lrs=(rate(calls),))
            if per_batch or batch == 9:
                play.scheduled(rate(calls), rate(calls + 1))
                calls += 1
    return play.end()


EVENTS = run("StepLR", staircase, per_batch=True, options={"step_size": 3.0, "gamma": 0.1})
HEALTHY = [
    run("StepLR", staircase, per_batch=False, options={"step_size": 3.0, "gamma": 0.1}),
    run("CosineAnnealingLR", cosine, per_batch=True, horizon=60),  # as long as all batches together
    run("OneCycleLR", cosine, per_batch=True, horizon=60),
    run(
        "LambdaLR", staircase, per_batch=True, setting="schedule.decay_steps"
    ),  # too short, which is another mistake
]
OF_EPOCHS = run("LambdaLR", staircase, per_batch=True, setting="schedule.epochs")
