from premortem.events import CheckpointSaved, EpochEnded, EpochStarted
from tests.detectors.rehearsal import Rehearsal, line


def run(calls=150, *, rise=lambda s: (s + 1) / 2000, epoch=30, saves=False):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("LambdaLR")
    rate = 0.001 * rise(0)
    for call in range(calls):
        if call % epoch == 0:
            play.add(EpochStarted(step=play.step, at=line(12), loader=1))
        play.zero()
        play.forward()
        play.loss()
        play.backward()
        play.stepped()
        after = 0.001 * rise(call + 1)
        play.scheduled(before=rate, after=after)
        rate = after
        if call % epoch == epoch - 1:
            play.add(EpochEnded(step=play.step, at=line(12), loader=1, batches=epoch))
    if saves:
        play.add(CheckpointSaved(step=play.step, path="/runs/last.pt", bytes=10))
    return play.end()


EVENTS = run()
HEALTHY = [
    run(rise=lambda s: min(1.0, (s + 1) / 50)),
    run(rise=lambda s: 1e-5 * 1.05**s),  # a search for the best rate
    run(60),
    run(epoch=100),
    run(rise=lambda s: 1e-3 + s / 150),  # planned for this run: a range test
    run(saves=True),  # another run goes on with it
    run(rise=lambda s: 1 - s / 200),
]
