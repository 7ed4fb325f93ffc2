from premortem.events import Group, OptimizerBuilt
from tests.detectors.rehearsal import Rehearsal, line, link


def run(*, decay=5.0, share=0.3, head=None):
    """In each audit `share` of the weights is left (`head`: of those of the output layer)."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    groups = (Group(0.1, decay, 0.9, (1, 2)),)
    play.add(OptimizerBuilt(at=line(10), optimizer=1, kind="SGD", groups=groups))
    hidden = output = 1.0
    for _ in range(6):
        for _ in range(5):
            play.batch(kind="SGD")
        play.custody(
            link(1, "model.0.weight", weight=hidden), link(2, "model.2.weight", weight=output, head=True)
        )
        hidden *= share
        output *= share if head is None else head
    return play.end()


def held(*, decay=20.0, share=0.5, kind="AdamW", batches=40):
    """The weights stay at `share` of what they were."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.add(OptimizerBuilt(at=line(10), optimizer=1, kind=kind, groups=(Group(0.1, decay, 0.0, (1, 2)),)))
    for audit in range(4):
        for _ in range(batches):
            play.batch(kind=kind)
        left = share if audit else 1.0
        play.custody(
            link(1, "model.0.weight", weight=left), link(2, "model.2.weight", weight=left, head=True)
        )
    return play.end()


def shrinking(*, decay=30.0, inward=-0.85, hidden=-0.85, gradient=0.1, before=0):
    """The steps go straight to zero, but for the first few (`before`)."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.add(
        OptimizerBuilt(at=line(10), optimizer=1, kind="Adam", groups=(Group(0.001, decay, 0.0, (1, 2)),))
    )
    for audit in range(8):
        play.batch()
        cosines = (hidden, inward) if audit >= before else (0.0, 0.0)
        play.custody(
            *(
                link(key, f"model.{key}.weight", inward=cosine, gradient=gradient, head=key == 2)
                for key, cosine in enumerate(cosines, 1)
            )
        )
    return play.end()


EVENTS = run()
HELD = held()
SHRINKING = shrinking()
HEALTHY = [
    shrinking(decay=0.0),
    shrinking(hidden=-0.2),
    shrinking(gradient=0.0),  # for want of gradients
    shrinking(before=2),  # there is nothing left to learn
    held(decay=0.1),
    held(share=0.9),
    held(kind="Adam"),  # which divides the decay by its own size
    held(batches=20),
    run(decay=5e-4, share=0.99),
    run(head=1.0),  # the output layer holds on
    run(decay=0.0),  # not by decay
]
