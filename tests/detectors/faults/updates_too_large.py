from tests.detectors.rehearsal import Rehearsal, link


def run(losses, *, update=0.5, gradient=1.0, steps=80):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2)
    for step in range(steps):
        play.zero()
        play.forward()
        play.loss(losses(step), classes={0.0: 16, 1.0: 16})
        play.backward()
        play.stepped(lrs=(0.5,))
        if step < 8:
            facts = {"update": update, "gradient": gradient}
            play.custody(link(1, "model.0.weight", **facts), link(2, "model.2.weight", **facts))
        play.stats(losses(step))
    return play.end()


def jumps(step):
    return 2.3 if step == 0 else 40.0 if step < 8 else 2.5


def falls(step):
    return 2.3 * 0.97**step


def recovers(step):
    return 40.0 if 0 < step < 8 else falls(step)


def explodes(step):
    return 2.3 if step == 0 else 4e6


EVENTS = run(jumps)
THROWN = run(falls, update=1e4, steps=2)
LOST = run(explodes, steps=24)
HEALTHY = [
    run(falls, update=0.001),
    run(falls),
    run(recovers),
    run(jumps, steps=24),  # too early to tell
    run(explodes, steps=12),
    run(jumps, gradient=100.0),  # the gradients are the cause
    run(jumps, update=0.001),  # the steps are not
]
