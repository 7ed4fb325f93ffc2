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


EVENTS = run()
HEALTHY = [
    run(decay=5e-4, share=0.99),
    run(head=1.0),  # the output layer holds on
    run(decay=0.0),  # not by decay
]
