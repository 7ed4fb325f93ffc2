"""The loss falls, and the AUC of the validation stays at 0.5."""

from dataclasses import replace

from premortem.events import EvaluationEnded, LogLine
from tests.detectors.rehearsal import Rehearsal

JUDGED = EvaluationEnded(
    step=1, model=1, forwards=1, samples=1, grad=False, noisy_train=0, training=False, judged=True, repeated=False,
    generator=False, weights=None, number=1,
)  # fmt: skip


def run(scores, *, label="auc", template="loss # val auc #", optimizers=1, falls=True, steps=120, samples=0):
    play = Rehearsal()
    for number in range(1, optimizers + 1):
        play.optimizer(number, key=number)
    every = steps // len(scores)
    for step in range(steps):
        play.zero()
        play.forward()
        play.loss()
        play.backward(value=0.7 - 0.3 * step / steps if falls else 0.7)
        play.stepped()
        if (step + 1) % every == 0:
            if samples:
                play.add(replace(JUDGED, step=play.step, samples=samples))
            score = scores[(step + 1) // every - 1]
            text = template.replace("#", "{}").format("0.5", score)
            values = (("loss", "0.5", 0.5), (label, str(score), score))
            play.add(LogLine(step=play.step, text=text, template=template, values=values))
    return play.end()


NOTHING = [0.49, 0.51, 0.5, 0.487, 0.512, 0.5]
EVENTS = run(NOTHING)
HEALTHY = [
    run([0.49, 0.51, 0.58, 0.7, 0.74, 0.76]),
    run([0.49, 0.51, 0.66, 0.5, 0.49, 0.5]),  # it had learnt something, and lost it: another fault
    run(NOTHING, falls=False),  # it has not learnt anything of its training samples either
    run(NOTHING, optimizers=2),  # a judge that cannot tell real from fake is what the other one works for
    run(NOTHING, label="adversary auc", template="loss # adversary auc #"),
    run(NOTHING, label="train auc", template="loss # train auc #"),
    run(NOTHING, label="baseline auc", template="loss # baseline auc #"),
    run(NOTHING[:4]),
    run(
        [-0.01, 0.012, 0.016, 0.02, 0.019, 0.018], label="val r2", template="loss # val r2 #", samples=2000
    ),  # daily returns
    run([0.5, 0.53, 0.54, 0.54, 0.53, 0.54], samples=4000),
    run(
        NOTHING, label="knn auc", template="loss # knn auc #"
    ),  # of another task than the one that is trained
    run(NOTHING, steps=60),
    run(
        [0.9, 0.91, 0.9, 0.89, 0.9, 0.9], label="val acc", template="loss # val acc #"
    ),  # nobody knows what guessing gives
]
