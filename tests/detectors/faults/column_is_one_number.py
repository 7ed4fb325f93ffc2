from tests.detectors.flows import rows, run, sample

OTHER = sample(rows(100, 3))


def constant(value):
    return sample([(row[0], value, *row[2:]) for row in rows(300)])


EVENTS = run(constant(21.5), OTHER)
STANDARD = {"start": (0.0,) * 4}
SQUASHED = run(sample([(row[0], 0.0, *row[2:]) for row in rows(300, **STANDARD)]), OTHER)
HEALTHY = [run(sample(rows(300)), OTHER), run(constant(1.0), OTHER), run(constant(0.0), OTHER)]
