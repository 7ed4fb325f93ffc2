from tests.detectors.rehearsal import Rehearsal

BCE = "binary_cross_entropy_with_logits"


def run(*, real=1.0, fake=0.0, maker=1.0, sign=1.0, verdicts_first=False, penalty=False):
    play = Rehearsal()
    play.model("0.weight", "2.weight", key=1, name="G", first=1)
    play.model("0.weight", "2.weight", key=2, name="D", first=11)
    play.optimizer(1, 2, key=1, at=10)
    play.optimizer(11, 12, key=2, at=11)
    for _ in range(10):
        play.zero(2)
        play.forward(1)
        if verdicts_first:  # D(fake), D(real), and then the losses in the other order
            play.forward(2, source=1)
            play.forward(2)
            play.loss(0.7, fn=BCE, target_mean=real)
            play.loss(0.7, fn=BCE, target_mean=fake)
        else:
            play.forward(2)
            play.loss(0.7, fn=BCE, target_mean=real)
            play.forward(2, source=1)
            play.loss(0.7, fn=BCE, target_mean=fake)
        play.backward(2)
        if (
            penalty
        ):  # a second backward pass, of a loss that torch's functions did not make and that no verdict is in
            play.backward(2, value=0.1)
        play.stepped(2)
        play.zero(1)
        play.forward(2, source=1)
        play.loss(0.7, fn=BCE, target_mean=maker, at=35)
        play.backward(1, 2, value=0.7 * sign, at=36)
        play.stepped(1)
    return play.end()


EVENTS = run(maker=0.0)
SAME = run(fake=1.0)
HEALTHY = [
    run(),
    run(real=0.9),
    run(real=0.9, fake=0.1),
    run(maker=0.0, sign=-1.0),
    run(verdicts_first=True),
    run(penalty=True),
]
