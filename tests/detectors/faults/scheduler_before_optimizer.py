from premortem.events import ScalerUpdate
from tests.detectors.rehearsal import Rehearsal


def run(*, early, wound=0, scaler=False):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("ExponentialLR")
    rate = 0.001
    for _ in range(wound):
        play.scheduled(rate, 0.9 * rate, at=12)
        rate *= 0.9
    for _ in range(6):
        if early:
            if scaler:
                play.add(ScalerUpdate(step=play.step, scale=65536.0, skipped=play.step == 0))
            play.scheduled(rate, 0.9 * rate)
            rate *= 0.9
        play.batch(lrs=(rate,))
        if not early:
            play.scheduled(rate, 0.9 * rate)
            rate *= 0.9
    return play.end()


EVENTS = run(early=True)
HEALTHY = [
    run(early=False),
    run(early=False, wound=1),
    run(early=False, wound=5),  # wound forward before training resumes
    run(early=True, scaler=True),  # the scaler refused the first step
]
