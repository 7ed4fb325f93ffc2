from tests.detectors.rehearsal import Rehearsal


def run(alive):
    play = Rehearsal()
    play.optimizer(1, 2)
    for number in range(80):
        play.zero()
        play.forward()
        play.loss()
        play.backward(alive=alive(number))
        play.stepped()
    return play.end()


EVENTS = run(lambda number: number)
HEALTHY = [
    run(lambda number: 0),
    run(lambda number: number % 40),  # freed at the end of each epoch
    run(lambda number: min(number, 32)),  # a buffer of bounded size
]
