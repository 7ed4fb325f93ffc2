from premortem.events import Pull
from tests.detectors.rehearsal import Rehearsal, line

MAKER, JUDGE = 1, 2


def run(
    *,
    makers=0.5,
    on_made=0.5,
    on_real=-0.5,
    steps=4,
    real=True,
    same_line=False,
    maximize=False,
    at_once=False,
):
    """`makers`: the slope of the maker's loss in the verdicts on what it made; the others are of the judge's loss."""
    play = Rehearsal()
    play.model("0.weight", key=MAKER, name="G", first=1)
    play.model("0.weight", key=JUDGE, name="D", first=11)
    play.optimizer(1, key=1)
    play.optimizer(11, key=2, maximize=maximize)
    lines = (30, 30) if same_line else (30, 31)
    for _ in range(steps):
        play.forward(MAKER)
        play.forward(JUDGE, source=MAKER)
        if at_once:
            play.forward(JUDGE)
            play.forward(JUDGE, source=MAKER)
        play.walk(1, 11, at=lines[0], pulls=(Pull(MAKER, JUDGE, makers, abs(makers)),))
        play.backward(1, 2, at=lines[0])
        play.stepped(1, backward_sites=(line(lines[0]),))
        if real and not at_once:
            play.forward(JUDGE)
        if not at_once:
            play.forward(JUDGE, source=MAKER)
        on_others = (Pull(0, JUDGE, on_real, abs(on_real)),) if real else ()
        play.walk(11, at=lines[1], pulls=(*on_others, Pull(MAKER, JUDGE, on_made, abs(on_made))))
        play.backward(2, at=lines[1])
        play.stepped(2, backward_sites=(line(lines[1]),))
    return play.end()


EVENTS = run()
OF_THE_JUDGE = run(makers=-0.5, on_made=-0.5, on_real=0.5)
AT_ITS_TARGET = run(on_made=0.01)  # a squared distance pulls at what is not there yet alone
AT_ONCE = run(at_once=True)  # all verdicts are asked for before the first step
MAXIMISED = run(makers=-0.5, maximize=True)
HEALTHY = [
    run(makers=-0.5),
    run(makers=-0.5, at_once=True),
    run(makers=0.5, on_made=-0.5, on_real=0.5),  # labels are the other way round
    run(makers=0.5, maximize=True),
    run(on_real=0.4),  # both verdicts alike: which way it parts them is not clear
    run(real=False),  # an encoder and a decoder
    run(same_line=True),  # one backward pass for both
    run(steps=1),
]
