from tests.detectors.rehearsal import Rehearsal


def run(*, first=False, detached=True, frozen=False, judge_twice=False, alone=False, joined=False):
    """The discriminator's gradients are cleared after its step, or `first` in its turn."""
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    left = 0
    for _ in range(6):
        for _ in range(1 + judge_twice):
            if first:
                play.zero(2, at=28)
                left = 0
            if not alone:
                play.forward(2)
            play.forward(2, source=1)
            play.backward(*((2,) if detached else (1, 2)), at=30)
            play.stepped(2, backwards=1 + left, pending=1 + left)
            left = 0
            if not first:
                play.zero(2, at=32)
        play.zero(1)
        play.forward(1)
        play.forward(2, source=1)
        play.backward(*((1,) if frozen else (1, 2)), at=35)
        left = 0 if frozen else 1
        if joined:  # one backward pass for both, and the generator steps first
            play.stepped(1)
            play.stepped(2)
            play.zero(2)
            left = 0
        else:
            play.stepped(1)
    return play.end()


EVENTS = run()
HEALTHY = [run(first=True), run(first=True, judge_twice=True), run(frozen=True), run(joined=True)]
# No rivals: an encoder and a decoder, of which the second sees nothing but what the first makes, or trains it too.
HEALTHY += [run(alone=True), run(detached=False)]
