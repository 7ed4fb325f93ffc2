from tests.detectors.flows import rows, run, sample


def tokens(codes, times=60):
    made = sample(rows(200, len(codes)))
    made.tokens.update(dict.fromkeys(codes, times))
    return made


EVENTS = run(tokens(range(1, 30)), tokens([1, *range(3, 31)]))  # all but the first have the next number
HEALTHY = [
    run(
        tokens(range(100, 140)), tokens([*range(100, 120), *range(500, 530)])
    ),  # words that were never trained on
    run(tokens(range(1, 30)), tokens(range(1, 30))),
    run(tokens(range(1, 30)), tokens(range(1, 29))),  # one token less, and no other instead of it
    run(tokens(range(1, 30)), tokens([*range(1, 28), 400, 500])),  # rare subjects
    run(tokens(range(1, 30)), tokens([1, *range(3, 31)], times=2)),  # too few
]
