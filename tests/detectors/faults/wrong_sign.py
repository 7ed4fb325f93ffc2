from tests.detectors.rehearsal import Rehearsal


def run(*, sense, growth, maximize=False, reached=(1, 2), uphill=None, steps=10, unclear=0):
    """`growth`: what the value that backward is called on is multiplied with in each step."""
    play = Rehearsal()
    play.optimizer(1, 2, kind="SGD", maximize=maximize)
    value = -1.0 if sense in {"max", "turned"} else 1.0
    for _ in range(steps):
        play.zero()
        play.forward()
        play.loss(abs(value))
        play.walk(*reached, sense="" if unclear and play.step < unclear else sense, negated=sense == "max")
        play.backward(value=value)
        play.stepped(kind="SGD")
        play.custody(uphill=uphill)
        value *= growth
    return play.end()


EVENTS = run(sense="max", growth=1.3, uphill=-1.0)
MAXIMISED = run(sense="min", growth=1.3, maximize=True, uphill=1.0)
TURNED = run(sense="turned", growth=1.3, uphill=-1.0)
CLIMBED = run(sense="min", growth=1.3, uphill=1.0)
HEALTHY = [
    run(sense="min", growth=0.9, uphill=-1.0),
    run(sense="max", growth=1.05, maximize=True, uphill=1.0),
    run(sense="max", growth=1.3, reached=(1, 2, 11, 12), uphill=-1.0),  # against another player
    run(sense="", growth=1.3, uphill=-1.0),
    run(sense="max", growth=1.3, steps=5, uphill=-1.0),
    run(sense="turned", growth=1.05, maximize=True, uphill=1.0),
    run(sense="turned", growth=1.3, reached=(1, 2, 11, 12), uphill=-1.0),
    run(sense="turned", growth=1.3, uphill=-1.0, steps=20, unclear=4),  # unlearnt after something else
]
