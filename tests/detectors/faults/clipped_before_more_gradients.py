from premortem.events import Clip
from tests.detectors.rehearsal import Rehearsal, line


def run(*, each=True, norm=5.0, limit=1.0, sites=(22, 22, 22), windows=6):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(windows):
        play.zero()
        for site in sites:
            play.forward()
            play.loss()
            play.backward(at=site, scale=1 / 3)
            if each:
                play.add(Clip(step=play.step, at=line(23), kind="norm", limit=limit, norm=norm))
        if not each:
            play.add(Clip(step=play.step, at=line(25), kind="norm", limit=limit, norm=norm))
        play.stepped(backwards=len(sites), pending=len(sites))
    return play.end()


EVENTS = run()
HEALTHY = [
    run(each=False),
    run(norm=0.5),  # there was nothing to cut off
    run(limit=float("inf")),  # it only measures
    run(sites=(22, 24)),  # an actor and a critic, each with its own limit
    run(sites=(22,)),
]
