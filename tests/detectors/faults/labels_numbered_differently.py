from premortem.events import LabelsWeighed
from tests.detectors.rehearsal import Rehearsal


def run(**facts):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(3):
        play.batch()
    play.add(LabelsWeighed(step=play.step, training=True, pairs=300, classes=5, information=20.0))
    play.forward(grad=False, training=False, at=40)
    play.loss(3.1, grad=False, training=False, at=41)
    usual = {"pairs": 200, "classes": 5, "information": 20.0}
    play.add(LabelsWeighed(step=play.step, training=False, **{**usual, **facts}))
    return play.end()


EVENTS = run(agreement=0.04, mapped=0.88)
HEALTHY = [
    run(agreement=0.87, mapped=0.88),
    run(agreement=0.2, mapped=0.31),  # a difficult task
    run(agreement=0.35, mapped=0.75, classes=2),
    run(agreement=0.04, mapped=0.88, pairs=30),
    run(),
]
