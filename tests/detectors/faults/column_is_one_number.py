from tests.detectors.flows import rows, run, sample

OTHER = sample(rows(100, 3))


def constant(value):
    return sample([(row[0], value, *row[2:]) for row in rows(300)])


EVENTS = run(constant(21.5), OTHER)
STANDARD = {"start": (0.0,) * 4}
SQUASHED = run(sample([(row[0], 0.0, *row[2:]) for row in rows(300, **STANDARD)]), OTHER)
# What is left of a constant less its mean, in 32 bits; flags beside it are not standardised.
ROUNDED = run(sample([(row[0], -0.8248, row[2], float(row[3] > 0)) for row in rows(300, **STANDARD)]), OTHER)
HEALTHY = [run(sample(rows(300)), OTHER), run(constant(1.0), OTHER), run(constant(0.0), OTHER)]
