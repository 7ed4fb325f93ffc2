from premortem.events import LabelsWeighed
from premortem.profile.facts import Versions
from tests.detectors.flows import profiled, rows, sample


def trained(alike, changed=64, learnt=1.2, asked=60.0):
    return [
        LabelsWeighed(step=20, training=True, pairs=700, classes=4, information=learnt),
        LabelsWeighed(step=25, training=False, pairs=300, classes=4, information=asked),
        profiled(("`train`", "training", sample(rows(200)), {"versions": Versions(64, changed, 0, alike)})),
    ]


EVENTS = trained(0.01)
HEALTHY = [
    trained(0.4),  # something stays
    trained(0.01, learnt=50.0),  # the labels follow what stays
    trained(0.01, asked=2.0),  # and here they follow nothing anywhere
    trained(1.0, changed=0),  # no augmentation
    trained(0.01)[2:],
]
