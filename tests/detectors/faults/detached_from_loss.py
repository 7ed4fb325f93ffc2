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


EVENTS = run()
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
    run(alive_at=0),
    run(op="item", steps=20, alive_at=15),  # looked at, and trained in another phase
    run(cut=False, ran=False, ran_without_grad=True, loaded=True),
]
