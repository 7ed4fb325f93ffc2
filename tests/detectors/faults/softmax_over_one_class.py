from tests.detectors.rehearsal import Rehearsal


def run(*, steps=4, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**facts)
        play.backward()
        play.stepped()
    return play.end()


ONE = {"input_shape": (32, 1)}
BINARY = {"fn": "binary_cross_entropy", "target_shape": (32, 1), **ONE}

EVENTS = run(**ONE)
SQUASHED = run(input_op="softmax", input_min=1.0, input_max=1.0, **BINARY)
HEALTHY = [
    run(),
    run(input_shape=(32, 2), input_op="softmax", input_min=0.1, input_max=0.9),
    run(input_op="sigmoid", input_min=0.1, input_max=0.9, **BINARY),
    run(steps=2, **ONE),
]
