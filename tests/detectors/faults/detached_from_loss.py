from dataclasses import replace

from premortem.events import Detached
from tests.detectors.rehearsal import Rehearsal, cut_off, link


def run(*, op="detach", cut=True, steps=6, alive_at=None, gone_at=None, **facts):
    play = Rehearsal()
    play.model("body.weight", "head.weight")
    play.optimizer(1, 2)
    for number in range(steps):
        play.zero()
        play.forward()
        if cut:
            play.cut(op, 1)
        play.loss()
        play.walk(2)
        play.backward()
        alive = alive_at == number
        play.stepped(with_grad=2 if alive else 1)
        if number == gone_at:  # the first of two stages is over, and its optimizer was a local variable
            facts |= {"owners": (), "trainable": False}
        body = link(1, "model.body.weight") if alive else cut_off(1, "model.body.weight", **facts)
        if gone_at is None or not 8 <= number < gone_at:
            play.custody(body, link(2, "model.head.weight"))
    return play.end()


def left_out(steps=40, op=None):
    """An auxiliary head whose loss has the weight 0, and perhaps its accuracy is logged."""
    play = Rehearsal()
    play.model("weight", name="net")
    play.model("weight", key=2, name="aux", first=2)
    play.optimizer(1, 2)
    for _ in range(steps):
        play.zero()
        play.forward()
        play.forward(model=2, at=25)
        if op:
            play.cut(op, 2, at=26)
        play.loss()
        play.walk(1)
        play.backward()
        play.stepped(with_grad=1)
        play.custody(link(1, "net.weight"), cut_off(2, "aux.weight", model=2))
    return play.end()


EVENTS = run()
INSIDE = [replace(event, inside=True) if isinstance(event, Detached) else event for event in run(op="argmax")]
FIRST_OF_TWO_STAGES = run(steps=40, gone_at=34)
HEALTHY = [
    run(loaded=True),
    run(trained=True),
    run(shifted=True),  # an EMA codebook
    run(twin=True),  # a target network
    run(owners=()),
    run(steps=20, gone_at=12),  # a few steps, perhaps of a warm-up
    run(steps=40, gone_at=34, alive_at=6),
    run(cut=False),  # an output that nobody uses
    left_out(),
    left_out(op="argmax"),
    left_out(op="item", steps=220),
    run(alive_at=0),
    run(op="item", steps=20, alive_at=15),  # looked at, and trained in another phase
    run(cut=False, ran=False, ran_without_grad=True, loaded=True),
]
