from tests.detectors.rehearsal import Rehearsal


def run(*windows, gated=True, terms=1):
    facts = {"root": "Add"} if terms > 1 else {}
    play = Rehearsal()
    play.optimizer(1, 2)
    for scales in windows:
        play.zero()
        for scale in scales:
            play.forward()
            play.loss()
            play.backward(scale=scale, value=terms * play.value * scale, **facts)
        play.stepped(backwards=len(scales), pending=len(scales), gated=gated)
    return play.end()


LAST_ONLY = (1.0, 1.0, 1.0, 0.25)
EVENTS = run(*[LAST_ONLY] * 5)
FIRST_ONLY = run((0.25, 1.0, 1.0, 1.0), *[(1.0,) * 4] * 4)
# The loss is a sum of terms: what a micro-batch weighs is not known, but that it was divided is seen.
OF_TERMS = run((0.25, 1.0, 1.0, 1.0), *[(1.0,) * 4] * 4, terms=3)
HEALTHY = [
    run(*[(0.25,) * 4] * 5, terms=3),
    run(*[(0.5, 1.0, 1.0, 1.0)] * 5, terms=3),  # a term's own weight
    run(*[(0.25,) * 4] * 3, (1.0,), *[(0.25,) * 4] * 3, terms=3),
    run(*[(0.25,) * 4] * 5),
    run(*[(1.0,) * 4] * 5),
    run(*[(0.25,) * 4] * 3, (0.5, 0.5), *[(0.25,) * 4] * 3, (0.5, 0.5)),  # a shorter last window
    run(*[(0.31, 0.19, 0.27, 0.23)] * 5),  # weighted by samples
    run(*[(1.0, 0.5)] * 5, gated=False),  # two tasks with weights of their own
    run(*[(1.0,)] * 5, *[(0.25,) * 4] * 5),  # accumulation starts later
]
