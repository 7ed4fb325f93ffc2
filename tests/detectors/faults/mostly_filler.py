"""Documents filled up to one length, packed with their filler."""

from premortem.events import LossCall, Site
from tests.detectors.flows import profiled, sample

WORDS = ("lowest of the row", "highest of the row", "changes along the row")


def told(times, short=0, wanted=0.7, ignored=None, classes=64):
    made = sample([(0.0, 40.0 + at % 9, 5.0 + at % 4) for at in range(300)], names=WORDS)
    made.fill[0], made.fill_of, made.fill_runs[0], made.fill_short[0] = times, 1000, 300, short
    filled = round(100 * wanted)
    call = LossCall(
        at=Site("train.py", 50),
        fn="cross_entropy",
        grad=True,
        training=True,
        value=1.0,
        reduction="mean",
        input_shape=(100, classes),
        target_shape=(100,),
        classes={0.0: filled, 7.0: 100 - filled},
        ignored=ignored,
    )
    return [call] * 30 + [profiled(("`x`", "training", made, {"kind": "tokens", "dtype": "int64"}))]


EVENTS = told(750)
HEALTHY = [
    told(200),
    told(750, short=4),  # the background of a picture stands between others too
    told(750, wanted=0.1),  # it is not asked for
    told(750, ignored=0.0),
    told(750)[-1:],  # no loss was seen
    told(750, classes=9),  # labels of the texts: a class 0 is not the token 0
]
