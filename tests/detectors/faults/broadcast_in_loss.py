from premortem.events import Broadcast
from tests.detectors.rehearsal import Rehearsal


def run(*shapes, broadcasts=(), steps=4, **facts):
    """`shapes`: of prediction and target in each step, the last one for the rest of the run."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        given, wanted = shapes[min(step, len(shapes) - 1)]
        play.zero()
        play.forward()
        play.loss(**{"fn": "mse_loss", "input_shape": given, "target_shape": wanted, **facts})
        play.walk(1, 2, ops=("MseLoss",), broadcasts=broadcasts)
        play.backward()
        play.stepped()
    return play.end()


COLUMN = ((32, 1), (32,))
EVENTS = run(COLUMN)
ONE_FOR_ALL = run(((1,), (32,)))
BY_HAND = run(((32,), (32,)), fn="", broadcasts=(Broadcast("Sub", ((32, 1),), (32, 32)),))
HEALTHY = [
    run(((32, 1), (32, 1))),
    run(((32,), (32,))),
    run(((32, 1), (1, 32))),  # all pairs, on purpose
    run(((32, 8), (32, 8)), ((8, 1), (8,))),  # the line compares equal shapes elsewhere
    run(COLUMN, steps=2),
    run(((32, 4), (32,)), fn="cross_entropy"),
]
