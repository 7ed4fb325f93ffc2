from premortem.events import Group, Misspelt, OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, cut_off, line, link


def run(*, head=None, body=None):
    play = Rehearsal()
    play.model("body.weight", "norm.weight", "head.weight")
    play.optimizer(1, 2, 3)
    frozen = {"trainable": False, "ran": True}
    for _ in range(10):
        play.batch()
        play.custody(
            cut_off(1, "model.body.weight", **frozen, **(body or {})),
            link(2, "model.norm.weight"),
            cut_off(3, "model.head.weight", **{**frozen, "head": True, "fresh": True, **(head or {})}),
        )
    return play.end()


def misspelt(*, frozen):
    play = Rehearsal()
    word = Misspelt("model.body.weight", "require_grad", True, (1,))
    play.model("body.weight", "head.weight", misspelt=(word,))
    play.optimizer(1, 2)
    body = cut_off(1, "model.body.weight", trainable=False, loaded=True)
    for _ in range(3):
        play.batch()
        play.custody(body if frozen else link(1, "model.body.weight"), link(2, "model.head.weight"))
    return play.end()


def later(*, known=(), fresh=True, ran=True):
    """Two layers of a larger model; `known`: those that were frozen when the optimizer was built."""
    play = Rehearsal()
    play.model("stem.weight", "body.weight", "head.weight")
    play.optimizer(1, 2, 3, frozen=known)
    frozen = {"trainable": False, "ran": False, "ran_without_grad": ran, "fresh": fresh, "owners": (1,)}
    for _ in range(40):
        play.batch()
        play.custody(
            cut_off(1, "model.stem.weight", **frozen),
            cut_off(2, "model.body.weight", **frozen),
            link(3, "model.head.weight", numel=10_000),
        )
    return play.end()


def phases(*, apart=True, woken=False):
    """A body that is trained, then frozen under a new head, then held by an optimizer together with the head."""
    play = Rehearsal()
    play.model("body.weight", "head.weight")
    head = link(2, "model.head.weight")
    asleep = cut_off(1, "model.body.weight", trainable=False, ran=True, trained=True)

    def train(optimizer, body):
        for _ in range(16):
            play.batch()
            play.custody(body, head, optimizer=optimizer)

    play.optimizer(1, key=1)
    train(1, link(1, "model.body.weight"))
    play.optimizer(2, key=2)
    train(2, asleep)
    held = [(1,), (2,)] if apart else [(1, 2)]
    groups = tuple(Group(0.001, 0.0, 0.9, keys, 0.0) for keys in held)
    play.add(OptimizerBuilt(step=play.step, at=line(30), optimizer=3, kind="Adam", groups=groups))
    train(3, asleep)
    if woken:
        train(3, link(1, "model.body.weight"))
    return play.end()


def in_turn(*, always=False):
    """Of four blocks that are not loaded two are trained, others after some steps; `always`: the same ones to the end."""
    play = Rehearsal()
    names = ["stem", "blocks.0", "blocks.1", "blocks.2", "blocks.3", "head"]
    play.model(*(f"{name}.weight" for name in names))
    play.optimizer(1, 2, 3, 4, 5, 6)
    for step in range(40):
        asleep = (2, 4) if always or step < 12 else (3, 5)
        play.batch()
        play.custody(
            *(
                cut_off(
                    at, f"model.{name}.weight", trainable=False, ran=True, fresh=True, owners=(1,), numel=500
                )
                if at in asleep
                else link(at, f"model.{name}.weight")
                for at, name in enumerate(names, 1)
            )
        )
    return play.end()


EVENTS = [*run(), *misspelt(frozen=True)]
HEALTHY = [
    run(head={"loaded": True}, body={"loaded": True}),
    run(head={"trainable": True, "gradient": 0.1, "graded": True, "reached": True}),
    run(head={"trained": True}),
    run(head={"fresh": False}),  # computed from the data, and kept
    misspelt(frozen=False),
    later(known=(1, 2)),  # random features that are meant
    later(fresh=False),
    later(ran=False),  # it is not their turn yet
    phases(apart=False),  # all parameters were handed over, as is usual
    phases(woken=True),
    in_turn(),
]
