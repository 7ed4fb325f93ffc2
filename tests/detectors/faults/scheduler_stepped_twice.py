from tests.detectors.rehearsal import Rehearsal


def run(sites):
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("StepLR")
    for _ in range(8):
        play.batch()
        for at in sites:
            play.scheduled(0.001, 0.0009, at=at)
    return play.end()


EVENTS = run([24, 40])
HEALTHY = [run([24]), run([])]
