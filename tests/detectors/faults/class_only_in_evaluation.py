from premortem.events import EpochEnded, EpochStarted, RunEnded
from tests.detectors.flows import profiled, rows, run, sample


def labelled(number, classes, seed=0):
    return sample(rows(number, seed), [classes[at % len(classes)] for at in range(number)])


def one_after_the_other(*tasks):
    """Each has a loader of its own, and the evaluation has all classes from the first one on."""
    streams = [
        (f"task {at}", "training", labelled(600, classes, at), {"length": 600})
        for at, classes in enumerate(tasks)
    ]
    judged = ("`vx`", "evaluation", labelled(200, (0, 1, 2, 3), 5), {"length": 200})
    return [profiled(*streams[: at + 1], judged, step=50 * at) for at in range(len(tasks))]


def passes(*loaders):
    return [
        each
        for at, loader in enumerate(loaders)
        for each in (
            EpochStarted(step=20 * at, loader=loader),
            EpochEnded(step=20 * at + 20, loader=loader, batches=20),
        )
    ]


EVENTS = [*passes(1, 1), *run(labelled(600, (0, 1, 3)), labelled(200, (0, 1, 2, 3), 5))]
HEALTHY = [
    run(labelled(600, (0, 1, 2, 3)), labelled(200, (0, 1, 2, 3), 5)),
    run(labelled(600, (0, 1, 2, 3)), labelled(200, (0, 1), 5)),
    run(labelled(600, (0, 1, 2)), labelled(200, (5, 6, 7), 5)),  # other classes on purpose
    run(labelled(40, (0, 1, 3)), labelled(200, (0, 1, 2, 3), 5), reason="interrupted", length=600),
    [*one_after_the_other((0, 1), (2, 3)), RunEnded(step=110, reason="finished")],
    # Rows of the second task were not looked at any more.
    [*one_after_the_other((0, 1)), *passes(1, 1, 2), RunEnded(step=110, reason="finished")],
]
