from tests.detectors.flows import rows, run, sample


def labelled(number, classes, seed=0):
    return sample(rows(number, seed), [classes[at % len(classes)] for at in range(number)])


EVENTS = run(labelled(600, (0, 1, 3)), labelled(200, (0, 1, 2, 3), 5))
HEALTHY = [
    run(labelled(600, (0, 1, 2, 3)), labelled(200, (0, 1, 2, 3), 5)),
    run(labelled(600, (0, 1, 2, 3)), labelled(200, (0, 1), 5)),
    run(labelled(600, (0, 1, 2)), labelled(200, (5, 6, 7), 5)),  # other classes on purpose
    run(labelled(40, (0, 1, 3)), labelled(200, (0, 1, 2, 3), 5), reason="interrupted", length=600),
]
