from premortem.events import LossCall, RunEnded, Site

AT = Site("train.py", 30)
COUNTS = {0.0: 60, 1.0: 25, 2.0: 10, 3.0: 5}


def run(weights, classes=None):
    call = LossCall(
        at=AT,
        fn="cross_entropy",
        grad=True,
        training=True,
        value=1.0,
        reduction="mean",
        input_shape=(100, 4),
        target_shape=(100,),
        classes=classes or COUNTS,
        weights=weights,
    )
    return [call] * 5 + [RunEnded()]


EVENTS = run((2.6, 1.3, 0.7, 0.3))
ANOTHER_ORDER = run((20.0, 4.0, 1.66, 10.0))  # the inverse of the counts, those of other classes
HEALTHY = [
    run((0.3, 0.7, 1.3, 2.6)),
    run((1.0, 1.0, 1.0, 1.0)),
    run((2.0, 1.5, 1.2, 1.0)),  # within a factor of three
    run((2.6, 1.3, 0.7, 0.3), {0.0: 25, 1.0: 25, 2.0: 25, 3.0: 25}),
    run(()),
]
