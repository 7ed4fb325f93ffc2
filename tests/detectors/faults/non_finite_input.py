from premortem.events import NonFinite, StateLoaded
from tests.detectors.rehearsal import Rehearsal, line

NAN = float("nan")


def run(*, origin=None, good=6, bad=4, restored=False, **facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(good):
        play.batch()
        play.stats()
    for number in range(bad):
        play.zero()
        play.forward()
        play.loss(NAN)
        if origin and number == 0:
            play.add(NonFinite(step=play.step, at=line(22), value=NAN, **origin))
        play.backward()
        play.stepped()
        play.stats(NAN, **{"worst": 1, **facts})
        if restored and number == 1:
            state = {"target": "module", "key": 1, "name": "model", "strict": True}
            play.add(StateLoaded(step=play.step, given=2, wanted=2, matched=2, **state))
            break
    for _ in range(good if restored else 0):
        play.value = 1.0
        play.batch()
        play.stats()
    return play.end()


DATA = {"stage": "data", "what": "input", "rows": (3, 17)}
EVENTS = run(origin=DATA)
TARGET = run(origin={"stage": "data", "what": "target"})
ON_GPU = run(input_finite=False)
HEALTHY = [
    run(bad=0),
    run(origin={"stage": "forward", "op": "log", "detail": "the logarithm of 0"}),
    run(origin=DATA, restored=True),  # a range test that puts its weights back
    run(),
]
