"""An extraction that was killed: the later rows of a cache are zeros."""

from tests.detectors.flows import profiled, rows, sample


def told(blank, of, labels, **known):
    made = sample(rows(300))
    made.rows, made.blank = of, blank
    made.blank_labels.update({float(at): blank // labels for at in range(labels)})
    return [profiled(("`train`", "training", made, known))]


EVENTS = told(300, 1000, 4)
HEALTHY = [
    told(0, 1000, 1),
    told(40, 1000, 4),  # a few that failed
    told(300, 1000, 1),  # emptiness is a class
    told(200, 1000, 4, kind="channels"),  # dark pictures
    told(1000, 1000, 4),  # nothing else came: inputs-nearly-constant says it
    told(300, 1000, 4, beside="target"),
]
