from premortem.events import EpochEnded, EpochStarted, Shuffled
from tests.detectors.rehearsal import Rehearsal, line


def micro(play, n=1, scale=0.25):
    for _ in range(n):
        play.forward()
        play.loss()
        play.backward(scale=scale)


def run(*, batches=10, k=4, end="dropped", epochs=5):
    """`end`: what becomes of the last, incomplete window: dropped, leaks or stepped."""
    play = Rehearsal()
    play.optimizer(1, 2)
    left = 0
    for _ in range(epochs):
        if end == "dropped":
            play.zero(wasted=(1,) if left else ())
            left = 0
        for i in range(batches):
            micro(play)
            left += 1
            if (i + 1) % k == 0 or (end == "stepped" and i + 1 == batches):
                play.stepped(backwards=left, pending=left, gated=True)
                play.zero()
                left = 0
    return play.end()


def never_yielded(*, batches=11, k=6, used=6):
    """A generator of windows keeps the rest of the loader's batches to itself."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(8):
        play.add(EpochStarted(step=play.step, loader=1))
        for _ in range(used // k):
            play.zero()
            micro(play, k, 1 / k)
            play.stepped(backwards=k, pending=k, gated=True)
        play.add(EpochEnded(step=play.step, loader=1, batches=batches))
    return play.end()


def drawn_ahead(*, batches=10, k=4):
    """The generator of windows gives the last, short one when its loader has ended."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(8):
        play.add(EpochStarted(step=play.step, loader=1))
        for first in range(0, batches, k):
            n = min(k, batches - first)
            if n < k:
                play.add(EpochEnded(step=play.step, loader=1, batches=batches))
            micro(play, n, 1 / n)
            play.stepped(backwards=n, pending=n)
            play.zero()
    return play.end()


def own_order(*, size, k=6):
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(8):
        play.add(Shuffled(step=play.step, at=line(5), size=size))
        play.zero()
        micro(play, k, 1 / k)
        play.stepped(backwards=k, pending=k)
    return play.end()


def carried_over(*, batches=10, k=6):
    """One window after the other, whatever the epoch: what is left over is the beginning of the next one."""
    play = Rehearsal()
    play.optimizer(1, 2)
    done = 0
    for _ in range(12):
        play.add(Shuffled(step=play.step, at=line(5), size=32 * batches))
        for _ in range(batches):
            micro(play, 1, 1 / k)
            done += 1
            if done % k == 0:
                play.stepped(backwards=k, pending=k)
                play.zero()
    return play.end()


def partly_counted(*, batches=10, k=4, epochs=12):
    """A long run that uses all: the last step of each epoch, over the rest, is counted and not reported."""
    play = Rehearsal()
    play.optimizer(1, 2)
    for _ in range(epochs):
        play.add(EpochStarted(step=play.step, loader=1))
        for _ in range(batches // k):
            micro(play, k, 1 / k)
            play.stepped(backwards=k, pending=k, gated=True)
            play.zero()
        play.step += 1
        play.add(EpochEnded(step=play.step, loader=1, batches=batches))
    return play.end()


def cleared_between_epochs(*, batches=10, k=6, epochs=16, elsewhere=False):
    """A step whenever k batches have gone by since the last one, and everything cleared when an epoch begins."""
    play = Rehearsal()
    play.optimizer(1, 2)
    since = left = 0
    for _ in range(epochs):
        if not elsewhere:
            play.add(EpochEnded(step=play.step, loader=1, batches=batches))
        play.zero(wasted=(1,) if left else ())
        left = 0
        for _ in range(batches):
            micro(play, 1, 1 / k)
            since, left = since + 1, left + 1
            if since == k:
                play.stepped(backwards=left, pending=left, gated=True)
                play.zero()
                since = left = 0
    return play.end()


EVENTS = run()
CLEARED_BETWEEN_EPOCHS = cleared_between_epochs()
HEALTHY = [
    cleared_between_epochs(batches=12),
    cleared_between_epochs(elsewhere=True),  # in the middle of things: an error that was caught, perhaps
    carried_over(),
    run(batches=12),
    run(end="stepped"),
    partly_counted(),
    run(batches=12, end="leaks"),
    never_yielded(batches=6),
    drawn_ahead(),
    own_order(size=6 * 32),
    own_order(size=6 * 32 + 20),  # like drop_last
]
LEAKS = run(end="leaks")
NEVER_YIELDED = never_yielded()
OWN_ORDER = own_order(size=6 * 32 + 5 * 32)
