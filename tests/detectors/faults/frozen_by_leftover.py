from premortem.events import Misspelt
from tests.detectors.rehearsal import Rehearsal, cut_off, link


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


EVENTS = [*run(), *misspelt(frozen=True)]
HEALTHY = [
    run(head={"loaded": True}, body={"loaded": True}),
    run(head={"trainable": True, "gradient": 0.1, "graded": True, "reached": True}),
    run(head={"trained": True}),
    run(head={"fresh": False}),  # computed from the data, and kept
    misspelt(frozen=False),
]
