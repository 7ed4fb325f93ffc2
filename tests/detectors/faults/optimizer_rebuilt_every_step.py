from premortem.events import StateLoaded
from tests.detectors.rehearsal import Rehearsal


def run(*, steps_each=1, reset=False):
    play = Rehearsal()
    for _ in range(30):
        if reset:
            play.add(
                StateLoaded(
                    step=play.step,
                    target="module",
                    key=1,
                    name="model",
                    strict=True,
                    given=2,
                    wanted=2,
                    matched=2,
                )
            )
        play.optimizer(1, 2)
        for _ in range(steps_each):
            play.batch()
    return play.end()


EVENTS = run()
HEALTHY = [run(steps_each=3), run(reset=True)]
