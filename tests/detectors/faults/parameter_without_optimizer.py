from premortem.events import Loose
from tests.detectors.rehearsal import Rehearsal, link


def run(*, steps=4, strangers=(), put_in_later=(), frozen_first=0, **facts):
    play = Rehearsal()
    play.model("body.weight", "head.weight")
    play.optimizer(1, *[key for key, _ in strangers])
    strangers = (*strangers, *put_in_later)
    for number in range(steps):
        play.batch()
        head = {"owners": (), "moved": False, **facts}
        if number < frozen_first:
            head |= {"trainable": False, "gradient": None, "graded": False}
        play.custody(link(1, "model.body.weight"), link(2, "model.head.weight", **head), strangers=strangers)
    return play.end()


def phases(*, steps=120, thawed=True, returns=False, **facts):
    """All of it is trained, then a new head on a body at rest, which is thawed; the first optimizer is still there."""
    play = Rehearsal()
    play.model("body.weight", "head.weight")
    play.optimizer(1, 2, key=1, at=6)
    play.batch()
    play.optimizer(2, key=2, at=10)
    for number in range(steps):
        last = number >= steps - 4
        if returns and last:
            play.batch(optimizer=1)
        play.batch(optimizer=2)
        if number < 2 or last:
            still = {"owners": (1,), "moved": False, "trained": True, "trainable": last and thawed, **facts}
            head = link(2, "model.head.weight", owners=(1, 2))
            play.custody(link(1, "model.body.weight", **still), head, optimizer=2)
    return play.end()


def given_twice():
    """`Adam(G.parameters())` was copied for D, and not changed."""
    play = Rehearsal()
    play.model("body.weight")
    play.optimizer(1, key=1, at=6)
    play.optimizer(1, key=2, at=7)
    for _ in range(3):
        play.batch(optimizer=1)
        play.batch(optimizer=2)
        orphan = link(2, "critic.weight", model=2, owners=(), moved=False)
        play.custody(link(1, "model.body.weight"), orphan, at=6)
    return play.end()


def bare(*, moves):
    """A learnable weight of a loss term, outside of every model."""
    play = Rehearsal()
    play.optimizer(1)
    for number in range(12):
        play.walk(1, 7, loose=(Loose(7, "log_vars", (2,), 1, number if moves else 5),))
        play.backward()
        play.stepped()
    return play.end()


EVENTS = [*run(born_after=True), *bare(moves=False)]
HEALTHY = [
    phases(thawed=False),  # a body that stays frozen
    phases(steps=40),  # of two players, one waits
    phases(returns=True),  # the first optimizer goes on when its part is thawed
    phases(owners=(1, 2)),  # it was given to the second one as well
    phases(shifted=True),
    run(owners=(1,)),
    run(steps=30, loaded=True),  # a new head on a body that was loaded
    run(steps=30, trained=True),
    run(steps=30, shifted=True),  # moved by hand
    run(steps=30, twin=True),  # a target network that was not detached
    run(steps=4),  # too early to say
    run(steps=4, put_in_later=((7, 0),)),  # an engine's flat copy is not what is left of a part
    run(steps=6, trainable=False, gradient=None, graded=False),
    bare(moves=True),
]
