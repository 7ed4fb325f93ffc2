from tests.detectors.rehearsal import Rehearsal


def run(*, attached=False, judges=True, own=True, frozen=False, joined=False, seldom=0, rounds=45):
    """A generator with a term of its own, and a judge that is shown detached samples in the generator's step too."""
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for number in range(rounds):
        play.zero(2, at=28)
        play.forward(1)
        if own:
            play.forward(2)
            play.forward(2, source=1)
            play.backward(2, at=30)
            play.stepped(2)
        play.zero(1, at=32)
        play.forward(1)
        play.forward(2, source=1 if judges else None, at=34, attached=attached)
        play.backward(*((1,) if frozen else (1, 2)), at=35)
        play.stepped(1)
        if joined or (seldom and number % seldom == seldom - 1):
            play.stepped(2)
    return play.end()


EVENTS = run()
UNPAIRED = run(own=False)


def phases(rounds=45):
    """The optimizer of an earlier phase is still there, and holds a part of what its successor trains."""
    play = Rehearsal()
    play.model("features.weight", "head.weight", key=1, first=1)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(1, 2, key=2, at=11)
    for _ in range(rounds):
        play.forward(1)
        for each in (1, 2):
            play.zero(each)
        play.backward(1, 2)
        play.stepped(2)
    return play.end()


HEALTHY = [
    phases(),
    run(judges=False),  # two models in one loss, of which the second begins to step later
    run(attached=True),
    run(frozen=True),
    run(joined=True),  # one loss for both, and both step
    run(seldom=5),  # the judge steps in every fifth round on such a pass
    run(rounds=12),
]
