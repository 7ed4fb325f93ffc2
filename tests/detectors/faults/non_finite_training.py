from premortem.events import NonFinite, StateLoaded
from tests.detectors.rehearsal import Rehearsal, line

NAN = float("nan")


def run(*, origin=None, growth=0.99, good=12, bad=4, restored=False, rate=1.0, skipped=False):
    """`growth`: of the loss before it breaks; `rate`: of the learning rate, from step to step."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    lr = 0.001
    for _ in range(good):
        play.zero()
        play.forward()
        play.loss(play.value * growth)
        play.backward()
        play.stepped()
        play.stats(lr=lr)
        lr *= rate
    good_value = play.value
    for number in range(bad):
        play.zero()
        play.forward()
        play.loss(NAN)
        if origin and number == 0:
            play.add(NonFinite(step=play.step, at=line(22), value=NAN, **origin))
        play.backward()
        if not skipped:
            play.stepped()
            play.stats(NAN, worst=1, lr=lr)
            lr *= rate
        if restored and number == 1:
            state = {"target": "module", "key": 1, "name": "model", "strict": True}
            play.add(StateLoaded(step=play.step, given=2, wanted=2, matched=2, **state))
            break
    play.value = good_value
    for _ in range(good if restored or skipped else 0):
        play.batch()
        play.stats()
    return play.end()


LOG = {"stage": "forward", "op": "log", "detail": "the logarithm of 0"}
EVENTS = run(origin=LOG)
UNKNOWN = run()
DIVERGED = run(growth=5.0)
GRADIENT = run(origin={"stage": "backward", "parameter": "model.0.weight"})
HEALTHY = [
    run(bad=0),
    run(origin=LOG, restored=True),  # a range test that puts its weights back
    run(growth=5.0, rate=1.3),  # ... and one that ends there
    run(origin=LOG, skipped=True),
    run(origin={"stage": "data", "what": "input"}),  # said by another detector
]
