from tests.detectors.rehearsal import Rehearsal

GOOD = {
    "fn": "kl_div",
    "reduction": "batchmean",
    "target_shape": (32, 4),
    "input_op": "log_softmax",
    "input_min": -5.0,
    "input_max": -0.1,
    "target_min": 0.01,
    "target_max": 0.9,
}
SWAPPED = {"input_op": "softmax", "input_min": 0.01, "input_max": 0.9}
LOGS = {"target_min": -5.0, "target_max": -0.1}


def run(steps=4, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**{**GOOD, **facts})
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run(**SWAPPED)
RAW_TEACHER = run(**LOGS)
NO_LOGS = run(log_target=True)
HEALTHY = [
    run(),
    run(log_target=True, **LOGS),
    run(grad=False, target_grad=True),  # the reverse divergence
    run(steps=2, **SWAPPED),
]
