from tests.detectors.rehearsal import Rehearsal, link


def run(*, update=1e-6, fall=1.0, steps=120, bias=0.0, **facts):
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    play.optimizer(1, 2, kind="SGD")
    value = 2.3
    for step in range(steps):
        play.zero()
        play.forward()
        play.loss(value)
        play.backward()
        play.stepped(kind="SGD", lrs=(1e-6,))
        if step < 8 or step % 16 == 0:
            facts["update"] = update
            matrices = link(1, "model.0.weight", **facts), link(2, "model.2.weight", **facts)
            play.custody(*matrices, link(3, "model.2.bias", **{**facts, "update": bias}))
        play.stats(value)
        value *= fall
    return play.end()


EVENTS = run()
HOPELESS = run(update=1e-9, fall=0.9, steps=6)  # whatever the loss does, it is not for these steps


def tried(*updates):
    """The same line builds one optimizer after the other, whose steps are so large."""
    play = Rehearsal()
    play.model("0.weight", "2.weight")
    for key, update in enumerate(updates, 1):
        play.optimizer(1, 2, kind="SGD", key=key)
        for step in range(120):
            play.zero(key)
            play.forward()
            play.loss(2.3)
            play.backward(key)
            play.stepped(key, kind="SGD", lrs=(1e-6,))
            if step < 8 or step % 16 == 0:
                moved = {"update": update, "owners": (key,)}
                play.custody(
                    link(1, "model.0.weight", **moved), link(2, "model.2.weight", **moved), optimizer=key
                )
            play.stats(2.3, optimizer=key)
    return play.end()


HEALTHY = [
    tried(1e-3, 1e-6),
    run(update=1e-9, steps=5),
    run(update=1e-3),
    run(fall=0.99),
    run(loaded=True),  # fine-tuning may be this gentle
    run(gradient=0.0),  # for want of gradients
    run(steps=60),
]
