from tests.detectors.rehearsal import Rehearsal


def run(*, steps=4, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**{"target_shape": (32, 4), **facts})
        play.backward()
        play.stepped()
    return play.end()


SCORES = {"target_min": -3.2, "target_max": 4.1, "target_sum_error": 2.2}

EVENTS = run(**SCORES)
COUNTS = run(target_min=0.0, target_max=6.0, target_sum_error=39.0)
HEALTHY = [
    run(target_min=0.01, target_max=0.9, target_sum_error=1e-7),
    run(target_min=0.0, target_max=1.0, target_sum_error=0.0),
    run(target_shape=(32,), target_min=0.0, target_max=3.0),  # class indices
    run(steps=2, **SCORES),
    run(grad=False, **SCORES),
]
