from premortem.events import StateLoaded
from tests.detectors.rehearsal import Rehearsal

NAN = float("nan")


def run(*, bad=60, restored=(), **facts):
    """`restored`: after which of the bad steps the weights are put back."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(3):
        play.stepped()
        play.stats()
    for number in range(bad):
        play.stepped()
        play.stats(NAN, **{"worst": 1, "weights_finite": number % 10 != 0, **facts})
        if number in restored:
            state = {"target": "module", "key": 1, "name": "model", "strict": True}
            play.add(StateLoaded(step=play.step, given=2, wanted=2, matched=2, **state))
    return play.end()


EVENTS = run()
HEALTHY = [
    run(bad=0),
    run(bad=30),
    run(restored=(20, 40)),
    run(weights_finite=True),  # only the loss
]
