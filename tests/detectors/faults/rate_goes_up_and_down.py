import math

from premortem.events import SchedulerBuilt
from tests.detectors.rehearsal import Rehearsal, line


def run(rate, *, kind="LambdaLR", steps=200, again=0):
    play = Rehearsal()
    play.optimizer(1, 2)
    for step in range(steps):
        if kind and (step == 0 or (again and step % again == 0)):
            play.add(
                SchedulerBuilt(step=play.step, at=line(9), scheduler=1, optimizer=1, kind=kind, horizon=None)
            )
        play.zero()
        play.forward()
        play.loss()
        play.backward()
        play.stepped(lrs=(rate(step),))
    return play.end()


def cosine(horizon):
    return lambda step: 0.05 * (1 + math.cos(math.pi * step / horizon))


def warm_up_and_decay(step):
    place = step % 40
    return 0.1 * min(1, (place + 1) / 8) * (1 - place / 40)


EVENTS = run(cosine(12))
HEALTHY = [
    run(cosine(200)),
    run(cosine(100)),  # past its end once: another diagnosis
    run(cosine(12), kind="CyclicLR"),
    run(lambda step: cosine(24)(step % 24)),  # restarts that jump
    run(warm_up_and_decay),
    run(cosine(20), again=40),  # a new schedule for each phase
    run(lambda step: 0.05 + 0.45 * (step % 10) / 10),  # never near 0
]
