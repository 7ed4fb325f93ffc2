from tests.detectors.rehearsal import Rehearsal


def run(steps=6, feeds=(), **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**facts)
        play.walk(1, 2, feeds=feeds)
        play.backward()
        play.stepped()
    return play.end()


SCORES = {"input_op": "addmm", "input_min": -2.5, "input_max": 3.1, "row_sum_error": 1.7}
PROBABILITIES = {"input_min": 0.01, "input_max": 0.93, "row_sum_error": 1e-7}

EVENTS = run(input_op="softmax", **PROBABILITIES)
UNNAMED = run(**PROBABILITIES)
WRITTEN_OUT = run(feeds=(("LogSoftmax", "Softmax"),), fn="nll_loss")
HEALTHY = [
    run(**SCORES),
    run(input_op="log_softmax", input_min=-4.0, input_max=-0.1, row_sum_error=9.0),  # changes nothing
    run(steps=4, **PROBABILITIES),  # by numbers alone, too few
    run(feeds=(("Bmm", "Softmax"),), **SCORES),  # attention inside
]
