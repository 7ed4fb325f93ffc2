"""A column of the evaluation that was sorted by itself."""

import random

from premortem.events import DataProfiled
from premortem.profile.joint import unrelated
from tests.detectors.flows import sample

NAMES = tuple("abcde")


def table(number, seed, change=lambda rows: rows, slope=1.0):
    draw = random.Random(seed)
    made = []
    for _ in range(number):
        a, c = draw.gauss(0, 1), draw.gauss(0, 1)
        made.append((a, slope * a + draw.gauss(0, 0.5), c, c + draw.gauss(0, 0.5), draw.gauss(0, 1)))
    made = change(made)
    return sample(made, [row[0] + row[2] for row in made], names=NAMES, classes=False)


def moved(rows):
    """The second column is that of the row before."""
    return [(r[0], before[1], *r[2:]) for r, before in zip(rows, [rows[-1], *rows[:-1]], strict=True)]


def classes_of(number, seed):
    """The labels of another task: classes, that go with the last column."""
    rows = [row.values for row in table(number, seed).kept.values()]
    return sample(rows, [int(row[4] > 0) for row in rows], names=NAMES, classes=True)


def run(train, judged):
    found = unrelated(train, judged)
    return [DataProfiled(profiles=(), relations=(("`x`", "`vx`", found),) if found else ())]


EVENTS = run(table(400, 1), table(300, 2, moved))
HEALTHY = [
    run(table(400, 1), table(300, 2)),
    run(table(400, 1), table(300, 2, slope=0.8)),
    run(table(400, 1), table(60, 2, moved)),  # too few
    run(classes_of(400, 1), table(300, 2)),  # two tasks: each phase shows the labels of another one
    # Everything is related otherwise: another place.
    run(table(400, 1), table(300, 2, lambda rows: [(-r[0], r[1], -r[2], r[3], r[4]) for r in rows])),
]
