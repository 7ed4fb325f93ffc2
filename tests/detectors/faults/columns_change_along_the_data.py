from premortem.events import RunEnded
from premortem.profile.between import along, odd_source
from premortem.profile.sample import Row, Sample, mark
from tests.detectors.flows import NAMES, profiled, rows, sample

PLAIN = rows(600)
LATER = [*PLAIN[:300], *((row[0] * 1000, *row[1:]) for row in PLAIN[300:])]
GROWING = [(float(at), *row[1:]) for at, row in enumerate(PLAIN)]


def run(made, **known):
    return [profiled(("`x`", "training", made, {"length": made.rows, **known})), RunEnded(step=60)]


def in_files(values, number):
    made = Sample(NAMES)
    for at, row in enumerate(values):
        made.rows += 1
        made.add(mark(repr(row).encode()), Row(row, None, at, f"part-{at * number // len(values)}.npy"))
    return run(made, odd=odd_source(made, "table"))


def in_order(values):
    made = sample(values)
    return run(made, drift=tuple(along(made, "table")))


EVENTS = in_order(LATER)
ONE_FILE = in_files([*PLAIN[:450], *((row[0], row[1] + 90, *row[2:]) for row in PLAIN[450:])], 4)
HEALTHY = [
    in_order(PLAIN),
    in_order(GROWING),
    in_files(PLAIN, 4),
    in_files(LATER, 2),  # of two files neither is the odd one
]
