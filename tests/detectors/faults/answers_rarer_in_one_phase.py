"""Tags that most of the training data was not looked at for."""

import random

from tests.detectors.flows import profiled, rows, sample

NAMES = tuple(f"batch[1][:, {at}]" for at in range(8))


def tags(number, seed, shares):
    draw = random.Random(seed)
    made = sample([], names=NAMES)
    drawn = [tuple(float(draw.random() < share) for share in shares) for _ in range(number)]
    from premortem.profile.sample import Row

    for at, row in enumerate(drawn):
        made.rows += 1
        made.add(draw.getrandbits(63), Row(row, None, at))
        made.spans(row, row, [0] * 8)
    return made


def run(train, judged):
    return [
        profiled(
            ("`x`", "training", sample(rows(300)), {}),
            ("`vx`", "evaluation", sample(rows(300, 3)), {}),
            ("`x`, batch[1]", "training", tags(900, 1, train), {"beside": "target"}),
            ("`vx`, batch[1]", "evaluation", tags(500, 2, judged), {"beside": "target"}),
        )
    ]


ALIKE = (0.3, 0.4, 0.2, 0.35)
EVENTS = run(ALIKE + (0.1,) * 4, ALIKE + (0.35,) * 4)
HEALTHY = [
    run(ALIKE * 2, ALIKE * 2),
    run(ALIKE + (0.3,) * 4, ALIKE + (0.36,) * 4),
    run((0.1,) * 8, (0.35,) * 8),  # another place: nothing agrees
    run((*ALIKE, 0.1, 0.1, 0.6, 0.6), (*ALIKE, 0.4, 0.4, 0.2, 0.2)),  # some more, some less
]
