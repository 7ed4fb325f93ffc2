from premortem.events import Clip
from tests.detectors.rehearsal import Rehearsal, line


def run(*, late, limit=1.0, norm=5.0):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(12):
        play.zero()
        play.forward()
        play.loss()
        play.backward()
        if not late:
            play.add(Clip(step=play.step, at=line(23), kind="norm", limit=limit, norm=norm))
        play.stepped()
        play.stats(grad_norm=norm)
        if late:
            play.add(Clip(step=play.step, at=line(24), kind="norm", limit=limit, norm=norm, after_step=True))
    return play.end()


EVENTS = run(late=True)
HEALTHY = [
    run(late=False),
    run(late=True, limit=float("inf")),  # it only measures the norm
    run(late=True, norm=0.5),  # a habit: there was nothing to clip
]
