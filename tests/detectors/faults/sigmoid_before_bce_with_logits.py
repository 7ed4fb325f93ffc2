from tests.detectors.rehearsal import Rehearsal

BCE = "binary_cross_entropy_with_logits"


def run(steps=4, feeds=(), **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**{"fn": BCE, "input_shape": (32, 1), "target_shape": (32, 1), **facts})
        play.walk(1, 2, ops=("BinaryCrossEntropyWithLogits",), feeds=feeds)
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run(input_op="sigmoid", input_min=0.1, input_max=0.9)
UNNAMED = run(steps=60, input_min=0.001, input_max=0.999)
HEALTHY = [
    run(steps=60, input_op="addmm", input_min=-3.0, input_max=2.0),
    run(steps=60, input_min=0.1, input_max=0.4),  # scores of an untrained network
    run(fn="binary_cross_entropy", input_op="sigmoid", input_min=0.1, input_max=0.9),
]
