from tests.detectors.rehearsal import Rehearsal


def run(horizon, per_micro=True, floor=0.0, steps=60, micros=4):
    """A linear decay over `horizon` calls, under accumulation."""
    play = Rehearsal()
    play.optimizer(1, 2)
    play.schedule("LambdaLR")
    calls = 0

    def rate():
        return max(floor, 1 - calls / horizon)

    for _ in range(steps):
        play.zero()
        for micro in range(micros):
            play.forward()
            play.loss()
            play.backward(scale=1 / micros)
            if micro == micros - 1:
                play.stepped(backwards=micros, pending=micros, gated=micros > 1, lrs=(rate(),))
            if per_micro or micro == micros - 1:
                calls += 1
                play.scheduled(max(floor, 1 - (calls - 1) / horizon), rate())
    return play.end()


EVENTS = run(60)
HEALTHY = [
    run(240),  # as long as all micro-batches together
    run(60, per_micro=False),
    run(60, floor=0.1),  # a floor that somebody chose
    run(236),  # a last window beyond its end
    run(60, micros=1, steps=80),  # too short, but that is another story
]
