from premortem.profile.facts import Versions
from tests.detectors.flows import profiled, rows, sample

LABELS = [at % 3 for at in range(200)]


def evaluated(versions, labels=LABELS):
    return [profiled(("`val`", "evaluation", sample(rows(200), labels), {"versions": versions}))]


EVENTS = evaluated(Versions(64, 64, 0, 0.6))
HEALTHY = [
    evaluated(Versions(64, 0, 0, 1.0)),
    evaluated(Versions(64, 64, 50, 0.0)),  # made anew each time, with its labels
    evaluated(Versions(20, 20, 0, 0.6)),
    evaluated(Versions(64, 64, 0, 0.6), None),  # what noise is to be taken from
    evaluated(None),
]
