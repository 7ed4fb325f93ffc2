"""Half of the targets of a translation are padding, and `CrossEntropyLoss()` was not told."""

from tests.detectors.rehearsal import Rehearsal


def run(*, steps=24, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    given = {"classes": {0.0: 60, 3.0: 30, 4.0: 30}, "padding": 0.0, "ignored": -100.0, **facts}
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(**given)
        play.backward()
        play.stepped()
    return play.end()


EVENTS = run()
HEALTHY = [
    run(ignored=0.0),
    run(padding=None),  # no embedding of these tokens
    run(reduction="none"),  # masked by hand
    run(classes={0.0: 10, 3.0: 50, 4.0: 50}),
    run(steps=8),
]
