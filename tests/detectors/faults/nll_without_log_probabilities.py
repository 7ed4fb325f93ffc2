from tests.detectors.rehearsal import Rehearsal


def run(*calls):
    play = Rehearsal()
    play.optimizer(1, 2)
    for facts in calls:
        play.zero()
        play.forward()
        play.loss(**{"fn": "nll_loss", **facts})
        play.backward()
        play.stepped()
    return play.end()


LOGS = {"input_op": "log_softmax", "input_min": -4.1, "input_max": -0.2, "row_logsumexp": 1e-6}
UNNAMED = {**LOGS, "input_op": "where"}
SCORES = {"input_op": "addmm", "input_min": -2.0, "input_max": 3.0, "row_logsumexp": 2.1}
PROBABILITIES = {
    "input_op": "softmax",
    "input_min": 0.01,
    "input_max": 0.9,
    "row_logsumexp": 1.6,
    "row_sum_error": 1e-7,
}

EVENTS = run(*[SCORES] * 4)
OF_SOFTMAX = run(*[PROBABILITIES] * 4)
HEALTHY = [
    run(*[LOGS] * 6),
    run(*[UNNAMED] * 6),
    run(UNNAMED, *[SCORES] * 5),  # the line was given log-probabilities before
    run(*[{**SCORES, "fn": "cross_entropy"}] * 6),
]
