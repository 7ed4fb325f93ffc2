from premortem.events import ShuffleStarted


def passes(*epochs, trained=20):
    return [
        ShuffleStarted(step=20 * number, loader=1, epoch=epoch, trained=trained if number else 0)
        for number, epoch in enumerate(epochs)
    ]


EVENTS = passes(0, 0, 0)
HEALTHY = [passes(0, 1, 2), passes(0, 0, 0, trained=0)]
