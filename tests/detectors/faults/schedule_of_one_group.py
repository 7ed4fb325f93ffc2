from premortem.events import Group, OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, line


def run(rates, *, written=True, scheduler=False, matrices=2, frozen=(), other=0.1):
    play = Rehearsal()
    groups = (Group(0.01, 0.0, 0.9, (1, 2), 0.0, 2), Group(other, 0.0, 0.9, (3, 4), 0.0, matrices))
    play.add(OptimizerBuilt(step=0, at=line(10), optimizer=1, kind="SGD", groups=groups, frozen=frozen))
    if scheduler:
        play.schedule("StepLR")
    for rate in rates:
        moved = written and rate != rates[0]
        play.batch(lrs=(rate, other), one_group=line(37) if moved else None)
    return play.end()


FALLING = [0.01 * (1 - step / 40) for step in range(40)]
EVENTS = run(FALLING)
HEALTHY = [
    run(FALLING, written=False),  # another line names the second group
    run(FALLING, scheduler=True),
    run(FALLING, matrices=0),  # a temperature with a rate of its own
    run(FALLING, frozen=(3, 4)),
    run(FALLING, other=0.0),
    run([0.0001 * (1 + step) for step in range(40)]),  # one part is warmed up
    run([0.01] * 20 + [0.001] * 20),  # lowered once, on purpose
    run(FALLING[:12]),  # too little to matter
]
